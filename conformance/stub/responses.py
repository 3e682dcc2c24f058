"""The OpenAI responses format, which Codex speaks.

https://platform.openai.com/docs/api-reference/responses-streaming

With newer models Codex sends its tools as an entry of the input, and lets the model
call only the freeform tool ``exec``, with JavaScript that calls the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from conformance.stub.reply import Call, Event, Reply, Said
from conformance.stub.request import Item, Json, ModelRequest, OfferedTool, Role, joined_text

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
ERROR_TYPES = {400: "invalid_request_error", 401: "invalid_request_error", 429: "rate_limit_exceeded"}


class Responses:
    name = "responses"

    def serves(self, path: str) -> bool:
        return path.endswith("/responses")

    def read(self, path: str, body: Json) -> ModelRequest:
        given = body.get("input") or []
        entries: list[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        offered = [*(body.get("tools") or ())]
        for entry in entries:
            if entry.get("type") == "additional_tools":
                offered += entry.get("tools") or ()
        answer_format = (body.get("text") or {}).get("format") or {}
        return ModelRequest(
            model=body.get("model", ""),
            is_streamed=bool(body.get("stream")),
            items=[_item(entry) for entry in entries if entry.get("type") != "additional_tools"],
            tools=dict(_tools(offered)),
            wants_json=answer_format.get("type", "text") != "text",
            answer_schema=answer_format.get("schema"),
        )

    def opening(self, reply: Reply) -> Iterator[Event]:
        yield _event("response.created", response=_response(reply, "in_progress"))

    def block(self, reply: Reply, index: int) -> Iterator[Event]:
        block = reply.blocks[index]
        item = _output(reply, index)
        at = {"output_index": index}
        match block:
            case Said() as said:
                in_part = {**at, "item_id": item["id"]}
                if said.kind == "text":
                    empty: Json = {**item, "status": "in_progress", "content": []}
                    in_part["content_index"] = 0
                    part_added, delta = "response.content_part.added", "response.output_text.delta"
                    part: Json = {"type": "output_text", "text": "", "annotations": []}
                else:
                    empty = {**item, "summary": []}
                    in_part["summary_index"] = 0
                    part_added = "response.reasoning_summary_part.added"
                    delta = "response.reasoning_summary_text.delta"
                    part = {"type": "summary_text", "text": ""}
                yield _event("response.output_item.added", **at, item=empty)
                yield _event(part_added, **in_part, part=part)
                for piece in said.split():
                    yield _event(delta, **in_part, delta=piece)
            case Call():
                yield _event("response.output_item.added", **at, item=item)
        yield _event("response.output_item.done", **at, item=item)

    def closing(self, reply: Reply) -> Iterator[Event]:
        whole = self.whole(reply)
        yield _event(f"response.{whole['status']}", response=whole)

    def whole(self, reply: Reply) -> Json:
        if reply.stop == "end_turn":
            return _response(reply, "completed")
        reason = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}[reply.stop]
        return {**_response(reply, "incomplete"), "incomplete_details": {"reason": reason}}

    def failure(self, status: int, message: str) -> Json:
        kind = ERROR_TYPES.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "code": kind if status == 429 else None}}


def _item(entry: Json) -> Item:
    kind = entry.get("type", "message")
    if kind == "message":
        return Item(ROLES.get(entry.get("role", ""), "system"), joined_text(entry.get("content")))
    # Beside messages the input holds the model's own reasoning and calls, and their outputs.
    return Item("result" if kind.endswith("_output") else "assistant", joined_text(entry.get("output")))


def _tools(offered: Iterable[Json], namespace: str | None = None) -> Iterator[tuple[str, OfferedTool]]:
    for tool in offered:
        if "tools" in tool:
            yield from _tools(tool["tools"], tool.get("name"))
        elif "name" in tool:
            key = tool["name"]
            is_freeform = tool.get("type") == "custom"
            yield key, OfferedTool(key, tool.get("parameters") or {}, is_freeform, namespace)


def _event(name: str, **data: Any) -> Event:
    return Event({"type": name, **data}, name)


def _output(reply: Reply, index: int) -> Json:
    block = reply.blocks[index]
    match block:
        case Said("thinking", text=thought):
            summary = [{"type": "summary_text", "text": thought}]
            return {"type": "reasoning", "id": f"rs_{reply.id}{index}", "summary": summary}
        case Said(text=said):
            content = [{"type": "output_text", "text": said, "annotations": []}]
            head = {"type": "message", "id": f"msg_{reply.id}{index}", "role": "assistant"}
            return {**head, "status": "completed", "content": content}
        case Call(tool=tool, arguments=arguments):
            call: Json = {"id": f"fc_{reply.id}{index}", "call_id": f"call_{block.id}", "name": tool.name}
            if tool.namespace is not None:
                call["namespace"] = tool.namespace
            if tool.is_freeform:
                return {"type": "custom_tool_call", **call, "input": arguments}
            return {
                "type": "function_call",
                **call,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }


def _response(reply: Reply, status: str) -> Json:
    usage = {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.total_tokens,
    }
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": 1,
        "model": reply.model,
        "status": status,
        "output": [_output(reply, index) for index in range(len(reply.blocks))],
        "usage": None if status == "in_progress" else usage,
    }
