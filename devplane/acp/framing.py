"""Bytes to lines: one JSON object a line, cut anywhere by the pipe.

Owns the bytes of a line that has not ended yet, and the limit on their number.
Refuses to know what a line says.
"""

from __future__ import annotations

from typing import Any

from devplane.errors import DevplaneError

LINE_LIMIT_BYTES = 64 << 20
"""Agents put whole files into one line: 20 MiB has been seen, 64 KiB is far too low (G-02)."""


class LineTooLong(DevplaneError):
    """The other side sent more than ``limit_bytes`` without a newline."""

    hint = "The program may be printing something that is no protocol to its stdout."

    def __init__(self, who: str, limit_bytes: int, before: list[Any]) -> None:
        super().__init__(f"{who} sent a line of more than {limit_bytes:,} bytes")
        self.limit_bytes = limit_bytes
        self.before = before
        """What came whole in front of that line in the same read, and is not lost with it."""


class LineBuffer:
    """Joins reads and cuts them at newlines, in time linear in the bytes fed.

    A newline is one byte that no other UTF-8 character contains, so lines are cut
    before they are decoded and a character split over two reads stays whole (G-03).
    """

    def __init__(self, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.is_overrun = False
        """A line passed the limit. It cannot be skipped reliably, so nothing after it is read."""
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that `data` completes, without their newlines; invalid UTF-8 becomes U+FFFD.

        Lines in front of one that is too long are returned; `is_overrun` tells of it.
        """
        if self.is_overrun:
            return []
        rest = self._rest
        end = data.rfind(b"\n")
        if end < 0:
            # Only the new bytes were searched: a line of many reads is not scanned again for each.
            rest += data
            if len(rest) > self.limit_bytes:
                return self._overrun([])
            return []
        if rest:
            rest += data[:end]
            block: bytes | bytearray = rest
        else:
            block = data[:end]
        self._rest = bytearray(data[end + 1 :])
        if len(block) > self.limit_bytes:
            lines = block.split(b"\n")
            for index, line in enumerate(lines):
                if len(line) > self.limit_bytes:
                    return self._overrun(lines[:index])
        lines_text = block.decode("utf-8", "replace").split("\n")
        if len(self._rest) > self.limit_bytes:
            self._overrun([])
        return lines_text

    def finish(self) -> list[str]:
        """Return the last line when the stream ended without a newline (G-04)."""
        rest, self._rest = self._rest, bytearray()
        return [rest.decode("utf-8", "replace")] if rest else []

    def _overrun(self, before: list[bytes] | list[bytearray]) -> list[str]:
        self.is_overrun = True
        self._rest = bytearray()
        return [line.decode("utf-8", "replace") for line in before]
