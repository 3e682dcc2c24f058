"""What the model answers to one request, in one shape for all wire formats."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from conformance.script import StopReason
from conformance.stub.request import Json, ModelRequest, OfferedTool


@dataclass(frozen=True, slots=True)
class Said:
    """Text or reasoning."""

    kind: Literal["text", "thinking"]
    text: str
    pieces: int = 1

    def split(self) -> Iterator[str]:
        """Yield the text in about `pieces` pieces, cut between words."""
        words = re.findall(r"\S+\s*|\s+", self.text)
        size = max(1, -(-len(words) // self.pieces))
        for start in range(0, len(words), size):
            yield "".join(words[start : start + size])


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    id: str
    tool: OfferedTool
    arguments: Any
    """An object, or the text for a freeform tool."""


Block: TypeAlias = Said | Call


@dataclass(slots=True)
class Reply:
    """Grows block by block while its round is played."""

    model: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    blocks: list[Block] = field(default_factory=list)
    input_tokens: int = 100
    output_tokens: int = 20
    stop: StopReason = "end_turn"

    @property
    def calls(self) -> list[Call]:
        return [block for block in self.blocks if isinstance(block, Call)]

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def said(self, kind: Literal["text", "thinking"]) -> str:
        return "".join(b.text for b in self.blocks if isinstance(b, Said) and b.kind == kind)


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    data: Json | str
    name: str | None = None


class Wire(Protocol):
    """One wire format: reads requests and writes replies, and does no IO."""

    name: str

    def serves(self, path: str) -> bool:
        """Whether a POST to this path (no query) is a request for an answer in this format."""
        ...

    def read(self, path: str, body: Json) -> ModelRequest: ...

    def opening(self, reply: Reply) -> Iterator[Event]:
        """Yield what a stream begins with."""
        ...

    def block(self, reply: Reply, index: int) -> Iterator[Event]:
        """Yield the events of ``reply.blocks[index]``, the newest block."""
        ...

    def closing(self, reply: Reply) -> Iterator[Event]:
        """Yield what a finished stream ends with."""
        ...

    def whole(self, reply: Reply) -> Json:
        """Return the finished reply for a request that asked for no stream."""
        ...

    def failure(self, status: int, message: str) -> Json:
        """Return the body of an error."""
        ...
