"""The works in play: their record, and what follows from what their runs do.

What takes time (making a worktree, setting it up, the gate) is `devplane.daemon.steps`; what a person
asks for is `devplane.daemon.working`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from devplane.core import events as e
from devplane.core import gates
from devplane.core import work as w
from devplane.core.run import ImpossibleFact, Run
from devplane.core.slugs import slug_of
from devplane.core.work import Phase, Why, Work, reduce
from devplane.errors import DevplaneError, NotFound
from devplane.store.facts import decode_run, decode_work, encode_fact, plain
from devplane.store.log import Commit
from devplane.store.rows import Batch, EventRow, WorkRow
from devplane.worktrees import git

if TYPE_CHECKING:
    from devplane.daemon.service import Service

_log = logging.getLogger(__name__)

RETRY = "devplane work retry {}"
TURN_OVER = (e.TurnEnded, e.TurnFailed)


@dataclass(slots=True)
class Entry:
    """One work that this daemon has had to do with."""

    work: Work
    next_pos: int
    environ: Mapping[str, str] | None = None
    """The environment of whoever last had it go on: what its commands run with. It is not stored."""
    step: anyio.CancelScope | None = None
    """What is under way: the preparation, or a gate."""
    ended: anyio.Event = field(default_factory=anyio.Event)
    """Set when that step is over."""
    changed: anyio.Event = field(default_factory=anyio.Event)
    past: dict[str, Run] = field(default_factory=dict)
    """Its ended runs, which do not change any more."""


class Works:
    """Every work that is in play, by id."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.entries: dict[str, Entry] = {}
        self.check: Callable[[Entry], Awaitable[None]] = _nothing
        """Runs the gate of a work whose agent says that it is done (see `devplane.daemon.steps`)."""

    def create(
        self, work_id: str, created: w.WorkCreated, environ: Mapping[str, str]
    ) -> tuple[Entry, Commit]:
        """Begin the record of a work."""
        event = w.WorkEvent(work_id, 0, self._service.board.clock_ms(), created)
        entry = Entry(reduce(None, event), 1, environ)
        self.entries[work_id] = entry
        return entry, self._submit(entry, [event])

    def entry(self, work_id: str) -> Entry:
        """Return the entry of a work, from the store when this daemon has not had to do with it yet.

        Raises:
            NotFound: There is no such work, or its record cannot be read.
        """
        if work_id not in self.entries:
            with self._service.reader() as reader:
                row = reader.work(work_id)
                last = max((each["pos"] for each in reader.events(work_id)), default=0)
            if row is None:
                raise NotFound(f"no work {work_id}", hint="See: devplane work list --all.")
            try:
                work = decode_work(row["snapshot"])
            except ValueError as error:
                raise NotFound(f"the record of {work_id} cannot be read") from error
            self.entries[work_id] = Entry(work, last + 1)
        return self.entries[work_id]

    def record(self, entry: Entry, *facts: w.WorkFact) -> Commit:
        """Add facts to the record of a work.

        Raises:
            ImpossibleFact: One cannot follow; nothing of the call is recorded.
        """
        at_ms, work = self._service.board.clock_ms(), entry.work
        events: list[w.WorkEvent] = []
        for fact in facts:
            event = w.WorkEvent(work.id, entry.next_pos + len(events), at_ms, fact)
            work = reduce(work, event)
            events.append(event)
        entry.work = work
        entry.next_pos += len(events)
        entry.changed.set()
        entry.changed = anyio.Event()
        return self._submit(entry, events)

    def _submit(self, entry: Entry, events: list[w.WorkEvent]) -> Commit:
        rows = tuple(_row(each) for each in events)
        return self._service.board.log.submit(Batch(events=rows, works=(row_of(entry.work),)))

    def stop(self, entry: Entry, why: Why, text: str, hint: str = "") -> None:
        """Record why a work does not go on, where it is still going."""
        with suppress(ImpossibleFact):
            self.record(entry, w.WorkStopped(why, text, hint))

    # ---- what its runs do

    def heard_of(self, run: Run, fact: e.Fact) -> None:
        """Have a work follow what its run does."""
        if not run.work or not isinstance(
            fact, (e.TurnStarted, e.TurnEnded, e.TurnFailed, e.BudgetReached, e.RunEnded)
        ):
            return
        try:
            entry = self.entry(run.work)
        except DevplaneError:
            _log.exception("%s belongs to a work that cannot be read", run.id)
            return
        if entry.work.run == run.id:
            with suppress(ImpossibleFact):
                self._follow(entry, run, fact)

    def _follow(self, entry: Entry, run: Run, fact: e.Fact) -> None:
        work, hint = entry.work, RETRY.format(entry.work.id)
        match fact:
            case e.TurnStarted():
                if work.phase is not Phase.WORKING:
                    if entry.step is not None:
                        entry.step.cancel()
                    self.record(entry, w.WorkTakenUp("said", "person"))
            case e.BudgetReached():
                text = f"{fact.spent} of {fact.limit} ({fact.bound})"
                raised = f"Raise {fact.bound} in [budget] of devplane.toml, then: {hint}"
                self.stop(entry, Why.OVER_BUDGET, text, raised)
            case e.RunEnded() if work.phase is Phase.WORKING:
                self.stop(entry, *_why_ended(work.id, fact))
            case e.TurnEnded() | e.TurnFailed() if work.phase is Phase.WORKING and not run.queue:
                self._turn_over(entry, run, fact)

    def _turn_over(self, entry: Entry, run: Run, fact: e.TurnEnded | e.TurnFailed) -> None:
        say = f"Tell it more: devplane say {run.id} TEXT"
        if isinstance(fact, e.TurnFailed) and not fact.cancelled:
            self.stop(entry, Why.BROKEN, f"the agent's turn failed: {fact.error}", say)
        elif isinstance(fact, e.TurnFailed) or fact.stop_reason == "cancelled":
            self.stop(entry, Why.STOPPED, "its turn was cancelled", say)
        elif fact.stop_reason != "end_turn":
            self.stop(entry, Why.BROKEN, f"the agent stopped with {fact.stop_reason or 'no reason'}", say)
        else:
            self.begin_step(entry, self.check)

    # ---- what takes time

    def begin_step(self, entry: Entry, step: Callable[[Entry], Awaitable[None]]) -> None:
        """Have `step` done in the background; what it raises stops the work."""
        entry.step, entry.ended = anyio.CancelScope(), anyio.Event()
        self._service.tasks.start_soon(self._do, entry, step, entry.step, entry.ended)

    async def _do(
        self,
        entry: Entry,
        step: Callable[[Entry], Awaitable[None]],
        scope: anyio.CancelScope,
        ended: anyio.Event,
    ) -> None:
        try:
            with scope:
                await step(entry)
        except DevplaneError as error:
            retry = RETRY.format(entry.work.id)
            self.stop(entry, Why.BROKEN, str(error), error.hint or f"When it is mended: {retry}")
        except Exception:  # noqa: BLE001 - a bug in one work must not end the others
            _log.exception("%s: a bug ended its step", entry.work.id)
            self.stop(entry, Why.BROKEN, "a bug in Devplane stopped it", "See: devplane daemon logs.")
        finally:
            if entry.step is scope:
                entry.step = None
            ended.set()

    async def end_step(self, entry: Entry) -> None:
        """End what is under way, and wait until it is gone."""
        if entry.step is not None:
            entry.step.cancel()
            git.end_all()
            await entry.ended.wait()

    async def interrupt(self) -> None:
        """End every step for a shutdown; each work says that it was interrupted."""
        for entry in list(self.entries.values()):
            await self.end_step(entry)
            if entry.work.phase in (Phase.PREPARING, Phase.CHECKING):
                self.interrupted(entry, "the daemon stopped")

    def interrupted(self, entry: Entry, why: str) -> None:
        """Record that a work was cut off; a gate that nobody saw the end of passed nothing (G-33)."""
        work, now_ms = entry.work, self._service.board.clock_ms()
        with suppress(ImpossibleFact):
            if work.phase is Phase.CHECKING:
                report = gates.interrupted(
                    work.check_commands,
                    commit=work.check_commit,
                    started_ms=work.updated_ms,
                    ended_ms=now_ms,
                    timeout_s=0,
                )
                self.record(entry, w.CheckEnded(report))
                why = f"its gate was cut off: {why}"
            self.stop(entry, Why.INTERRUPTED, why, f"Go on: devplane work resume {work.id}")

    # ---- its runs

    def together(self, run: Run) -> Iterable[Run]:
        """Return the runs that share the budget of `run`: all those of its work."""
        if not run.work:
            return (run,)
        entry = self.entry(run.work)
        return (*(self._past(entry, each) for each in entry.work.runs if each != run.id), run)

    def _past(self, entry: Entry, run_id: str) -> Run:
        if run_id in self._service.board.entries:
            return self._service.board.entries[run_id].run
        if run_id not in entry.past:
            with self._service.reader() as reader:
                row = reader.run(run_id)
            if row is None:
                raise NotFound(f"no run {run_id}")
            entry.past[run_id] = decode_run(row["snapshot"])
        return entry.past[run_id]


async def _nothing(entry: Entry) -> None:
    return


def _why_ended(work_id: str, fact: e.RunEnded) -> tuple[Why, str, str]:
    retry = RETRY.format(work_id)
    match fact.ending:
        case "interrupted":
            return Why.INTERRUPTED, fact.reason, f"Go on: devplane work resume {work_id}"
        case "stopped":
            return Why.STOPPED, fact.reason, f"Go on: devplane work resume {work_id}"
        case _:
            return Why.BROKEN, fact.reason, fact.hint or f"Try again: {retry}"


def row_of(work: Work) -> WorkRow:
    return WorkRow(
        id=work.id,
        project=work.project,
        name=slug_of(work.title, work.id),
        state=work.state,
        open=work.is_open,
        created_ms=work.created_ms,
        updated_ms=work.updated_ms,
        snapshot=plain(work),
    )


def _row(event: w.WorkEvent) -> EventRow:
    kind, payload = encode_fact(event.fact)
    searched = event.fact.title if isinstance(event.fact, w.WorkCreated) else ""
    return EventRow(event.work, event.pos, event.at_ms, kind, payload, searched)
