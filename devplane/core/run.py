"""The life of a run: what it is now, and which facts may follow.

``reduce`` folds facts into a `Run`; `devplane.core.wishes` compares the run before and after one.
A pair of phase and fact that is not in `NEXT` is refused and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from devplane.core import events as e
from devplane.core import spending
from devplane.core.spending import Spending
from devplane.core.text import clipped
from devplane.errors import DevplaneError

TOOLS_KEPT = 20
"""Closed tool calls that a snapshot remembers; the event log has them all."""

SUBJECT_LIMIT_CHARS = 2_000
"""Longest command that a snapshot carries: it is written many times, the log has it whole."""

OPEN_STATUSES = frozenset({"pending", "in_progress"})
UNFINISHED = "unfinished"
"""Status of a tool call whose turn ended before the agent closed it (real-agents quirk 5)."""


class Phase(StrEnum):
    STARTING = "starting"
    READY = "ready"
    CLOSING = "closing"
    ENDED = "ended"


class ImpossibleFact(DevplaneError):
    """A fact that cannot follow in this phase: refused, nothing has changed."""


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    started_ms: int
    is_cancelling: bool = False


@dataclass(frozen=True, slots=True)
class Queued:
    turn: str
    chars: int


@dataclass(frozen=True, slots=True)
class OpenAsk:
    """`kind` is ``permission`` or ``question``."""

    id: str
    kind: str
    title: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class ToolCall:
    call: str
    title: str = ""
    kind: str = ""
    status: str = "pending"
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One driven session as the log tells it. Times are epoch milliseconds."""

    id: str
    agent: str
    agent_name: str
    command: tuple[str, ...]
    cwd: str
    project: str
    name: str
    expected_version: str | None
    keeps_transcript: bool
    created_ms: int
    updated_ms: int
    pos: int
    phase: Phase = Phase.STARTING
    ending: str = ""
    reason: str = ""
    hint: str = ""
    pid: int | None = None
    pid_started_s: float | None = None
    reported_name: str = ""
    reported_version: str = ""
    can_load: bool = False
    can_resume: bool = False
    can_close: bool = False
    session: str = ""
    mode: str = ""
    mode_name: str = ""
    asks_first: bool | None = None
    options: tuple[tuple[str, str, str], ...] = ()
    """Config options as (id, category, value)."""
    title: str = ""
    commands: tuple[str, ...] = ()
    turn: Turn | None = None
    queue: tuple[Queued, ...] = ()
    asks: tuple[OpenAsk, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    plan: tuple[e.PlanEntry, ...] = ()
    turns: int = 0
    tool_calls: int = 0
    errors: int = 0
    last_stop_reason: str = ""
    last_error: str = ""
    context_used: int | None = None
    context_size: int | None = None
    spending: tuple[Spending, ...] = ()
    warnings: tuple[str, ...] = ()
    resumes: int = 0
    """How often its session was taken up again."""
    resumed_from: str = ""
    """How it had ended, while its session is being taken up again."""
    opened_ms: int = 0
    """When the session was last opened, resumed or loaded."""
    interrupted_turn: str = ""
    """The turn that an interruption cut off, until a resume goes on with it."""
    late_answers: tuple[str, ...] = ()
    """Asks that were answered after their agent was gone: it hears of them when it is resumed."""
    lost: str = ""
    """Why the session cannot be had again, once that is known."""
    holder: e.HandedOver | None = None
    """The terminal program that a person took the session to; it may have ended since."""
    stalled_ms: int | None = None
    """When it was noticed that nothing is heard of the agent, while that is so."""
    worked_ms: int = 0
    """How long its turns took, without the time in which it waited for a person."""
    at_work_since_ms: int | None = None
    work: str = ""
    over: e.BudgetReached | None = None
    """The bound that it met: nothing more is sent until a person says something again."""

    @property
    def state(self) -> str:
        """One word for a list: starting, working, waiting, idle, stopping, or how it ended."""
        if self.phase is Phase.ENDED:
            return self.ending
        if self.phase is Phase.STARTING:
            return "starting"
        if self.phase is Phase.CLOSING:
            return "stopping"
        if self.asks:
            return "waiting"
        return "working" if self.turn else "idle"

    @property
    def is_live(self) -> bool:
        return self.phase is not Phase.ENDED

    def has_ask(self, ask: str) -> bool:
        return any(each.id == ask for each in self.asks)


ANYTIME = frozenset(
    {
        e.ProcessStarted,
        e.AgentIntroduced,
        e.ModeSeen,
        e.OptionSeen,
        e.ToolChanged,
        e.PlanChanged,
        e.UsageSeen,
        e.TitleGiven,
        e.CommandsSeen,
        e.UpdateKept,
        e.Noted,
        e.Slept,
        e.Stirred,
        e.AskAnswered,
        e.AskWithdrawn,
    }
)
"""Facts that an agent's word or an ask's end brings in any phase but the last."""

NEXT: dict[Phase, dict[type, Phase]] = {
    Phase.STARTING: {
        **dict.fromkeys(ANYTIME, Phase.STARTING),
        e.SessionOpened: Phase.READY,
        e.PromptQueued: Phase.STARTING,
        e.PermissionAsked: Phase.STARTING,
        e.QuestionAsked: Phase.STARTING,
        e.StopAsked: Phase.CLOSING,
        e.RunEnded: Phase.ENDED,
    },
    Phase.READY: {
        **dict.fromkeys(ANYTIME, Phase.READY),
        e.PromptQueued: Phase.READY,
        e.TurnStarted: Phase.READY,
        e.CancelAsked: Phase.READY,
        e.TurnEnded: Phase.READY,
        e.TurnFailed: Phase.READY,
        e.PermissionAsked: Phase.READY,
        e.QuestionAsked: Phase.READY,
        e.SessionLost: Phase.READY,
        e.Stalled: Phase.READY,
        e.BudgetReached: Phase.READY,
        e.StopAsked: Phase.CLOSING,
        e.RunEnded: Phase.ENDED,
    },
    Phase.CLOSING: {
        **dict.fromkeys(ANYTIME, Phase.CLOSING),
        e.TurnEnded: Phase.CLOSING,
        e.TurnFailed: Phase.CLOSING,
        e.StopAsked: Phase.CLOSING,
        e.RunEnded: Phase.ENDED,
    },
    Phase.ENDED: {
        e.AskAnswered: Phase.ENDED,
        e.AskWithdrawn: Phase.ENDED,
        e.Noted: Phase.ENDED,
        e.HandedOver: Phase.ENDED,
        e.RunResumed: Phase.STARTING,
    },
}


def create(event: e.Event) -> Run:
    """Return the run that a `RunCreated` begins."""
    fact = event.fact
    if not isinstance(fact, e.RunCreated):
        raise ImpossibleFact(f"{event.run} has no beginning: its first fact is {type(fact).__name__}")
    return Run(
        id=event.run,
        agent=fact.agent,
        agent_name=fact.agent_name,
        command=fact.command,
        cwd=fact.cwd,
        project=fact.project,
        name=fact.name,
        expected_version=fact.expected_version,
        keeps_transcript=fact.keeps_transcript,
        work=fact.work,
        created_ms=event.at_ms,
        updated_ms=event.at_ms,
        pos=event.pos,
    )


def reduce(run: Run | None, event: e.Event) -> Run:
    """Return the run after one more fact.

    Raises:
        ImpossibleFact: The fact cannot follow; the run is as it was.
    """
    if run is None:
        return create(event)
    fact = event.fact
    phase = NEXT[run.phase].get(type(fact))
    if phase is None:
        raise ImpossibleFact(f"{type(fact).__name__} cannot follow in {run.id}, which is {run.state}")
    moved = replace(
        run, phase=phase, pos=max(run.pos, event.pos), updated_ms=max(run.updated_ms, event.at_ms)
    )
    return _clocked(run, _apply(moved, fact, event.at_ms), event.at_ms)


def fold(events: list[e.Event]) -> Run | None:
    """Return what a run's whole log says of it; ``None`` for an empty log."""
    run: Run | None = None
    for event in events:
        run = reduce(run, event)
    return run


def _clocked(before: Run, after: Run, at_ms: int) -> Run:
    """Count the time at work: a turn runs and no person is waited for."""
    is_at_work = after.turn is not None and not after.asks
    since = after.at_work_since_ms
    if is_at_work and since is None:
        return replace(after, at_work_since_ms=at_ms)
    if is_at_work or since is None:
        return after
    # A clock that was set back takes nothing away.
    return replace(after, at_work_since_ms=None, worked_ms=after.worked_ms + max(0, at_ms - since))


def _apply(run: Run, fact: e.Fact, at_ms: int) -> Run:
    match fact:
        case e.RunCreated():
            raise ImpossibleFact(f"{run.id} was created already")
        case e.RunResumed():
            return _resume(run, fact)
        case e.ProcessStarted():
            return replace(
                run,
                pid=fact.pid,
                pid_started_s=fact.started_s,
                spending=spending.begin_process(run.spending, from_zero=fact.counts_from_zero),
            )
        case e.AgentIntroduced():
            return replace(
                run,
                reported_name=fact.name,
                reported_version=fact.version,
                can_load=fact.can_load,
                can_resume=fact.can_resume,
                can_close=fact.can_close,
            )
        case e.SessionOpened():
            again = fact.how != "new"
            return replace(
                run,
                session=fact.session,
                opened_ms=at_ms,
                resumes=run.resumes + again,
                resumed_from="",
                interrupted_turn="",
                late_answers=(),
            )
        case e.SessionLost():
            return replace(run, lost=fact.why)
        case e.HandedOver():
            return replace(run, holder=fact)
        case e.ModeSeen():
            return replace(run, mode=fact.mode, mode_name=fact.name, asks_first=fact.asks_first)
        case e.OptionSeen():
            others = tuple(each for each in run.options if each[0] != fact.option)
            return replace(run, options=(*others, (fact.option, fact.category, fact.value)))
        case e.PromptQueued():
            queued = Queued(fact.turn, fact.chars)
            queue = (queued, *run.queue) if fact.is_next else (*run.queue, queued)
            return replace(run, queue=queue, over=None)
        case e.TurnStarted() | e.TurnEnded() | e.TurnFailed() | e.CancelAsked():
            return _turn(run, fact, at_ms)
        case e.ToolChanged():
            return _tool(run, fact)
        case e.PlanChanged():
            return replace(run, plan=fact.entries)
        case e.UsageSeen():
            spent = run.spending
            if fact.amount is not None:
                count = spending.baseline if fact.is_baseline else spending.report
                spent = count(spent, fact.amount, fact.currency)
            return replace(
                run,
                context_used=run.context_used if fact.used is None else fact.used,
                context_size=run.context_size if fact.size is None else fact.size,
                spending=spent,
            )
        case e.TitleGiven():
            return replace(run, title=fact.title)
        case e.CommandsSeen():
            return replace(run, commands=fact.names)
        case e.UpdateKept():
            return run
        case e.PermissionAsked():
            return replace(run, asks=(*run.asks, OpenAsk(fact.ask, "permission", fact.title, at_ms)))
        case e.QuestionAsked():
            return replace(run, asks=(*run.asks, OpenAsk(fact.ask, "question", fact.message, at_ms)))
        case e.AskAnswered() | e.AskWithdrawn():
            if not run.has_ask(fact.ask):
                raise ImpossibleFact(f"{fact.ask} is not open")
            asks = tuple(each for each in run.asks if each.id != fact.ask)
            is_late = run.phase is Phase.ENDED and isinstance(fact, e.AskAnswered)
            late = (*run.late_answers, fact.ask) if is_late else run.late_answers
            return replace(run, asks=asks, late_answers=late)
        case e.Stalled():
            return replace(run, stalled_ms=at_ms)
        case e.Stirred():
            return replace(run, stalled_ms=None)
        case e.Slept():
            since = run.at_work_since_ms
            return run if since is None else replace(run, at_work_since_ms=min(at_ms, since + fact.gap_ms))
        case e.BudgetReached():
            turn = replace(run.turn, is_cancelling=True) if run.turn is not None else None
            return replace(run, over=fact, turn=turn)
        case e.Noted():
            return replace(run, warnings=(*run.warnings, fact.text)[-5:]) if fact.level == "warning" else run
        case e.StopAsked():
            return run
        case e.RunEnded():
            return _end(run, fact)


def _resume(run: Run, fact: e.RunResumed) -> Run:
    return replace(
        run,
        agent_name=fact.agent_name,
        command=fact.command,
        expected_version=fact.expected_version,
        resumed_from=run.ending,
        ending="",
        reason="",
        hint="",
        holder=None,
    )


def _turn(run: Run, fact: e.TurnStarted | e.TurnEnded | e.TurnFailed | e.CancelAsked, at_ms: int) -> Run:
    match fact:
        case e.TurnStarted():
            if run.turn is not None or not run.queue or run.queue[0].turn != fact.turn:
                raise ImpossibleFact(f"{fact.turn} is not next in {run.id}")
            return replace(
                run,
                turn=Turn(fact.turn, at_ms),
                queue=run.queue[1:],
                spending=spending.begin_turn(run.spending),
            )
        case e.CancelAsked():
            if run.turn is None:
                raise ImpossibleFact(f"no turn is running in {run.id}")
            return replace(run, turn=replace(run.turn, is_cancelling=True))
        case e.TurnEnded():
            return replace(_close_turn(run, fact.turn), last_stop_reason=fact.stop_reason, last_error="")
        case e.TurnFailed():
            ended = _close_turn(run, fact.turn)
            if fact.cancelled:
                return replace(ended, last_stop_reason="cancelled", last_error=fact.error)
            return replace(ended, last_stop_reason="error", last_error=fact.error, errors=run.errors + 1)


def _close_turn(run: Run, turn: str) -> Run:
    if run.turn is None or run.turn.id != turn:
        raise ImpossibleFact(f"{turn} is not running in {run.id}")
    return replace(run, turn=None, turns=run.turns + 1, tools=_closed(run.tools), stalled_ms=None)


def _closed(tools: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    return tuple(replace(each, status=UNFINISHED) if each.status in OPEN_STATUSES else each for each in tools)


def _tool(run: Run, fact: e.ToolChanged) -> Run:
    before = next((each for each in run.tools if each.call == fact.call), None)
    known = before or ToolCall(fact.call)
    after = replace(
        known,
        title=known.title if fact.title is None else fact.title,
        kind=known.kind if fact.kind is None else fact.kind,
        status=known.status if fact.status is None else fact.status,
        subject=known.subject if fact.subject is None else clipped(fact.subject, SUBJECT_LIMIT_CHARS),
    )
    tools = tuple(after if each.call == fact.call else each for each in run.tools)
    if before is None:
        tools = _bounded((*tools, after))
    return replace(
        run,
        tools=tools,
        tool_calls=run.tool_calls + (before is None),
        errors=run.errors + (after.status == "failed" and known.status != "failed"),
    )


def _bounded(tools: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    spare = len(tools) - TOOLS_KEPT
    if spare <= 0:
        return tools
    kept: list[ToolCall] = []
    for each in tools:
        if spare > 0 and each.status not in OPEN_STATUSES:
            spare -= 1
        else:
            kept.append(each)
    return tuple(kept)


def _end(run: Run, fact: e.RunEnded) -> Run:
    # An interrupted run keeps what waits: its asks can be answered, its prompts are sent by a resume.
    is_interrupted = fact.ending == "interrupted"
    cut_off = run.turn.id if run.turn is not None else run.interrupted_turn
    return replace(
        run,
        ending=fact.ending,
        reason=fact.reason,
        hint=fact.hint,
        resumed_from="",
        turn=None,
        interrupted_turn=cut_off if is_interrupted else "",
        queue=run.queue if is_interrupted else (),
        asks=run.asks if is_interrupted else (),
        stalled_ms=None,
        tools=_closed(run.tools),
        pid=None,
        pid_started_s=None,
    )
