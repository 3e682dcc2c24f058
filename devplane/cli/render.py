"""How things look in a terminal: colours, glyphs, columns, ages. Agents' text is made visible here."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Mapping
from typing import Any, TextIO

from devplane.core.text import one_line

GLYPHS = {
    "starting": ("●", "blue"),
    "working": ("●", "blue"),
    "waiting": ("◆", "yellow"),
    "idle": ("○", "green"),
    "stopping": ("○", "dim"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "stopped": ("◌", "dim"),
    "interrupted": ("⊘", "yellow"),
}
TOOL_GLYPHS = {
    "pending": ("●", "blue"),
    "in_progress": ("●", "blue"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
}
PLAN_GLYPHS = {"completed": ("✓", "green"), "in_progress": ("▸", "blue")}
OUTCOMES = {"allow": "green", "allow_always": "green", "deny": "red", "reject_always": "red"}
"""The colour of what was answered; anything else is neither yes nor no."""
CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "bold": "1", "dim": "2"}

NOT_REPORTED = "not reported by this agent"


def has_colour(stream: TextIO) -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Return `text` in `colour` where the output can show it."""
    if not text or not has_colour(stream or sys.stdout):
        return text
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m"


def width(text: str) -> int:
    """Return how many columns `text` (without colours) takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def column(text: str, columns: int, colour: str | None = None) -> str:
    """Return `text` cut or padded to `columns`, then coloured: colours take no width."""
    shown = text
    while width(shown) > columns:
        shown = shown[:-2] + "…" if len(shown) > 1 else ""
    padding = " " * (columns - width(shown))
    return (paint(shown, colour) if colour else shown) + padding


def columns_left(taken: int) -> int:
    """Return how many columns of the terminal are left; many where the output is none."""
    if not sys.stdout.isatty():
        return 1000
    return max(0, shutil.get_terminal_size().columns - taken)


def cut(text: str, columns: int, colour: str | None = None) -> str:
    """Return `text` in at most `columns`, then coloured."""
    shown = column(text, min(columns, width(text))).rstrip() if columns > 0 else ""
    return paint(shown, colour) if colour else shown


def age(since_ms: int, now_ms: int | None = None) -> str:
    """Return how long ago something was: ``5s``, ``12m``, ``3h``, ``2d``."""
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    seconds = max(0, (now - since_ms) // 1000)
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def glyph(state: str) -> str:
    sign, colour = GLYPHS.get(state, ("·", "dim"))
    return paint(sign, colour)


def cost(spending: list[dict[str, Any]]) -> str:
    """Return what was spent, a sum a currency, or that the agent does not say."""
    if not spending:
        return NOT_REPORTED
    return " + ".join(money(each["spent"], each["currency"]) for each in spending)


def money(amount: float, currency: str) -> str:
    digits = 2 if amount >= 1 or amount == 0 else 4
    return f"${amount:.{digits}f}" if currency == "USD" else f"{amount:.{digits}f} {one_line(currency, 10)}"


def context(used: int | None, size: int | None) -> str:
    """Return how full the context window is, by the agent's own figures."""
    if used is None:
        return NOT_REPORTED
    if not size:
        return f"{used:,} tokens"
    return f"{used:,} of {size:,} tokens ({used * 100 // size}%)"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def home_path(path: str) -> str:
    """Return `path` with the person's own folder as ``~``, on one visible line."""
    own = os.path.expanduser("~")
    short = "~" + path[len(own) :] if own != "/" and (path == own or path.startswith(own + "/")) else path
    return one_line(short, 300)


def authority(decision: Mapping[str, Any]) -> str:
    """Return on whose word a decision stands: the rule with its place, or who it was and why."""
    said = str(decision["authority"])
    reason = decision["reason"]
    if decision["rule"]:
        said += f" {one_line(decision['rule'], 200)}"
    elif reason and reason != f"answered by {said}":
        said += f": {one_line(reason, 300)}"
    if decision["file"]:
        line = f":{decision['line']}" if decision["line"] else ""
        said += f"  {home_path(decision['file'])}{line}"
    return said
