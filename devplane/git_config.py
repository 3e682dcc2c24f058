"""Git's configuration format, read from text: no git program is run.

Includes are not followed: a reader that cares sees ``include.path`` as an entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:\\.|[^"\\])*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(=?)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting. ``section`` and ``key`` are lower case; ``subsection`` is "" when there is none."""

    section: str
    subsection: str
    key: str
    value: str

    @property
    def name(self) -> str:
        middle = f".{self.subsection}" if self.subsection else ""
        return f"{self.section}{middle}.{self.key}"


def entries(text: str) -> Iterator[Entry]:
    """Yield the settings of `text` in order; lines that make no sense are passed over."""
    section = subsection = ""
    lines = iter(text.splitlines())
    for line in lines:
        header = _SECTION.match(line)
        if header:
            section, quoted = header.group(1).lower(), header.group(2)
            subsection = re.sub(r"\\(.)", r"\1", quoted) if quoted else ""
            if quoted is None and "." in section:
                section, _, subsection = section.partition(".")
            line = line[header.end() :]
        found = _KEY.match(line)
        if not section or not found:
            continue
        value = "true"
        if found.group(2):
            rest = line[found.end() :]
            while (len(rest) - len(rest.rstrip("\\"))) % 2:
                rest = rest[:-1] + next(lines, "")
            value = _value(rest)
        yield Entry(section, subsection, found.group(1).lower(), value)


def _value(text: str) -> str:
    """Unquote a value and drop its comment; white space counts inside quotes only."""
    out, keep, quoted, at = "", 0, False, 0
    text = text.lstrip()
    while at < len(text):
        char = text[at]
        if char == '"':
            quoted = not quoted
        elif char == "\\" and at + 1 < len(text):
            at += 1
            out += _ESCAPES.get(text[at], text[at])
        elif char in "#;" and not quoted:
            break
        else:
            out += char
        if quoted or not char.isspace():
            keep = len(out)
        at += 1
    return out[:keep]
