"""A permission request's options, and which of them carries out a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias


class Verdict(StrEnum):
    """What the rules say of one call. A verdict is not yet an answer."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    UNRESOLVED = "unresolved"
    """The call hides what it does, and a rule constrains its tool: a person decides."""
    UNDECIDED = "undecided"
    """No rule answers: a person decides."""


class Authority(StrEnum):
    """On whose word a request was answered."""

    RULE = "rule"
    BUILTIN = "builtin"
    PERSON = "person"
    TIMER = "timer"
    STOPPED = "stopped"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Option:
    """One choice that the agent offers.

    ``id`` goes back byte for byte (G-24); only ``kind`` says what it means (G-23):
    ``allow_once``, ``allow_always``, ``reject_once``, ``reject_always``, or "" when the
    agent gave none.
    """

    id: str
    name: str
    kind: str


def pick_option(verdict: Verdict, options: Sequence[Option]) -> Option | None:
    """Return the offered option that carries out `verdict`, narrowest first.

    An allow is only ever ``allow_once``: a standing grant takes the policy out of
    the loop (G-25), so it needs a person who picks that very option. ``None`` when
    nothing suitable is offered: an allow then goes to a person, a deny becomes the
    outcome ``cancelled``.
    """
    wanted = {Verdict.ALLOW: ("allow_once",), Verdict.DENY: ("reject_once", "reject_always")}.get(verdict, ())
    for kind in wanted:
        for option in options:
            if option.kind == kind:
                return option
    return None


@dataclass(frozen=True, slots=True)
class Call:
    """What an agent asks to do, in the words that rules use."""

    tool: str
    """The agent-neutral tool name: ``Bash``, ``Read``, ``Edit``, ``WebFetch``, ``mcp__server__tool``,
    ``switch_mode``; "" when the request does not say which it is."""
    subject: str
    """The command line, path or URL, whole; for what people see and for rules on commands and hosts."""
    cwd: str
    """The absolute folder that the call's relative paths start from."""
    paths: tuple[str, ...] = ()
    """Every path that the call reads or writes, as the agent spelt it."""
    input: Mapping[str, Any] = field(default_factory=dict)
    """The call's arguments as the agent sent them; {} when it sent none."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict, and what gave it."""

    verdict: Verdict
    tool: str = ""
    subject: str = ""
    rule: str = ""
    """The rule as it stands in its file, or "" when none decided."""
    file: str = ""
    line: int = 0
    """Counted from 1; 0 when no file decided."""
    builtin: bool = False
    """Whether it is Devplane's own protection, which no file can change."""
    reason: str = ""
    """Why, in one sentence."""
    others: tuple[NamedRule, ...] = ()
    """For an allow of several commands: the other rules that it took."""

    @property
    def authority(self) -> Authority:
        """On whose word an allow or a deny of this ruling is given."""
        return Authority.BUILTIN if self.builtin else Authority.RULE

    @property
    def where(self) -> str:
        """The file with its line, or ""."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class NamedRule:
    """One rule and where it stands."""

    rule: str
    file: str
    line: int


STRICTEST_FIRST = (Verdict.DENY, Verdict.ASK, Verdict.UNRESOLVED, Verdict.UNDECIDED, Verdict.ALLOW)


def strictest(rulings: Sequence[Ruling]) -> Ruling:
    """Return the strictest of several rulings on one request, the first of equals. There is at least one."""
    return min(rulings, key=lambda each: STRICTEST_FIRST.index(each.verdict))


Judge: TypeAlias = Callable[[Call], Ruling]
"""What the rules in force say of a call."""
