"""A permission request's options, and which of them carries out a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What the rules say of one call. A verdict is not yet an answer."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    UNDECIDED = "undecided"


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
    """What an agent asks to do, in the words that rules use.

    ``tool`` is the agent-neutral tool name (``Bash``, ``Edit``, ``Read``, ``WebFetch``) or ""
    when the request does not say; ``subject`` the command, path or URL, whole.
    """

    tool: str
    subject: str
    cwd: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict with the rule that gave it; ``rule`` and ``file`` are "" when none did."""

    verdict: Verdict
    rule: str = ""
    file: str = ""
    reason: str = ""


def ask_always(call: Call) -> Ruling:
    """Leave every call to a person: the policy of a home that has no rules."""
    return Ruling(Verdict.UNDECIDED, reason="no rule answers")
