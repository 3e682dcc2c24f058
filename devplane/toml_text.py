"""Where things stand in the text of a TOML document: what `tomllib` does not tell.

Every boundary is found by asking `tomllib` whether the text before it is whole, so
a ``[`` or ``#`` inside a string or an array is never taken for more than it is.
The text must parse as a whole; nothing here checks that again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_WHERE = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One key with its value, or one table header: lines ``start`` up to, not including, ``end``."""

    start: int
    """Counted from 0."""
    end: int
    path: tuple[str, ...]
    """Whole path from the document's root; for a header, the table that it opens."""
    is_header: bool


def error_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """Return the line, counted from 1, at which `tomllib` gave up on `text`."""
    found = _WHERE.search(str(error))
    return int(found.group(1)) if found else max(len(text.splitlines()), 1)


def error_reason(error: tomllib.TOMLDecodeError) -> str:
    """Return what is wrong without the position."""
    reason = _WHERE.sub("", str(error)).replace("(at end of document)", "at the end of the file").strip()
    return reason[:1].lower() + reason[1:]


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of `text` in order; comments and blank lines belong to none."""
    lines = split_lines(text)
    table: tuple[str, ...] = ()
    at = 0
    while at < len(lines):
        if _is_blank(lines[at]):
            at += 1
            continue
        end, value = at + 1, _parse("".join(lines[at : at + 1]))
        while value is None and end < len(lines):
            end += 1
            value = _parse("".join(lines[at:end]))
        path = _path_of(value or {})
        if lines[at].lstrip().startswith("["):
            table = path
            yield Statement(at, end, path, True)
        else:
            yield Statement(at, end, table + path, False)
        at = end


def split_lines(text: str) -> list[str]:
    """Split at newlines only, keeping them: what TOML calls a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def line_of(text: str, path: tuple[str, ...]) -> int:
    """Return the line, counted from 1, of the first statement at or below `path`, or of what holds it."""
    found = list(statements(text))
    while path:
        for statement in found:
            if statement.path[: len(path)] == path:
                return statement.start + 1
        path = path[:-1]
    return 1


def item_lines(text: str, path: tuple[str, ...], count: int) -> list[int]:
    """Return the line, counted from 1, on which each of the `count` items of the array at `path` begins.

    Items of an array that is written in a way of its own (an inline table, a string over
    several lines) all get the line of their key.
    """
    statement = next((each for each in statements(text) if each.path == path and not each.is_header), None)
    if statement is None:
        return [line_of(text, path)] * count
    lines = split_lines(text)[statement.start : statement.end]
    _, _, first = lines[0].partition("=")
    found: list[int] = []
    for at, line in enumerate([first.lstrip(), *lines[1:]]):
        inner = line.strip()
        opened = inner[1:] if at == 0 and inner.startswith("[") else inner
        closed = None
        # The last line holds the closing bracket, perhaps behind an item and before a comment.
        for candidate in (f"x = [{opened}\n]", f"x = [{opened}"):
            closed = _parse(candidate)
            if closed is not None:
                break
        if closed is None:
            break
        found += [statement.start + at + 1] * len(closed["x"])
    return found if len(found) == count else [statement.start + 1] * count


def trailing_comment(statement: str) -> str:
    """Return the comment behind the value in the text of one statement, or ""."""
    whole = _parse(statement)
    last = statement.rstrip("\n").rfind("\n") + 1
    for at in range(last, len(statement)):
        if statement[at] == "#" and whole is not None and _parse(statement[:at]) == whole:
            return statement[at:].rstrip()
    return ""


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _path_of(value: Any) -> tuple[str, ...]:
    """The keys down to the first fork, value or empty table, where one statement makes only one path.

    An inline table with one key reads like a dotted key; both define what lies below that path.
    """
    path: list[str] = []
    while isinstance(value, (dict, list)) and len(value) == 1:
        if isinstance(value, list):
            value = value[0]
            continue
        ((key, value),) = value.items()
        path.append(key)
    return tuple(path)
