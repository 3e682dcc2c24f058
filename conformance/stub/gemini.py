"""The Gemini format, which Gemini CLI speaks.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.stub.reply import Call, Event, Reply, Said
from conformance.stub.request import Item, Json, ModelRequest, OfferedTool, joined_text

FINISH_REASONS = {"end_turn": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
}


class Gemini:
    name = "gemini"

    def serves(self, path: str) -> bool:
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def read(self, path: str, body: Json) -> ModelRequest:
        asked = body.get("generationConfig") or {}
        declared = [f for tool in body.get("tools") or () for f in tool.get("functionDeclarations") or ()]
        return ModelRequest(
            model=path.rpartition("/")[2].partition(":")[0],
            is_streamed=path.endswith(":streamGenerateContent"),
            items=[item for content in body.get("contents", ()) for item in _items(content)],
            tools={
                f["name"]: OfferedTool(f["name"], f.get("parametersJsonSchema") or f.get("parameters") or {})
                for f in declared
            },
            wants_json=asked.get("responseMimeType") == "application/json",
            answer_schema=asked.get("responseJsonSchema") or asked.get("responseSchema"),
        )

    def opening(self, reply: Reply) -> Iterator[Event]:
        # A stream has no first event of its own.
        yield from ()

    def block(self, reply: Reply, index: int) -> Iterator[Event]:
        match reply.blocks[index]:
            case Said() as said:
                for piece in said.split():
                    yield Event(_response(reply, [_part(Said(said.kind, piece))]))
            case Call() as call:
                yield Event(_response(reply, [_part(call)]))

    def closing(self, reply: Reply) -> Iterator[Event]:
        yield Event(_response(reply, [{"text": ""}], FINISH_REASONS[reply.stop]))

    def whole(self, reply: Reply) -> Json:
        return _response(reply, [_part(block) for block in reply.blocks], FINISH_REASONS[reply.stop])

    def failure(self, status: int, message: str) -> Json:
        return {"error": {"code": status, "message": message, "status": STATUSES.get(status, "INTERNAL")}}


def _items(content: Json) -> Iterator[Item]:
    parts = content.get("parts") or []
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    if results:
        yield Item("result", "\n".join(str(result.get("response", "")) for result in results))
    said = joined_text([part for part in parts if "text" in part and not part.get("thought")])
    if content.get("role") == "model":
        yield Item("assistant", said)
    elif said:
        yield Item("user", said)


def _part(block: Said | Call) -> Json:
    match block:
        case Said("thinking", text=thought):
            return {"text": thought, "thought": True}
        case Said(text=said):
            return {"text": said}
        case Call():
            call = {"id": f"call_{block.id}", "name": block.tool.name, "args": block.arguments}
            return {"functionCall": call}


def _response(reply: Reply, parts: list[Json], finish_reason: str | None = None) -> Json:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish_reason is not None:
        candidate["finishReason"] = finish_reason
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": reply.input_tokens,
            "candidatesTokenCount": reply.output_tokens,
            "totalTokenCount": reply.total_tokens,
        },
        "modelVersion": reply.model,
        "responseId": reply.id,
    }
