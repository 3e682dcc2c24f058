"""The life of a work: a piece of work with its own worktree, gates and runs.

Its facts are kept in the log under its own id; `reduce` folds them. A pair of phase and fact that is
not in `NEXT` is refused and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from devplane.core.gates import GateReport, SetupReport
from devplane.core.run import ImpossibleFact


class Phase(StrEnum):
    PREPARING = "preparing"
    """Its worktree is made and set up, and its agent started."""
    WORKING = "working"
    """It is the agent's turn."""
    CHECKING = "checking"
    """Its gate runs."""
    REVIEW = "review"
    """The agent says that it is done, and nothing contradicts: a person looks at it."""
    STOPPED = "stopped"
    """It does not go on by itself; `Work.why` says why."""
    FINISHED = "finished"


IN_PLAY = frozenset({Phase.PREPARING, Phase.WORKING, Phase.CHECKING})
"""Phases in which Devplane or an agent is at it."""


class Why(StrEnum):
    """Why a work stopped: written when it stops, and never guessed afterwards."""

    GATE_FAILED = "gate failed"
    OVER_BUDGET = "over budget"
    INTERRUPTED = "interrupted"
    BROKEN = "broken"
    STOPPED = "stopped"


class Basis(StrEnum):
    """On what ground a work counts as finished."""

    CHECKED = "the gate passed on what is committed"
    CHECKED_BEFORE = "the gate passed, and files or commits changed since"
    UNCHECKED = "a person's word: the project declares no gate"
    NOT_CHECKED = "a person's word: the gate was not run"
    DESPITE = "a person's word, against a gate that did not pass"


@dataclass(frozen=True, slots=True)
class WorkCreated:
    """A person wants this done; nothing was made yet."""

    title: str
    agent: str
    project: str
    """Root of the checkout that owns it: its settings, policy and trust hold."""
    worktree: str
    """Where the agent works; the checkout itself when `in_place`."""
    in_place: bool
    branch: str
    """Its own branch; "" when it works in place."""
    base_branch: str
    base_ref: str
    base_commit: str
    brief: str
    """What the agent is told first; "" where no transcripts are kept."""
    by: str


@dataclass(frozen=True, slots=True)
class WorktreeMade:
    """Its worktree is there, with copies of the files that ``.worktreeinclude`` names."""

    copied: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Each file that was asked for and not copied, with the reason."""


@dataclass(frozen=True, slots=True)
class SetupEnded:
    """The project's set-up commands ran."""

    report: SetupReport


@dataclass(frozen=True, slots=True)
class RunJoined:
    """A run works on it from now on."""

    run: str


@dataclass(frozen=True, slots=True)
class CheckBegan:
    """The agent says that it is done: the gate runs on `commit` and `changed` uncommitted files."""

    commit: str
    changed: int
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckEnded:
    """What the gate said."""

    report: GateReport


@dataclass(frozen=True, slots=True)
class Verified:
    """What the gate said to a person who ran it: nothing else changes."""

    report: GateReport
    changed: int


@dataclass(frozen=True, slots=True)
class Unchecked:
    """The agent says that it is done, and the project declares no gate."""


@dataclass(frozen=True, slots=True)
class FedBack:
    """The failures were handed back to the agent."""

    turn: str


@dataclass(frozen=True, slots=True)
class WorkStopped:
    """It does not go on by itself. `why` is a word of `Why`."""

    why: Why
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class WorkTakenUp:
    """It goes on. `how` is ``resume``, ``retry`` or ``said`` (a prompt to its run)."""

    how: str
    by: str


@dataclass(frozen=True, slots=True)
class WorkFinished:
    """A person calls it finished, at `commit`, on this ground."""

    basis: Basis
    commit: str
    changed: int
    by: str


@dataclass(frozen=True, slots=True)
class WorktreeRemoved:
    """Its worktree is gone; its branch too, when nothing would be lost with it."""

    branch_deleted: bool


WorkFact = (
    WorkCreated
    | WorktreeMade
    | SetupEnded
    | RunJoined
    | CheckBegan
    | CheckEnded
    | Verified
    | Unchecked
    | FedBack
    | WorkStopped
    | WorkTakenUp
    | WorkFinished
    | WorktreeRemoved
)


@dataclass(frozen=True, slots=True)
class WorkEvent:
    """One fact of one work, at its place in the work's log."""

    work: str
    pos: int
    at_ms: int
    fact: WorkFact


@dataclass(frozen=True, slots=True)
class Work:
    """One work as the log tells it. Times are epoch milliseconds."""

    id: str
    title: str
    agent: str
    project: str
    worktree: str
    in_place: bool
    branch: str
    base_branch: str
    base_ref: str
    base_commit: str
    brief: str
    created_ms: int
    updated_ms: int
    pos: int
    phase: Phase = Phase.PREPARING
    is_made: bool = False
    """Whether its worktree is there, as far as Devplane made or removed it."""
    copied: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    setup: SetupReport | None = None
    runs: tuple[str, ...] = ()
    """Every run that worked on it, the newest last."""
    checks: int = 0
    """How often its gate ran to an end."""
    rounds: int = 0
    """How often failures went back to the agent since a person last said anything."""
    check_commit: str = ""
    check_changed: int = 0
    """What the last gate that began was run on."""
    check_commands: tuple[str, ...] = ()
    gate: GateReport | None = None
    """The last report; what it is about are `check_commit` and `check_changed`."""
    why: Why | None = None
    text: str = ""
    hint: str = ""
    basis: Basis | None = None
    finished_by: str = ""
    finished_commit: str = ""
    finished_changed: int = 0

    @property
    def run(self) -> str:
        """The run that works on it now; "" before the first."""
        return self.runs[-1] if self.runs else ""

    @property
    def state(self) -> str:
        """One word or two for a list: its phase, or why it stopped."""
        return str(self.why) if self.phase is Phase.STOPPED and self.why else str(self.phase)

    @property
    def is_open(self) -> bool:
        return self.phase is not Phase.FINISHED

    @property
    def is_prepared(self) -> bool:
        """Whether an agent can begin in its worktree."""
        return self.is_made and (self.setup is None or self.setup.succeeded)


NEXT: dict[Phase, dict[type, Phase]] = {
    Phase.PREPARING: {
        WorktreeMade: Phase.PREPARING,
        SetupEnded: Phase.PREPARING,
        RunJoined: Phase.WORKING,
        WorkStopped: Phase.STOPPED,
    },
    Phase.WORKING: {
        RunJoined: Phase.WORKING,
        CheckBegan: Phase.CHECKING,
        Unchecked: Phase.REVIEW,
        WorkStopped: Phase.STOPPED,
    },
    Phase.CHECKING: {
        CheckEnded: Phase.CHECKING,
        FedBack: Phase.WORKING,
        WorkTakenUp: Phase.WORKING,
        WorkStopped: Phase.STOPPED,
    },
    Phase.REVIEW: {
        RunJoined: Phase.REVIEW,
        Verified: Phase.REVIEW,
        WorkTakenUp: Phase.WORKING,
        WorkFinished: Phase.FINISHED,
    },
    Phase.STOPPED: {
        RunJoined: Phase.STOPPED,
        Verified: Phase.STOPPED,
        WorkTakenUp: Phase.WORKING,
        WorkFinished: Phase.FINISHED,
    },
    Phase.FINISHED: {WorktreeRemoved: Phase.FINISHED},
}
"""What may follow. A check that passed leads to review, and a work that is taken up before it was prepared
is prepared first: `reduce` sees to both."""


def reduce(work: Work | None, event: WorkEvent) -> Work:
    """Return the work after one more fact.

    Raises:
        ImpossibleFact: The fact cannot follow; the work is as it was.
    """
    fact = event.fact
    if work is None:
        return _create(event)
    phase = NEXT[work.phase].get(type(fact))
    if phase is None:
        raise ImpossibleFact(f"{type(fact).__name__} cannot follow in {work.id}, which is {work.state}")
    moved = replace(
        work, phase=phase, pos=max(work.pos, event.pos), updated_ms=max(work.updated_ms, event.at_ms)
    )
    return _apply(moved, fact)


def _create(event: WorkEvent) -> Work:
    fact = event.fact
    if not isinstance(fact, WorkCreated):
        raise ImpossibleFact(f"{event.work} has no beginning: its first fact is {type(fact).__name__}")
    return Work(
        id=event.work,
        title=fact.title,
        agent=fact.agent,
        project=fact.project,
        worktree=fact.worktree,
        in_place=fact.in_place,
        branch=fact.branch,
        base_branch=fact.base_branch,
        base_ref=fact.base_ref,
        base_commit=fact.base_commit,
        brief=fact.brief,
        created_ms=event.at_ms,
        updated_ms=event.at_ms,
        pos=event.pos,
        is_made=fact.in_place,
    )


def _apply(work: Work, fact: WorkFact) -> Work:
    match fact:
        case WorkCreated():
            raise ImpossibleFact(f"{work.id} was created already")
        case WorktreeMade():
            return replace(work, is_made=True, copied=fact.copied, refused=fact.refused)
        case SetupEnded():
            return replace(work, setup=fact.report)
        case RunJoined():
            return replace(work, runs=(*(each for each in work.runs if each != fact.run), fact.run))
        case CheckBegan():
            return replace(
                work,
                check_commit=fact.commit,
                check_changed=fact.changed,
                check_commands=fact.commands,
            )
        case CheckEnded():
            phase = Phase.REVIEW if fact.report.passed else Phase.CHECKING
            return replace(work, phase=phase, gate=fact.report, checks=work.checks + 1)
        case Verified():
            return replace(
                work,
                gate=fact.report,
                checks=work.checks + 1,
                check_commit=fact.report.commit,
                check_changed=fact.changed,
            )
        case Unchecked():
            return replace(work, gate=None)
        case FedBack():
            return replace(work, rounds=work.rounds + 1)
        case WorkStopped():
            return replace(work, why=fact.why, text=fact.text, hint=fact.hint)
        case WorkTakenUp():
            phase = Phase.WORKING if work.is_prepared and work.runs else Phase.PREPARING
            rounds = work.rounds if fact.how == "resume" else 0
            return replace(work, phase=phase, why=None, text="", hint="", rounds=rounds)
        case WorkFinished():
            return replace(
                work,
                why=None,
                text="",
                hint="",
                basis=fact.basis,
                finished_by=fact.by,
                finished_commit=fact.commit,
                finished_changed=fact.changed,
            )
        case WorktreeRemoved():
            return replace(work, is_made=False)


def basis_of(work: Work, commit: str, changed: int, *, has_gate: bool) -> Basis:
    """Return on what ground `work` would be finished now, at `commit` with `changed` uncommitted files."""
    if work.gate is None:
        return Basis.NOT_CHECKED if has_gate else Basis.UNCHECKED
    if not work.gate.passed:
        return Basis.DESPITE
    is_same = commit == work.check_commit and not changed and not work.check_changed
    return Basis.CHECKED if is_same else Basis.CHECKED_BEFORE
