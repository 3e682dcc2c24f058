"""Parts of texts that an agent may ask for: some lines of a file, the end of what a command printed. Pure."""

from __future__ import annotations

_FIRST_CONTINUATION, _LAST_CONTINUATION = 0x80, 0xBF


def lines_of(data: bytes, line: int | None, limit: int | None) -> bytes:
    """Return `limit` lines of `data` from line `line` on, counted from 1, each with its newline (G-28).

    Without both everything, byte for byte. A line ends at ``\\n`` alone.
    """
    start = 0
    for _ in range((line or 1) - 1):
        start = data.find(b"\n", start) + 1
        if not start:
            return b""
    if limit is None:
        return data[start:]
    end = start
    for _ in range(limit):
        newline = data.find(b"\n", end)
        if newline < 0:
            return data[start:]
        end = newline + 1
    return data[start:end]


class OutputWindow:
    """The newest bytes of a stream, at most `limit_bytes` of them, as whole characters (G-30)."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._kept = bytearray()
        self.is_truncated = False
        """Whether something is gone from the beginning."""

    def add(self, data: bytes) -> None:
        self._kept += data
        spare = len(self._kept) - self.limit_bytes
        if spare > 0:
            self.is_truncated = True
            # Not at every piece: what is cut is moved.
            if spare > max(self.limit_bytes, 1 << 16):
                del self._kept[:spare]

    def text(self, *, is_final: bool) -> str:
        """Return what is kept. Half a character at the end is left out, unless nothing more comes.

        What is no UTF-8 becomes marks, within the limit too.
        """
        newest = bytes(self._kept[max(len(self._kept) - self.limit_bytes, 0) :])
        if self.is_truncated:
            newest = _from_a_character(newest)
        if not is_final:
            newest = newest[: len(newest) - _unfinished(newest)]
        text = newest.decode("utf-8", "replace")
        encoded = text.encode()
        # A mark takes three bytes, and may stand for one.
        if len(encoded) > self.limit_bytes:
            self.is_truncated = True
            text = _from_a_character(encoded[len(encoded) - self.limit_bytes :]).decode()
        return text


def _from_a_character(data: bytes) -> bytes:
    """Drop what is left of a character that was cut in two at the beginning."""
    start = 0
    while start < min(3, len(data)) and _FIRST_CONTINUATION <= data[start] <= _LAST_CONTINUATION:
        start += 1
    return data[start:]


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a character that is not there whole."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte > _LAST_CONTINUATION:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if wanted > back else 0
    return 0
