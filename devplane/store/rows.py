"""What can be added to the store: one small frozen row for each table, and the `Batch` that joins them.

Times are epoch milliseconds. A dict in a row is written out by `Log.submit` there and then, and
may change afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EventRow:
    """One fact of a run. `searched` is what a search should find it by (a tool call's title)."""

    run: str
    pos: int
    at_ms: int
    kind: str
    payload: dict[str, Any]
    searched: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """What a run's events add up to, the events of the same batch included."""

    id: str
    project: str
    agent: str
    name: str
    state: str
    live: bool
    created_ms: int
    updated_ms: int
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkRow:
    """What a work's events add up to. Its events are `EventRow`s whose `run` is the work's id."""

    id: str
    project: str
    name: str
    state: str
    open: bool
    created_ms: int
    updated_ms: int
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SnoozeRow:
    """A kind of inbox item about one subject (a run, a work, an ask, a file) that is not shown until then."""

    subject: str
    kind: str
    until_ms: int


@dataclass(frozen=True, slots=True)
class FragmentRow:
    """What was said, whole: a row with the same `run` and `pos` is replaced, but keeps its time.

    `role` is ``user``, ``agent`` or ``thought``. While `open`, more may come; a search
    finds it once it is closed. `continues` marks a row whose beginning is the row before.
    """

    run: str
    pos: int
    at_ms: int
    role: str
    text: str
    turn: str | None = None
    message_id: str | None = None
    open: bool = False
    continues: bool = False


@dataclass(frozen=True, slots=True)
class AskRow:
    """A request that waits for a person. `kind`: permission, question; `state`: open, answered, withdrawn."""

    id: str
    run: str
    asked_ms: int
    kind: str
    state: str
    title: str
    payload: dict[str, Any]
    closed_ms: int | None = None
    closed_by: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """An answer and whose authority it stands on. `subject` is stored up to 2000 characters.

    `rule`, `file` and `line` (counted from 1) say which rule gave it, where one did.
    """

    at_ms: int
    run: str
    tool: str
    subject: str
    verdict: str
    authority: str
    ask: str | None = None
    rule: str | None = None
    file: str | None = None
    line: int | None = None
    option_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TrustRow:
    """A person's yes to one repository. One that is there already stays as it was given."""

    root: str
    at_ms: int
    by: str


@dataclass(frozen=True, slots=True)
class SeenRow:
    """What an agent, started by `command` (as a person would type it), said of itself."""

    agent: str
    command: str
    version: str | None
    seen_ms: int
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that waits for the turn before it to end."""

    run: str
    turn: str
    text: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step adds to the store: written whole or not at all."""

    events: tuple[EventRow, ...] = ()
    snapshot: SnapshotRow | None = None
    fragments: tuple[FragmentRow, ...] = ()
    asks: tuple[AskRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    trusted: tuple[TrustRow, ...] = ()
    distrusted: tuple[str, ...] = ()
    """Roots that are trusted no more."""
    seen: tuple[SeenRow, ...] = ()
    queued: tuple[QueuedPrompt, ...] = ()
    unqueued: tuple[tuple[str, str], ...] = ()
    """(run, turn) of queued prompts that were sent or given up."""
    works: tuple[WorkRow, ...] = ()
    snoozed: tuple[SnoozeRow, ...] = ()
