"""The OpenAI chat completions format, which Copilot and OpenCode speak to a model of one's own.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.stub.reply import Call, Event, Reply, Said
from conformance.stub.request import Item, Json, ModelRequest, OfferedTool, Role, joined_text

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "result"}
FINISH_REASONS = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    402: "insufficient_quota",
    429: "rate_limit_exceeded",
}


class ChatCompletions:
    name = "chat"

    def serves(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def read(self, path: str, body: Json) -> ModelRequest:
        answer_format = body.get("response_format") or {}
        functions = [tool["function"] for tool in body.get("tools") or () if "function" in tool]
        return ModelRequest(
            model=body.get("model", ""),
            is_streamed=bool(body.get("stream")),
            items=[
                Item(ROLES.get(message["role"], "system"), joined_text(message.get("content")))
                for message in body.get("messages", ())
            ],
            tools={f["name"]: OfferedTool(f["name"], f.get("parameters") or {}) for f in functions},
            wants_json=answer_format.get("type", "text") != "text",
            answer_schema=(answer_format.get("json_schema") or {}).get("schema"),
        )

    def opening(self, reply: Reply) -> Iterator[Event]:
        yield _delta(reply, {"role": "assistant", "content": ""})

    def block(self, reply: Reply, index: int) -> Iterator[Event]:
        match reply.blocks[index]:
            case Said() as said:
                key = "content" if said.kind == "text" else "reasoning_content"
                for piece in said.split():
                    yield _delta(reply, {key: piece})
            case Call() as call:
                yield _delta(reply, {"tool_calls": [{"index": len(reply.calls) - 1, **_tool_call(call)}]})

    def closing(self, reply: Reply) -> Iterator[Event]:
        yield _delta(reply, {}, finish_reason=_finish_reason(reply))
        yield Event({**_head(reply, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)})
        yield Event("[DONE]")

    def whole(self, reply: Reply) -> Json:
        message: Json = {"role": "assistant", "content": reply.said("text")}
        if thought := reply.said("thinking"):
            message["reasoning_content"] = thought
        if reply.calls:
            message["tool_calls"] = [_tool_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply)}
        return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def failure(self, status: int, message: str) -> Json:
        kind = ERROR_TYPES.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "code": kind if status in (402, 429) else None}}


def _head(reply: Reply, kind: str) -> Json:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": 1, "model": reply.model}


def _delta(reply: Reply, delta: Json, finish_reason: str | None = None) -> Event:
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return Event({**_head(reply, "chat.completion.chunk"), "choices": [choice]})


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls and reply.stop == "end_turn" else FINISH_REASONS[reply.stop]


def _tool_call(call: Call) -> Json:
    function = {"name": call.tool.name, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{call.id}", "type": "function", "function": function}


def _usage(reply: Reply) -> Json:
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.total_tokens,
    }
