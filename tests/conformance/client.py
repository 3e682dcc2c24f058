"""What an agent sends to its model in each wire format, and the parts of the answer a test asks about."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from conformance.stub.server import StubServer

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    """The JSON body, or the list of the stream's events."""


@contextmanager
def posted(server: StubServer, path: str, body: dict[str, Any]) -> Iterator[http.client.HTTPResponse]:
    """Send a request; leave the response to be read, and hang up at the end."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        yield connection.getresponse()
    finally:
        connection.close()


def post(server: StubServer, path: str, body: dict[str, Any]) -> Answer:
    with posted(server, path, body) as response:
        raw = response.read().decode()
        is_stream = response.headers["Content-Type"] == "text/event-stream"
        return Answer(response.status, events(raw) if is_stream else json.loads(raw))


def events(stream: str) -> list[Any]:
    data = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    return [json.loads(one) for one in data if one != "[DONE]"]


class Anthropic:
    """Each class here builds the conversation of one agent: prompts, and what came back for them."""

    path = "/v1/messages?beta=true"

    def __init__(self, *, streamed: bool) -> None:
        tools = [{"name": "Bash", "input_schema": SHELL}]
        self.streamed = streamed
        self.messages: list[Any] = []
        self.body: dict[str, Any] = {
            "model": "m",
            "stream": streamed,
            "tools": tools,
            "messages": self.messages,
        }

    def prompt(self, text: str) -> None:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})

    def said(self, answer: Any) -> str:
        if not self.streamed:
            return "".join(part.get("text", "") for part in answer["content"])
        return "".join(e["delta"].get("text", "") for e in answer if e["type"] == "content_block_delta")

    def thought(self, answer: Any) -> str:
        if not self.streamed:
            return "".join(part.get("thinking", "") for part in answer["content"])
        return "".join(e["delta"].get("thinking", "") for e in answer if e["type"] == "content_block_delta")

    def command(self, answer: Any) -> Any:
        """Return the one shell command that was called for."""
        if not self.streamed:
            return next(part["input"] for part in answer["content"] if part["type"] == "tool_use")
        deltas = [e["delta"] for e in answer if e["type"] == "content_block_delta"]
        return json.loads("".join(delta.get("partial_json", "") for delta in deltas))

    def usage(self, answer: Any) -> tuple[int, int]:
        usage = answer["usage"] if not self.streamed else answer[-2]["usage"]
        return usage["input_tokens"], usage["output_tokens"]

    def ending(self, answer: Any) -> str:
        return str(answer["stop_reason"] if not self.streamed else answer[-2]["delta"]["stop_reason"])

    def carry_on(self, command: Any) -> None:
        """Put the model's call and its result into the conversation."""
        call = {"type": "tool_use", "id": "1", "name": "Bash", "input": command}
        self.messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": "1", "content": "ran it"}
        self.messages.append({"role": "user", "content": [result]})


class Chat:
    path = "/v1/chat/completions"

    def __init__(self, *, streamed: bool) -> None:
        tools = [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}]
        self.streamed = streamed
        self.messages: list[Any] = [{"role": "system", "content": "You are an agent."}]
        self.body: dict[str, Any] = {
            "model": "m",
            "stream": streamed,
            "tools": tools,
            "messages": self.messages,
        }

    def prompt(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def _parts(self, answer: Any) -> list[Any]:
        if not self.streamed:
            return [answer["choices"][0]["message"]]
        return [choice["delta"] for chunk in answer for choice in chunk["choices"]]

    def said(self, answer: Any) -> str:
        return "".join(part.get("content", "") for part in self._parts(answer))

    def thought(self, answer: Any) -> str:
        return "".join(part.get("reasoning_content", "") for part in self._parts(answer))

    def command(self, answer: Any) -> Any:
        [call] = [call for part in self._parts(answer) for call in part.get("tool_calls", ())]
        return json.loads(call["function"]["arguments"])

    def usage(self, answer: Any) -> tuple[int, int]:
        usage = (answer[-1] if self.streamed else answer)["usage"]
        return usage["prompt_tokens"], usage["completion_tokens"]

    def ending(self, answer: Any) -> str:
        return str((answer[-2] if self.streamed else answer)["choices"][0]["finish_reason"])

    def carry_on(self, command: Any) -> None:
        function = {"name": "bash", "arguments": json.dumps(command)}
        call = {"id": "1", "type": "function", "function": function}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": "1", "content": "ran it"})


class Responses:
    path = "/v1/responses"

    def __init__(self, *, streamed: bool) -> None:
        offered = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
        self.streamed = streamed
        self.input: list[Any] = [{"type": "additional_tools", "role": "developer", "tools": [offered]}]
        self.body: dict[str, Any] = {"model": "m", "stream": streamed, "input": self.input}

    def prompt(self, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        self.input.append({"type": "message", "role": "user", "content": content})

    def _output(self, answer: Any) -> list[Any]:
        if not self.streamed:
            return list(answer["output"])
        done = [e["item"] for e in answer if e["type"] == "response.output_item.done"]
        assert done == answer[-1]["response"]["output"]
        return done

    def said(self, answer: Any) -> str:
        return "".join(part["text"] for item in self._output(answer) for part in item.get("content", ()))

    def thought(self, answer: Any) -> str:
        return "".join(part["text"] for item in self._output(answer) for part in item.get("summary", ()))

    def command(self, answer: Any) -> Any:
        [call] = [item for item in self._output(answer) if item["type"] == "custom_tool_call"]
        assert call["namespace"] == "functions"
        _, _, argument = call["input"].partition('tools["exec_command"](')
        return {"command": json.JSONDecoder().raw_decode(argument)[0]["cmd"]}

    def usage(self, answer: Any) -> tuple[int, int]:
        usage = (answer[-1]["response"] if self.streamed else answer)["usage"]
        return usage["input_tokens"], usage["output_tokens"]

    def ending(self, answer: Any) -> str:
        return str((answer[-1]["response"] if self.streamed else answer)["status"])

    def carry_on(self, command: Any) -> None:
        self.input.append({"type": "reasoning", "summary": []})
        self.input.append({"type": "custom_tool_call", "call_id": "1", "name": "exec", "input": "..."})
        self.input.append({"type": "custom_tool_call_output", "call_id": "1", "output": "ran it"})


class Gemini:
    def __init__(self, *, streamed: bool) -> None:
        verb = "streamGenerateContent?alt=sse" if streamed else "generateContent"
        self.path = f"/v1beta/models/m:{verb}"
        self.streamed = streamed
        declared = [{"name": "run_shell_command", "parametersJsonSchema": SHELL}]
        self.contents: list[Any] = []
        self.body: dict[str, Any] = {"contents": self.contents, "tools": [{"functionDeclarations": declared}]}

    def prompt(self, text: str) -> None:
        self.contents.append({"role": "user", "parts": [{"text": text}]})

    def _parts(self, answer: Any) -> list[Any]:
        chunks = answer if self.streamed else [answer]
        return [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]

    def said(self, answer: Any) -> str:
        return "".join(p.get("text", "") for p in self._parts(answer) if not p.get("thought"))

    def thought(self, answer: Any) -> str:
        return "".join(p["text"] for p in self._parts(answer) if p.get("thought"))

    def command(self, answer: Any) -> Any:
        [call] = [part["functionCall"] for part in self._parts(answer) if "functionCall" in part]
        return call["args"]

    def usage(self, answer: Any) -> tuple[int, int]:
        usage = (answer[-1] if self.streamed else answer)["usageMetadata"]
        return usage["promptTokenCount"], usage["candidatesTokenCount"]

    def ending(self, answer: Any) -> str:
        return str((answer[-1] if self.streamed else answer)["candidates"][0]["finishReason"])

    def carry_on(self, command: Any) -> None:
        call = {"id": "1", "name": "run_shell_command", "args": command}
        self.contents.append({"role": "model", "parts": [{"functionCall": call}]})
        result = {"id": "1", "name": "run_shell_command", "response": {"output": "ran it"}}
        self.contents.append({"role": "user", "parts": [{"functionResponse": result}]})


AnyClient = Anthropic | Chat | Responses | Gemini
CLIENTS: dict[str, type[AnyClient]] = {
    "anthropic": Anthropic,
    "chat": Chat,
    "responses": Responses,
    "gemini": Gemini,
}
