"""One side of a JSON-RPC connection, both directions, with no pipe.

Owns the ids of our requests and the sorting of what comes in. Bytes go in and
messages come out; calls go in and bytes come out. Who waits and who writes is
`devplane.transport`'s.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from devplane.acp.framing import LINE_LIMIT_BYTES, LineBuffer, LineTooLong
from devplane.acp.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Id,
    Request,
    Response,
    error_object,
    to_line,
)

# Not frozen: one is built for every line an agent writes, and freezing doubles what that costs.


@dataclass(slots=True)
class Call:
    """The other side asks and expects an answer under ``id``."""

    id: Id
    method: str
    params: Any


@dataclass(slots=True)
class Notice:
    """The other side tells and expects nothing."""

    method: str
    params: Any


@dataclass(slots=True)
class Answer:
    """The answer to our open request ``id``; ``error`` is its error member as it came, or None."""

    id: int
    result: Any
    error: Any


@dataclass(slots=True)
class Noise:
    """A line that is no message: a banner, a log line, terminal control (G-01)."""

    text: str


@dataclass(slots=True)
class Malformed:
    """A line that meant to be a message and is none.

    It is answered with ``code`` and id null: an id picked out of a broken line could
    be that of another request (G-06).
    """

    text: str
    code: int


Incoming = Call | Notice | Answer | Noise | Malformed

_DECODER = json.JSONDecoder()


class Peer:
    """Sorts what the other side sends, and words what we send."""

    def __init__(self, *, line_limit_bytes: int = LINE_LIMIT_BYTES, who: str = "the other side") -> None:
        self._lines = LineBuffer(line_limit_bytes)
        self._who = who
        self._next_id = 0
        self._open: set[int] = set()

    def receive(self, data: bytes) -> list[Incoming]:
        """Return the messages that `data` completes, in wire order.

        Raises:
            LineTooLong: with the messages in front of that line in its ``before``.
        """
        incoming = self._sort(self._lines.feed(data))
        if self._lines.is_overrun:
            raise LineTooLong(self._who, self._lines.limit_bytes, incoming)
        return incoming

    def receive_eof(self) -> list[Incoming]:
        """Return the message of a last line that has no newline (G-04)."""
        return self._sort(self._lines.finish())

    def request(self, method: str, params: dict[str, Any] | list[Any] | None) -> tuple[int, bytes]:
        request_id = self._next_id
        line = to_line(Request(method, params, request_id))
        self._next_id += 1
        self._open.add(request_id)
        return request_id, line

    def forget(self, request_id: int) -> None:
        """Drop the answer to `request_id` should it still come: nobody waits for it."""
        self._open.discard(request_id)

    def notify(self, method: str, params: dict[str, Any] | list[Any] | None) -> bytes:
        return to_line(Request(method, params))

    def answer(self, request_id: Id, result: Any) -> bytes:
        return to_line(Response(request_id, result))

    def refuse(self, request_id: Id, code: int, message: str, data: Any = None) -> bytes:
        return to_line(Response(request_id, error=error_object(code, message, data)))

    def _sort(self, lines: list[str]) -> list[Incoming]:
        # The hot path: a streamed chunk passes here. `raw_decode` is `json.loads` without its
        # search for whitespace at both ends, which few lines have.
        incoming: list[Incoming] = []
        add, decode = incoming.append, _DECODER.raw_decode
        for line in lines:
            try:
                message, end = decode(line)
            except (ValueError, RecursionError):
                message, end = _decode_slowly(line)
            if end != len(line) and line[end:].strip():
                add(_unparsed(line))
            elif type(message) is dict and "id" not in message and type(message.get("method")) is str:
                add(Notice(message["method"], message.get("params")))
            elif end and (sorted_out := self._sort_rest(line, message)):
                add(sorted_out)
        return incoming

    def _sort_rest(self, line: str, message: Any) -> Incoming | None:
        """Sort a line that parsed and is no notification."""
        if not isinstance(message, dict):
            is_batch = isinstance(message, list) and bool(message) and isinstance(message[0], dict)
            return Malformed(line, INVALID_REQUEST) if is_batch else Noise(line.rstrip("\r"))
        if "id" not in message:
            return Noise(line.rstrip("\r"))
        request_id = message["id"]
        if "method" in message:
            is_sound = isinstance(message["method"], str) and _is_id(request_id)
            if not is_sound:
                return Malformed(line, INVALID_REQUEST)
            return Call(request_id, message["method"], message.get("params"))
        is_ours = type(request_id) is int and request_id in self._open
        if "result" not in message and "error" not in message and ("params" in message or not is_ours):
            return Malformed(line, INVALID_REQUEST)
        if not is_ours:
            # Late, unknown, or an error reply that names no request.
            return None
        # JavaScript leaves a result of `undefined` out, so a bare open id is an answer too.
        self._open.discard(request_id)
        return Answer(request_id, message.get("result"), message.get("error"))


def _is_id(value: object) -> bool:
    return value is None or type(value) is int or type(value) is str


def _decode_slowly(line: str) -> tuple[Any, int]:
    """Decode what did not decode as it stands; the end is 0 when nothing does."""
    try:
        return json.loads(line), len(line)
    except (ValueError, RecursionError):
        return None, 0


def _unparsed(line: str) -> Noise | Malformed:
    if line.lstrip().startswith("{"):
        return Malformed(line, PARSE_ERROR)
    return Noise(line.rstrip("\r"))
