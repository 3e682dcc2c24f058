"""One table of a ``devplane.toml``: its values, each checked, and where a mistake in one stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from devplane import toml_text
from devplane.core.slugs import is_branch_name
from devplane.errors import DevplaneError

NEVER = "never"
_DURATION = re.compile(r"([1-9][0-9]{0,8})([smh])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600}
_FORMS = 'a whole number above 0 with s, m or h: "90s", "30m", "4h"'
DURATION_HINT = f"Write {_FORMS}."
OR_NEVER_HINT = f'Write "{NEVER}", or {_FORMS}.'

_T = TypeVar("_T")


class ConfigBroken(DevplaneError):
    """A ``devplane.toml`` cannot be taken at its word: nothing of it is in force.

    ``file`` and ``line`` (counted from 1, 0 when the file cannot be read at all) say where.
    """

    hint = "Correct the file; nothing in it holds until then."

    def __init__(self, file: Path, line: int, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}", hint=hint)
        self.file = file
        self.line = line


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


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the hint for a `name` that is none of the `known` ones."""
    near = get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(known))}."


class Table:
    """The values of one table. Every method raises `ConfigBroken` for a value that is not what it returns.

    A key that is not there has the default, which is not checked.
    """

    def __init__(self, name: str, values: Any, known: tuple[str, ...], text: str, file: Path) -> None:
        """Take the `values` of the table `name`, which has no other keys than the `known` ones.

        Raises:
            ConfigBroken: It is no table, or has a key of another name.
        """
        self._name = name
        self._text = text
        self._file = file
        if not isinstance(values, dict):
            raise ConfigBroken(file, toml_text.line_of(text, (name,)), f"{name} must be a table")
        self._values = values
        for key in values:
            if key not in known:
                line = toml_text.line_of(text, (name, key))
                reason = f"unknown key {key!r} in [{name}]"
                raise ConfigBroken(file, line, reason, hint=did_you_mean(key, known))

    def get(self, key: str, default: Any) -> Any:
        return self._values.get(key, default)

    def truth(self, key: str, default: bool) -> bool:
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self._broken(key, "must be true or false")
        return value

    def seconds(self, key: str, default: int | None, *, or_never: bool = False) -> int | None:
        """A duration in seconds; ``None`` for ``never``, which is a duration only where it is allowed."""
        if key not in self._values:
            return default
        try:
            if self._values[key] == NEVER and not or_never:
                raise ValueError(f"is {NEVER!r}, and must end")
            return seconds(self._values[key])
        except ValueError as error:
            hint = OR_NEVER_HINT if or_never else DURATION_HINT
            raise self._broken(key, str(error), hint=hint) from None

    def bounded(self, key: str, default: int) -> int:
        """A duration in seconds that ends."""
        value = self.seconds(key, default)
        assert value is not None
        return value

    def whole(self, key: str, default: _T, least: int, most: int) -> int | _T:
        """A whole number from `least` to `most`."""
        if key not in self._values:
            return default
        value = self._values[key]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._broken(key, f"must be a whole number from {least} to {most}")
        return value

    def amount(self, key: str, most: int) -> float | None:
        """A number above 0, whole or not, and at most `most`; ``None`` when there is none."""
        if key not in self._values:
            return None
        value = self._values[key]
        # No comparison with "not a number" holds, so it is refused as well.
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= most:
            raise self._broken(key, f"must be a number above 0 and at most {most}")
        return float(value)

    def one_of(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.get(key, default)
        if not isinstance(value, str) or value not in choices:
            named = " or ".join(f'"{each}"' for each in choices)
            hint = did_you_mean(value, choices) if isinstance(value, str) else None
            raise self._broken(key, f"must be {named}", hint=hint)
        return value

    def commands(self, key: str) -> tuple[str, ...]:
        """Command lines for a shell: a list of strings, or one string alone; without blank ones."""
        value = self.get(key, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            raise self._broken(key, "must be a list of commands, each a string")
        for at, each in enumerate(value):
            if not isinstance(each, str):
                raise self._broken(key, f"must be a list of commands, each a string: {each!r} is none", at=at)
            if not each.strip():
                raise self._broken(key, "holds an empty command", at=at)
            if "\0" in each:
                raise self._broken(key, f"holds {each!r}, which no shell can be given", at=at)
        return tuple(value)

    def branch(self, key: str) -> str | None:
        """The name of a branch, which git takes for nothing else; ``None`` when there is none."""
        value = self._values.get(key)
        if key in self._values and (not isinstance(value, str) or not is_branch_name(value)):
            raise self._broken(key, f"is {value!r}, which is no name of a branch", hint='As in "main".')
        return value

    def _broken(
        self, key: str, reason: str, *, hint: str | None = None, at: int | None = None
    ) -> ConfigBroken:
        """The error about the value at `key`, or about the item `at` of it, counted from 0."""
        path = (self._name, key)
        line = toml_text.line_of(self._text, path)
        if at is not None and isinstance(self._values[key], list):
            line = toml_text.item_lines(self._text, path, len(self._values[key]))[at]
        return ConfigBroken(self._file, line, f"{key} in [{self._name}] {reason}", hint=hint)
