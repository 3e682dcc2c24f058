"""One call, prepared for the lists: its tool, the files that it names, its command line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from devplane.core.permission import Call
from devplane.core.policy import words
from devplane.core.policy.files import Access
from devplane.core.policy.hosts import host_of
from devplane.core.policy.line import Command
from devplane.core.policy.reading import Ground, Part, Reading, Target
from devplane.core.policy.rules import COMMAND_TOOLS, EDIT_TOOLS, READ_TOOLS, Match, Rule


@dataclass(slots=True)
class Case:
    """One call, prepared."""

    call: Call
    tool: str
    targets: list[Target]
    reading: Reading | None
    maybe: Rule | None = None
    """The first deny or ask of which nobody can tell whether it speaks of the call."""
    uncovered: str = ""
    """Why no allow covers it, as the middle of a sentence."""

    @property
    def parts(self) -> list[Part]:
        return self.reading.parts if self.reading is not None else []

    def every_target(self) -> Iterator[tuple[Target, Command | None]]:
        for target in self.targets:
            yield target, None
        for part in self.parts:
            for target in part.targets:
                yield target, part.command


def case_of(call: Call, ground: Ground) -> Case:
    tool = call.tool.casefold()
    reading: Reading | None = None
    targets: list[Target] = []
    if tool in COMMAND_TOOLS:
        reading = Reading(call.subject, ground)
    elif tool in READ_TOOLS or tool in EDIT_TOOLS:
        access = Access.READ if tool in READ_TOOLS else Access.WRITE
        is_search = access is Access.READ and any(key in call.input for key in ("pattern", "query", "regex"))
        targets = [ground.target(path, access, is_deep=is_search) for path in call.paths if path]
    return Case(call, tool, targets, reading)


def names_host(rule: Rule, call: Call) -> Match:
    """Whether a ``WebFetch(domain:…)`` rule names the host that a call fetches from."""
    assert rule.parameter is not None
    host = host_of(call.subject)
    if host is None:
        return Match.MAYBE
    wanted = rule.parameter[1].casefold().rstrip(".")
    return Match.YES if words.glob(wanted.replace("*", words.STAR)).fullmatch(host) else Match.NO
