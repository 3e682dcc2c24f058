"""The runs in play, and the one place where a fact becomes part of the record.

``record`` reduces, submits to the log and hands the wishes that follow to the run's
driver together with the commit that they must wait for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from devplane.core import events as e
from devplane.core.effects import Wish
from devplane.core.run import Run, reduce
from devplane.core.wishes import wishes
from devplane.daemon.transcript import Transcript
from devplane.daemon.watch import Watcher
from devplane.store.facts import encode_fact, plain
from devplane.store.log import Commit, Log
from devplane.store.rows import AskRow, Batch, DecisionRow, EventRow, QueuedPrompt, SnapshotRow

_log = logging.getLogger(__name__)

SNAPSHOT_EVERY_MS = 100

ENDS_FRAGMENT = (
    e.ToolChanged,
    e.PlanChanged,
    e.PermissionAsked,
    e.QuestionAsked,
    e.TurnStarted,
    e.RunEnded,
)
"""Facts after which speech goes on in a new fragment, so that both stay in the order in which they came."""


class Performer(Protocol):
    """Carries out wishes, each after its commit."""

    def wish(self, commit: Commit, wished: tuple[Wish, ...]) -> None: ...


@dataclass(slots=True)
class Entry:
    """One run in play."""

    run: Run
    transcript: Transcript
    performer: Performer | None = None
    snapshot_state: str = ""
    """The state of the last snapshot that was written, and when that was."""
    snapshot_ms: int = 0
    is_stale: bool = False
    """Whether facts were recorded since that snapshot."""
    watchers: list[Watcher] = field(default_factory=list)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Board:
    """All runs in play, by id."""

    def __init__(self, log: Log, clock_ms: Callable[[], int] = now_ms) -> None:
        self.log = log
        self.clock_ms = clock_ms
        self.entries: dict[str, Entry] = {}
        self.on_news: Callable[[], None] = lambda: None
        """Called when a transcript has something to write."""
        self.on_fact: Callable[[Run, e.Fact], None] = lambda run, fact: None
        """Called for each fact once it was handed on, with the run after it."""
        self.on_ask: Callable[[], None] = lambda: None
        """Called when something begins to wait for a person."""

    def create(self, run_id: str, fact: e.RunCreated) -> Commit:
        """Put a new run on the board and in the store."""
        transcript = Transcript(run_id, 0)
        event = e.Event(run_id, transcript.take_pos(), self.clock_ms(), fact)
        run = reduce(None, event)
        self.entries[run_id] = Entry(run, transcript)
        return self.log.submit(Batch(events=(_row(event),), snapshot=snapshot_of(run)))

    def restore(self, run: Run, next_pos: int) -> None:
        """Put a run that an earlier daemon left behind back on the board, to end it."""
        self.entries[run.id] = Entry(run, Transcript(run.id, next_pos))

    def remove(self, run_id: str) -> None:
        """Take an ended run off; its watchers hear that nothing more comes."""
        entry = self.entries.pop(run_id, None)
        if entry is not None:
            for watcher in entry.watchers:
                watcher.offer({"kind": "gone", "state": entry.run.state, "final": True})

    def record(
        self,
        run_id: str,
        *facts: e.Fact,
        asks: tuple[AskRow, ...] = (),
        decisions: tuple[DecisionRow, ...] = (),
        queued: tuple[QueuedPrompt, ...] = (),
        unqueued: tuple[tuple[str, str], ...] = (),
    ) -> Commit:
        """Add facts, with the rows that belong to them, in one batch; return its commit.

        Raises:
            ImpossibleFact: One cannot follow; nothing of the call is recorded.
        """
        entry = self.entries[run_id]
        run, transcript = entry.run, entry.transcript
        at_ms = self.clock_ms()
        # Reduced on the side first: a refused fact must leave no trace.
        steps: list[tuple[Run, e.Event, Run]] = []
        for fact in facts:
            if isinstance(fact, ENDS_FRAGMENT):
                transcript.close()
            event = e.Event(run_id, transcript.take_pos(), at_ms, fact)
            before, run = run, reduce(run, event)
            steps.append((before, event, run))
        # May fail for what an agent made up; nothing has changed yet.
        events = tuple(_row(event) for _, event, _ in steps)
        entry.run = run
        self.spread(entry)
        commit = self.log.submit(
            Batch(
                events=events,
                snapshot=self._snapshot_if_due(entry, at_ms),
                fragments=transcript.take_rows() if run.keeps_transcript else _dropped(transcript),
                asks=asks,
                decisions=decisions,
                queued=queued,
                unqueued=unqueued,
            )
        )
        wished: list[Wish] = []
        for before, event, after in steps:
            wished.extend(wishes(before, event.fact, after))
            self._show(entry, event, after)
        if entry.performer is not None:
            entry.performer.wish(commit, tuple(wished))
        for _, event, after in steps:
            self.on_fact(after, event.fact)
        return commit

    def _snapshot_if_due(self, entry: Entry, at_ms: int) -> SnapshotRow | None:
        """A snapshot when the run's state changed or the last is old; else `flush` writes it a moment later.

        A run's snapshot costs more than the facts of a busy moment. It says at which fact it is, so
        that one which lags behind after a crash is brought up from the log.
        """
        state = entry.run.state
        if state == entry.snapshot_state and at_ms - entry.snapshot_ms < SNAPSHOT_EVERY_MS:
            entry.is_stale = True
            self.on_news()
            return None
        entry.snapshot_state, entry.snapshot_ms, entry.is_stale = state, at_ms, False
        return snapshot_of(entry.run)

    def spread(self, entry: Entry) -> None:
        """Give watchers what was said since the last call."""
        heard = entry.transcript.take_heard()
        if entry.watchers:
            for pos, role, continues, text in heard:
                frame = {"kind": "text", "pos": pos, "role": role, "continues": continues, "text": text}
                for watcher in entry.watchers:
                    watcher.offer(frame, len(text))

    def flush(self, entry: Entry) -> Commit | None:
        """Write what was said and is not stored yet."""
        rows = entry.transcript.take_rows()
        if not entry.run.keeps_transcript:
            rows = ()
        snapshot = None
        if entry.is_stale:
            entry.snapshot_ms, entry.is_stale = self.clock_ms(), False
            snapshot = snapshot_of(entry.run)
        return self.log.submit(Batch(fragments=rows, snapshot=snapshot)) if rows or snapshot else None

    def announce(self, run_id: str, frame: dict[str, Any]) -> None:
        """Show watchers something that is no fact."""
        entry = self.entries.get(run_id)
        for watcher in entry.watchers if entry else ():
            watcher.offer(frame)

    def _show(self, entry: Entry, event: e.Event, run: Run) -> None:
        if not entry.watchers:
            return
        kind, payload = encode_fact(event.fact)
        frame = {
            "kind": "fact",
            "pos": event.pos,
            "at_ms": event.at_ms,
            "name": kind,
            "fact": payload,
            "state": run.state,
        }
        if isinstance(event.fact, e.PermissionAsked):
            # A rule answers in the same step: then there is nothing for a person to do.
            frame["waits"] = entry.run.has_ask(event.fact.ask)
        for watcher in entry.watchers:
            watcher.offer(frame)


def _row(event: e.Event) -> EventRow:
    kind, payload = encode_fact(event.fact)
    searched = ""
    match event.fact:
        case e.ToolChanged():
            said = (event.fact.title, event.fact.subject)
            searched = " ".join(dict.fromkeys(each for each in said if each))
        case e.PermissionAsked():
            searched = event.fact.title
        case e.QuestionAsked():
            searched = event.fact.message
        case _:
            pass
    return EventRow(event.run, event.pos, event.at_ms, kind, payload, searched)


def snapshot_of(run: Run) -> SnapshotRow:
    return SnapshotRow(
        run.id,
        run.project,
        run.agent,
        run.name,
        run.state,
        run.is_live,
        run.created_ms,
        run.updated_ms,
        plain(run),
    )


def _dropped(transcript: Transcript) -> tuple[()]:
    transcript.take_rows()
    return ()
