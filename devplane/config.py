"""``devplane.toml``: what a repository says about how it is worked on.

Only what this module names is interpreted. Tables that other parts own are let
through whole; a table that nobody owns is an error, since a misspelt name would
otherwise switch something off without a word.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from devplane import toml_text
from devplane.errors import DevplaneError
from devplane.files import Unreadable, read_text

CONFIG_NAME = "devplane.toml"

OWNED_ELSEWHERE = frozenset({"budget", "gates", "policy", "team", "workspace"})
"""Tables that are somebody else's to read."""

TRANSCRIPT_KEYS = ("keep",)
QUESTION_KEYS = ("deadline",)

NEVER = "never"
_DURATION = re.compile(r"([1-9][0-9]{0,8})([smh])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600}


class ConfigBroken(DevplaneError):
    """A ``devplane.toml`` cannot be taken at its word: nothing of it is in force.

    ``file`` and ``line`` (counted from 1, 0 when the file cannot be read at all) say where.
    """

    hint = "Correct the file; nothing in it holds until then."

    def __init__(self, file: Path, line: int, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}", hint=hint)
        self.file = file
        self.line = line


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one repository."""

    keep_transcripts: bool = True
    """Whether what is said in its sessions is stored."""
    deadline: str = NEVER
    """How long a request may wait for a person, as the file has it: ``30m``."""
    deadline_s: int | None = None
    """The same in seconds; ``None``: for ever."""
    file: Path | None = None
    """The file they came from; ``None`` when the repository has none."""


def load(root: Path) -> Config:
    """Read the settings of the checkout at `root`; the defaults when it has no file.

    Raises:
        ConfigBroken: The file is there and cannot be read, parsed or understood.
    """
    file = root / CONFIG_NAME
    try:
        text = read_text(file)
    except Unreadable as error:
        raise ConfigBroken(file, 0, f"cannot be read: {error}") from error
    return Config() if text is None else parse(text, file)


def parse(text: str, file: Path) -> Config:
    """Return the settings that `text` gives; `file` is named in errors.

    Raises:
        ConfigBroken: As `load`.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = toml_text.error_line(error, text)
        raise ConfigBroken(file, line, toml_text.error_reason(error)) from error
    except RecursionError as error:
        raise ConfigBroken(file, 0, "nested too deeply") from error
    known = {*OWNED_ELSEWHERE, "questions", "transcripts"}
    for name, value in tables.items():
        if name not in known:
            what = f"unknown table [{name}]" if isinstance(value, (dict, list)) else f"unknown key {name!r}"
            raise ConfigBroken(file, toml_text.line_of(text, (name,)), what, hint=_did_you_mean(name, known))
    keep = _value(tables, ("transcripts", "keep"), TRANSCRIPT_KEYS, True, text, file)
    if not isinstance(keep, bool):
        line = toml_text.line_of(text, ("transcripts", "keep"))
        raise ConfigBroken(file, line, "keep in [transcripts] must be true or false")
    deadline = _value(tables, ("questions", "deadline"), QUESTION_KEYS, NEVER, text, file)
    try:
        deadline_s = seconds(deadline)
    except ValueError as error:
        line = toml_text.line_of(text, ("questions", "deadline"))
        raise ConfigBroken(file, line, f"deadline in [questions] {error}", hint=_DURATION_HINT) from None
    return Config(keep, deadline, deadline_s, file)


_DURATION_HINT = f'Write "{NEVER}", or a whole number above 0 with s, m or h: "90s", "30m", "4h".'


def seconds(duration: object) -> int | None:
    """Return a duration such as ``90s``, ``30m`` or ``4h`` in seconds; ``None`` for ``never``.

    Raises:
        ValueError: It is neither.
    """
    if duration == NEVER:
        return None
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if found is None:
        raise ValueError(f"is {duration!r}, which is no duration")
    return int(found[1]) * _UNIT_S[found[2]]


def _value(
    tables: dict[str, Any], path: tuple[str, str], known: tuple[str, ...], default: Any, text: str, file: Path
) -> Any:
    """Return the value at `path`, table and key, of a table that has no others than the `known` keys."""
    name, key = path
    table = tables.get(name, {})
    if not isinstance(table, dict):
        raise ConfigBroken(file, toml_text.line_of(text, (name,)), f"{name} must be a table")
    for each in table:
        if each not in known:
            line = toml_text.line_of(text, (name, each))
            hint = _did_you_mean(each, known)
            raise ConfigBroken(file, line, f"unknown key {each!r} in [{name}]", hint=hint)
    return table.get(key, default)


def _did_you_mean(name: str, known: set[str] | tuple[str, ...]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(known))}."
