"""What a person allowed a moment ago, so that they are not asked again for the very same thing.

An agent that has Devplane write its files and run its commands first asks whether its tool may be used,
and then asks for the deed. The person answers once: for one deed, the same, in the same turn.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from devplane.core.permission import Call
from devplane.store.rows import DecisionRow

KEPT = 64
LINE_LIMIT_CHARS = 16 * 1024
"""A longer line is the same only as it stands."""
SHELLS = frozenset(
    f"{folder}{name}" for folder in ("", "/bin/", "/usr/bin/") for name in ("sh", "bash", "zsh")
)
COMMAND_FLAGS = frozenset({"-c", "-lc"})
MEANS_SOMETHING = frozenset("\n;|&<>()$`*?[]#~!{}\\")
"""To a shell, outside of quotes: a line without these is its words and nothing else."""

_Deed: TypeAlias = tuple[str, str, str]


class Grants:
    """Each is good for one use. Those of an earlier turn are gone."""

    def __init__(self) -> None:
        self._given: dict[_Deed, DecisionRow] = {}

    def add(self, calls: Iterable[Call], decision: DecisionRow) -> None:
        """Remember that a person allowed a request that reads as `calls`."""
        for call in calls:
            for deed in _deeds(call):
                while len(self._given) >= KEPT:
                    del self._given[next(iter(self._given))]
                self._given[deed] = decision

    def take(self, call: Call) -> DecisionRow | None:
        """Return the decision that allowed `call`, and forget everything that it allowed."""
        found = next((self._given[deed] for deed in _deeds(call) if deed in self._given), None)
        if found is not None:
            used = set(_deeds(call))
            self._given = {deed: row for deed, row in self._given.items() if deed not in used}
        return found

    def take_all(self, calls: Sequence[Call]) -> DecisionRow | None:
        """Return the decision that allowed every one of `calls`, and forget what it allowed."""
        if all(any(deed in self._given for deed in _deeds(call)) for call in calls):
            return next(iter([self.take(call) for call in calls]), None)
        return None

    def clear(self) -> None:
        self._given.clear()


def _deeds(call: Call) -> Iterator[_Deed]:
    """What a call would do, in each of the spellings in which it may come again."""
    if call.tool == "Bash":
        for line in _spellings(call.subject):
            yield "Bash", call.cwd, line
    elif call.tool == "Edit":
        for path in call.paths or (call.subject,):
            try:
                yield "Edit", "", os.path.realpath(os.path.join(call.cwd, path))
            except (ValueError, OSError):
                continue


def _spellings(line: str) -> Iterator[str]:
    """A command line, the same with its words quoted anew, and what it has a shell run."""
    yield line
    if len(line) > LINE_LIMIT_CHARS:
        return
    try:
        words = shlex.split(line)
    except ValueError:
        return
    if not MEANS_SOMETHING & set(line):
        yield shlex.join(words)
    if len(words) == 3 and words[0] in SHELLS and words[1] in COMMAND_FLAGS:
        yield words[2]
