"""Answers to requests that are not part of a turn: titles, routers, summaries."""

from __future__ import annotations

import json
from typing import Any

from conformance.stub.request import Json, ModelRequest

TITLE = "A scripted session"


def canned_answer(request: ModelRequest) -> str:
    """Return text, or JSON that fits the schema which the request names."""
    if not request.wants_json:
        return TITLE
    return json.dumps(_sample(request.answer_schema) if request.answer_schema else {"title": TITLE})


def _sample(schema: Json) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    # Gemini writes type names in capitals.
    match str(schema.get("type", "string")).lower():
        case "object":
            return {key: _sample(inner) for key, inner in schema.get("properties", {}).items()}
        case "array":
            return []
        case "number" | "integer":
            return 1
        case "boolean":
            return False
        case _:
            return TITLE
