"""Text from agents, made safe for a terminal, a row and a line.

The store keeps what the agent wrote; these functions say how it is shown.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NAMED = {"\x1b": "␛", "\r": "␍", "\x7f": "␡"}


def _mark(match: re.Match[str]) -> str:
    char = match.group()
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    return chr(0x2400 + code) if code < 0x20 else f"<U+{code:04X}>"


def visible(text: str) -> str:
    """Return `text` with every control character but newline and tab replaced by a visible mark.

    Escape sequences, carriage returns, C1 controls, bidirectional overrides and
    lone surrogates can repaint what a person is about to approve (case G-49).
    """
    return _UNSAFE.sub(_mark, text)


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` on one visible line of at most `limit` characters, cut with ``…``."""
    line = visible(text).replace("\n", "⏎").replace("\t", " ")
    return line if len(line) <= limit else line[: max(limit - 1, 0)] + "…"


def clipped(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, with a mark that says how many were cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} characters cut]"
