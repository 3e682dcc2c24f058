"""Small rows with sensible values, and a store written without an event loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from devplane.store.codec import encode
from devplane.store.failure import StoreFailed
from devplane.store.rows import AskRow, Batch, DecisionRow, EventRow, FragmentRow, SnapshotRow
from devplane.store.writer import Writer

RUN = "r-aaaaaaaaaa"


def event(pos: int, run: str = RUN, kind: str = "noted", at_ms: int = 0, **payload: Any) -> EventRow:
    return EventRow(run, pos, at_ms or pos, kind, payload)


def fragment(pos: int, text: str, run: str = RUN, **more: Any) -> FragmentRow:
    return FragmentRow(run, pos, more.pop("at_ms", pos), more.pop("role", "agent"), text, **more)


def run(id: str = RUN, name: str = "", live: bool = True, **more: Any) -> SnapshotRow:  # noqa: A002
    return SnapshotRow(
        id=id,
        project=more.get("project", "/home/me/shop"),
        agent=more.get("agent", "demo"),
        name=name,
        state=more.get("state", "idle" if live else "completed"),
        live=live,
        created_ms=more.get("created_ms", 1),
        updated_ms=more.get("updated_ms", 1),
        snapshot=more.get("snapshot", {"phase": "ready"}),
    )


def ask(id: str, state: str = "open", title: str = "Run make", at_ms: int = 1, **more: Any) -> AskRow:  # noqa: A002
    return AskRow(id, more.pop("run", RUN), at_ms, more.pop("kind", "permission"), state, title, {}, **more)


def decision(subject: str = "make test", verdict: str = "allow", run: str = RUN) -> DecisionRow:
    return DecisionRow(at_ms=1, run=run, tool="execute", subject=subject, verdict=verdict, authority="rule")


def open_writer(path: Path, **more: Any) -> Writer:
    return Writer(path, busy_timeout_ms=1000, **more)


def fill(path: Path, *batches: Batch) -> list[int | StoreFailed | None]:
    """Write `batches` as one group and close the store."""
    writer = open_writer(path)
    try:
        return writer.write([encode(batch) for batch in batches])
    finally:
        writer.close()
