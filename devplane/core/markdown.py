"""Text that nobody vouches for, put into Markdown so that it stays text.

Inside a fence or a code span nothing is a link, a mention, a heading or HTML; all that must not
happen is that the text closes it.
"""

from __future__ import annotations

import re

from devplane.core.text import one_line, visible

PIPE = "¦"
"""Stands for ``|`` in a cell: renderers do not agree on how one is written inside a code span."""
_BACKTICKS = re.compile(r"`+")


def fenced(text: str, language: str = "") -> str:
    """Return `text` as a fenced block, control characters made visible, without a newline at the end."""
    shown = visible(text).rstrip("\n")
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def span(text: str, limit: int = 200) -> str:
    """Return `text` as a code span on one line, at most `limit` characters of it."""
    shown = one_line(text, limit)
    if not shown.strip():
        return "(empty)"
    quote = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{quote}{pad}{shown}{pad}{quote}"


def cell(text: str, limit: int = 200) -> str:
    """Return `text` as a code span that can stand in a cell of a table."""
    return span(text.replace("|", PIPE), limit)


def _longest_run(text: str) -> int:
    return max((len(found.group()) for found in _BACKTICKS.finditer(text)), default=0)
