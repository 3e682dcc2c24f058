"""Facts: what happened to a run, past tense, never edited.

No fact carries prose: what was said is kept as fragments, and a sentence changes
no state. An `Event` is a fact with its place: the run's own counter and the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from devplane.core.permission import Call, Option


@dataclass(frozen=True, slots=True)
class RunCreated:
    """A person dispatched; nothing was started yet."""

    agent: str
    agent_name: str
    command: tuple[str, ...]
    cwd: str
    project: str
    """Root of the checkout that owns `cwd`: what trust was given to."""
    name: str
    expected_version: str | None
    keeps_transcript: bool
    by: str
    work: str = ""
    """The work that it is a part of, or ""."""


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A person wants the ended run's own session to go on; nothing was started yet."""

    agent_name: str
    command: tuple[str, ...]
    expected_version: str | None
    by: str


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    """The agent runs. `started_s` (epoch seconds, as the system counts) tells its pid from a reused one."""

    pid: int
    started_s: float
    counts_from_zero: bool = False
    """Whether the running total of cost that this agent reports begins anew with each process."""


@dataclass(frozen=True, slots=True)
class AgentIntroduced:
    """The handshake: what the agent says it is and can do."""

    name: str
    version: str
    can_load: bool
    can_resume: bool
    can_close: bool
    can_list: bool
    sign_in: tuple[str, ...]
    """One line a sign-in method, as the agent describes it."""


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The agent named its conversation. `how` is ``new``, ``resume`` or ``load``."""

    session: str
    how: str


@dataclass(frozen=True, slots=True)
class SessionLost:
    """The agent turned out not to know the session that it had said it continued (G-13)."""

    why: str


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A person took the session to the agent's own terminal program: this process."""

    program: str
    pid: int
    started_s: float


@dataclass(frozen=True, slots=True)
class ModeSeen:
    """The session's permission mode, in the agent's own words.

    `asks_first` is whether the agent asks a person before it acts in that mode;
    ``None`` when its table does not say.
    """

    mode: str
    name: str
    asks_first: bool | None


@dataclass(frozen=True, slots=True)
class OptionSeen:
    """A config option's value: `category` is ``model``, ``thought_level`` or the agent's own word."""

    option: str
    category: str
    value: str


@dataclass(frozen=True, slots=True)
class PromptQueued:
    """A prompt waits for its turn. Its text is kept apart; `chars` counts characters."""

    turn: str
    chars: int
    by: str
    is_next: bool = False
    """Whether it goes before those that wait already."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The prompt is about to be written to the agent: in doubt until the turn ends."""

    turn: str


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """A person wants the running turn to end."""

    by: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent answered the prompt. `stop_reason` is its own word, or "" when it gave none."""

    turn: str
    stop_reason: str
    usage: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The prompt got an error, or no answer to a cancel in time."""

    turn: str
    error: str
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """A tool call as it is now known, upserted by `call`; ``None`` leaves a field as it was."""

    call: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    subject: str | None = None
    """The command, path or URL."""
    content: str | None = None
    """What it printed or changed, bounded, with marks for what was cut or is no text."""


@dataclass(frozen=True, slots=True)
class PlanEntry:
    content: str
    status: str


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The agent's plan, whole."""

    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """A usage report: context tokens used and window size are levels, the amount is a running total."""

    used: int | None
    size: int | None
    amount: float | None
    currency: str
    is_baseline: bool = False
    """Whether the amount was spent before: replayed with an old session, it only says where to count from."""


@dataclass(frozen=True, slots=True)
class TitleGiven:
    """The agent's own title for the session."""

    title: str


@dataclass(frozen=True, slots=True)
class CommandsSeen:
    """The slash commands that the session offers."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdateKept:
    """An update of a kind that Devplane does not know: its JSON, bounded."""

    kind: str
    raw: str


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """The agent wants to do something and waits."""

    ask: str
    call: str
    title: str
    tool: str
    subject: str
    options: tuple[Option, ...]
    calls: tuple[Call, ...] = ()
    """Everything that the request was judged as, shortened (`devplane.daemon.rulings.kept`), so that it can
    be put to other rules later; empty in what a store of version 1 recorded."""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The agent wants a form filled in (elicitation)."""

    ask: str
    message: str
    form: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskAnswered:
    """An ask was answered. `outcome` is allow, deny, allow_always, reject_always, chosen,
    accept, decline or cancelled; `option` the id that goes back, or ""."""

    ask: str
    outcome: str
    option: str
    authority: str
    by: str


@dataclass(frozen=True, slots=True)
class AskWithdrawn:
    """The agent no longer waits for it: it took the request back, or ended."""

    ask: str
    why: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Something a person should know about this run. `level` is ``info`` or ``warning``."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Stalled:
    """The agent is at work and was not heard of for `quiet_s` seconds: once for each such silence."""

    quiet_s: int


@dataclass(frozen=True, slots=True)
class Stirred:
    """A stalled agent was heard of again."""


@dataclass(frozen=True, slots=True)
class Slept:
    """The machine, or the daemon, stood still for this long: no time of the agent's (G-39)."""

    gap_ms: int


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """A bound of ``[budget]`` was met: `bound` is its key, `spent` and `limit` are for people."""

    bound: str
    spent: str
    limit: str


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A person, or the daemon's end, wants the agent gone."""

    by: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The agent is gone. `ending` is ``completed``, ``failed``, ``stopped`` or ``interrupted``."""

    ending: str
    reason: str
    hint: str = ""


Fact = (
    RunCreated
    | RunResumed
    | ProcessStarted
    | AgentIntroduced
    | SessionOpened
    | SessionLost
    | HandedOver
    | ModeSeen
    | OptionSeen
    | PromptQueued
    | TurnStarted
    | CancelAsked
    | TurnEnded
    | TurnFailed
    | ToolChanged
    | PlanChanged
    | UsageSeen
    | TitleGiven
    | CommandsSeen
    | UpdateKept
    | PermissionAsked
    | QuestionAsked
    | AskAnswered
    | AskWithdrawn
    | Noted
    | Stalled
    | Stirred
    | Slept
    | BudgetReached
    | StopAsked
    | RunEnded
)


@dataclass(frozen=True, slots=True)
class Event:
    """One fact of one run. `pos` only grows within the run; fragments share the counter."""

    run: str
    pos: int
    at_ms: int
    fact: Fact
