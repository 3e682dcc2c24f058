"""What an agent asked its model, in one shape for all wire formats.

From it follows what to answer: which script, and which round of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from conformance.script import MARKER, Step, find_script

Json: TypeAlias = dict[str, Any]
Role = Literal["system", "user", "assistant", "result"]


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the conversation that the agent sends with every request."""

    role: Role
    """``result`` is what a tool gave, whatever role the wire format files it under."""
    text: str


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the agent lets its model call."""

    name: str
    schema: Json = field(default_factory=dict)
    """JSON Schema of the arguments; empty when unknown."""
    is_freeform: bool = False
    """Takes one text instead of JSON arguments."""
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request for a model's answer."""

    model: str
    is_streamed: bool
    items: Sequence[Item]
    tools: dict[str, OfferedTool]
    wants_json: bool = False
    answer_schema: Json | None = None

    @property
    def is_main(self) -> bool:
        """Whether it belongs to the turn, and is not for a title, a router or a summary.

        Those repeat the prompt with its script, but offer no tools or ask for JSON.
        """
        return bool(self.tools) and not self.wants_json

    def position(self) -> tuple[list[list[Step]], int] | None:
        """Return the script to play and the index of the round now asked for.

        The round is the number of times the model has spoken since the prompt that
        carries the script. ``None`` when no prompt carries one.

        Raises:
            NotAScript: the last script is not one.
        """
        marked = [at for at, item in enumerate(self.items) if item.role == "user" and MARKER in item.text]
        if not marked:
            return None
        rounds = find_script(self.items[marked[-1]].text)
        if rounds is None:
            return None
        spoken, before = 0, "user"
        for item in self.items[marked[-1] + 1 :]:
            # One answer of the model may come back as several entries in a row.
            if item.role == "assistant" and before != "assistant":
                spoken += 1
            before = item.role
        return rounds, spoken


def joined_text(content: Any) -> str:
    """Return all text in `content`, however deep a wire format nests it."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(filter(None, (joined_text(part) for part in content)))
        case {"text": str() as said}:
            return said
        case {"content": nested} | {"parts": nested} | {"output": nested} | {"response": nested}:
            return joined_text(nested)
        case _:
            return ""
