"""The Anthropic messages format, which Claude Code speaks.

https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.stub.reply import Call, Event, Reply, Said
from conformance.stub.request import Item, Json, ModelRequest, OfferedTool, joined_text

SIGNATURE = "c2lnbmVk"
"""Stands for the provider's seal on a thought; clients only send it back."""
ARGUMENT_PIECE = 40

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Anthropic:
    name = "anthropic"

    def serves(self, path: str) -> bool:
        return path.endswith("/messages")

    def read(self, path: str, body: Json) -> ModelRequest:
        answer_format = (body.get("output_config") or {}).get("format") or {}
        return ModelRequest(
            model=body.get("model", ""),
            is_streamed=bool(body.get("stream")),
            items=[item for message in body.get("messages", ()) for item in _items(message)],
            tools={
                tool["name"]: OfferedTool(tool["name"], tool.get("input_schema") or {})
                for tool in body.get("tools") or ()
            },
            wants_json=bool(answer_format),
            answer_schema=answer_format.get("schema"),
        )

    def opening(self, reply: Reply) -> Iterator[Event]:
        yield _event("message_start", message=_message(reply, content=[], stop_reason=None))

    def block(self, reply: Reply, index: int) -> Iterator[Event]:
        block = reply.blocks[index]
        deltas: list[Json]
        if isinstance(block, Call):
            empty: Json = {"type": "tool_use", "id": _call_id(block), "name": block.tool.name, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in _pieces(block.arguments)
            ]
        elif block.kind == "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in block.split()]
            deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        else:
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in block.split()]
        yield _event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)

    def closing(self, reply: Reply) -> Iterator[Event]:
        delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=_usage(reply))
        yield _event("message_stop")

    def whole(self, reply: Reply) -> Json:
        content = [_content(block) for block in reply.blocks]
        return _message(reply, content=content, stop_reason=_stop_reason(reply))

    def failure(self, status: int, message: str) -> Json:
        return {"type": "error", "error": {"type": ERROR_TYPES.get(status, "api_error"), "message": message}}


def _items(message: Json) -> Iterator[Item]:
    content = message["content"]
    parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    results = [part for part in parts if part.get("type") == "tool_result"]
    if results:
        yield Item("result", joined_text(results))
    said = joined_text([part for part in parts if part.get("type") == "text"])
    if message["role"] == "assistant":
        yield Item("assistant", said)
    elif said:
        yield Item("user", said)


def _event(name: str, **data: Any) -> Event:
    return Event({"type": name, **data}, name)


def _usage(reply: Reply) -> Json:
    return {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }


def _message(reply: Reply, *, content: list[Json], stop_reason: str | None) -> Json:
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": _usage(reply),
    }


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.calls and reply.stop == "end_turn" else reply.stop


def _call_id(call: Call) -> str:
    return f"toolu_{call.id}"


def _pieces(arguments: Any) -> list[str]:
    encoded = json.dumps(arguments)
    return [encoded[at : at + ARGUMENT_PIECE] for at in range(0, len(encoded), ARGUMENT_PIECE)]


def _content(block: Said | Call) -> Json:
    match block:
        case Said("thinking", text=thought):
            return {"type": "thinking", "thinking": thought, "signature": SIGNATURE}
        case Said(text=said):
            return {"type": "text", "text": said}
        case Call():
            return {
                "type": "tool_use",
                "id": _call_id(block),
                "name": block.tool.name,
                "input": block.arguments,
            }
