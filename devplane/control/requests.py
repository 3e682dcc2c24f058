"""One request a verb. The method's name is the class's, in lower case with dashes.

Plain dataclasses, so that the command line does not pay for validation; the daemon
reads them strictly and answers unknown or missing fields with -32602.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

_STRICT = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Hello:
    """Who calls; answered with ``{"version": …, "pid": …}``."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    version: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Start an agent in `cwd` (absolute) and queue `prompt`; answered with ``{"run", "turn", …}`` at once.

    `environ` is the caller's environment: the agent runs with the keys and paths of
    the shell that dispatched it, not of the one that started the daemon. It is not stored.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    agent: str
    cwd: str
    prompt: str
    model: str | None = None
    mode: str | None = None
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resume:
    """Take up the recorded session of an ended run; answered as `Dispatch`, `turn` "" when nothing is said.

    `mode` is the agent's own name of the mode to be in. Without it the session is put in the mode that
    it was in, unless that lets the agent do more without asking: for that, and for options whose meaning
    is not known, `is_same_rights` must say so.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    run: str
    mode: str | None = None
    is_same_rights: bool = False
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandOver:
    """Note that the process `pid` is about to become the terminal program that goes on with a session."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    run: str
    program: str
    pid: int


@dataclass(frozen=True, slots=True)
class Say:
    """Queue another prompt; with `now`, cancel the running turn first."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    run: str
    text: str
    now: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the running turn; the session stays."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    run: str


@dataclass(frozen=True, slots=True)
class Decide:
    """Answer a permission request: by `decision` (``allow``, ``deny``) or by the id of one option."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    ask: str
    decision: str | None = None
    option: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer a question: `action` is ``accept``, ``decline`` or ``cancel``; `content` fits its form."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    ask: str
    action: str
    content: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stop:
    """End a run; answered when its agent is gone."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    run: str


@dataclass(frozen=True, slots=True)
class WorkStart:
    """Begin a work in the checkout that owns `cwd`; answered once that is on record, the rest comes after.

    `spec` is a person's text, `issue` a report that others wrote. `environ`: as in `Dispatch`; the
    project's commands run with it too.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    title: str
    agent: str
    cwd: str
    spec: str = ""
    issue: str = ""
    in_place: bool = False
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkNews:
    """Answered with what a work is once more than fact `after` of it is on record, or it stands still."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    work: str
    after: int = -1


@dataclass(frozen=True, slots=True)
class WorkVerify:
    """Run a work's gate now; answered with its report."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    work: str
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkResume:
    """Take up a work that stopped, by the session of its own run (see `Resume`)."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    work: str
    is_same_rights: bool = False
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkRetry:
    """Hand a work that stopped back to its agent, in a new session where the old one cannot be had."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    work: str
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkStop:
    """End what is under way in a work, and its run."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    work: str


@dataclass(frozen=True, slots=True)
class WorkFinish:
    """Call a work finished; `remove` its worktree too, and with `force` what would be lost with it."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    work: str
    remove: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Watch:
    """Send ``frame`` notifications of a run from now on.

    Answered with ``{"pos", "open", "state", "live"}``: what the store holds up to `pos` was
    before; `open` is the number of characters of fragment `pos` that were said by then.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    run: str


@dataclass(frozen=True, slots=True)
class Trust:
    """Record that a person trusts (or no longer trusts) the repository at `root`."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    root: str
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class Probe:
    """Start an agent, shake hands, record what it advertises, and end it."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT
    agent: str
    cwd: str
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """Answered with version, pid, runs in play, and notes of the last start."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the daemon cleanly; answered when its agents are gone."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT


ACTING = (
    *(Dispatch, Resume, HandOver, Say, Cancel, Decide, Reply, Stop, Trust, Probe, Shutdown),
    *(WorkStart, WorkVerify, WorkResume, WorkRetry, WorkStop, WorkFinish),
)
"""Requests that an agent's own processes may not make (invariant 4)."""

Request = (
    Hello
    | Dispatch
    | Resume
    | HandOver
    | Say
    | Cancel
    | Decide
    | Reply
    | Stop
    | WorkStart
    | WorkNews
    | WorkVerify
    | WorkResume
    | WorkRetry
    | WorkStop
    | WorkFinish
    | Watch
    | Trust
    | Probe
    | Status
    | Shutdown
)


def method_of(request: type[Request]) -> str:
    """Return the method name on the wire: ``Dispatch`` is ``dispatch``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", request.__name__).lower()
