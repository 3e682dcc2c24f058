"""Findings, and a reader that looks at each of a repository's files once."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from devplane import toml_text
from devplane.core.text import visible
from devplane.files import Unreadable, read_text

Kind: TypeAlias = Literal["hook", "mcp", "skill", "policy", "plugin", "npm", "git", "unread"]

_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person should see before trusting. Both texts are safe to print, and never cut."""

    kind: Kind
    subject: str
    """What and where, e.g. ``PreToolUse (.claude/settings.json)``."""
    detail: str
    """The command, rule or reason itself."""


def finding(kind: Kind, subject: str, detail: str) -> Finding:
    """Make a finding of texts that a stranger wrote (case G-49)."""
    return Finding(kind, visible(subject).replace("\n", "⏎"), visible(detail).replace("\n", "⏎"))


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was found in the checkout at ``root``."""

    root: Path
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    """How many there are of what was looked at and gave no reason to ask, e.g. ``skills``."""

    @property
    def unread(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.kind == "unread")

    def __bool__(self) -> bool:
        return bool(self.findings)


class Repository:
    """The files of one checkout, each read and parsed once; what cannot be is in `unread`, once a file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._texts: dict[str, str | None] = {}
        self._documents: dict[str, dict[str, Any] | None] = {}
        self._unread: dict[str, Finding] = {}

    @property
    def unread(self) -> list[Finding]:
        return list(self._unread.values())

    def text(self, name: str) -> str | None:
        """Return the text of the file `name`, relative to the root; ``None`` when there is none."""
        if name not in self._texts:
            try:
                self._texts[name] = read_text(self.root / name)
            except Unreadable as error:
                self._texts[name] = None
                self.note_unread(name, str(error))
        return self._texts[name]

    def document(self, name: str) -> dict[str, Any]:
        """Return the object in the JSON (comments allowed) or TOML file `name`; {} when there is none."""
        if name not in self._documents:
            self._documents[name] = self._parse(name)
        return self._documents[name] or {}

    def glob(self, pattern: str) -> list[str]:
        """Return the files that match, relative to the root, sorted."""
        try:
            return sorted(path.relative_to(self.root).as_posix() for path in self.root.glob(pattern))
        except OSError as error:
            self.note_unread(pattern, error.strerror or str(error))
            return []

    def note_unread(self, name: str, reason: str) -> None:
        self._unread.setdefault(name, finding("unread", name, reason))

    def table(self, name: str, within: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the object at `key`; {} when it is missing, and noted when it is something else."""
        value = within.get(key)
        if isinstance(value, dict):
            return value
        if value is not None:
            self.note_unread(name, f"{key!r} is not an object")
        return {}

    def _parse(self, name: str) -> dict[str, Any] | None:
        text = self.text(name)
        if text is None or not text.strip():
            return None
        try:
            value = tomllib.loads(text) if name.endswith(".toml") else _json(text)
        except json.JSONDecodeError as error:
            self.note_unread(name, f"line {error.lineno}: {error.msg}")
        except tomllib.TOMLDecodeError as error:
            self.note_unread(
                name, f"line {toml_text.error_line(error, text)}: {toml_text.error_reason(error)}"
            )
        except (ValueError, RecursionError) as error:
            self.note_unread(name, "nested too deeply" if isinstance(error, RecursionError) else str(error))
        else:
            if isinstance(value, dict):
                return value
            self.note_unread(name, "not a JSON object")
        return None


def texts(value: Any) -> list[str]:
    """Return the texts in a list, or a text alone; anything else counts for nothing."""
    items: Iterable[Any] = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def _json(text: str) -> Any:
    """Parse JSON; comments and trailing commas too, since some of the agents take them."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        bare = _STRING_OR_COMMENT.sub(lambda match: match.group(1) or " ", text)
        with suppress(json.JSONDecodeError):
            return json.loads(_STRING_OR_COMMA.sub(lambda match: match.group(1) or "", bare))
        raise  # with the position in the file as it is
