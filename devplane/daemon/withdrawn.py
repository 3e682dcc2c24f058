"""The rows that close stored asks to which no agent waits any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from devplane.core.permission import Authority
from devplane.store.answers import AskRow as StoredAsk
from devplane.store.rows import AskRow, DecisionRow


def withdrawn(rows: Iterable[StoredAsk], now_ms: int, why: str) -> dict[str, tuple[Any, ...]]:
    """Return the ask and decision rows that say so of each, as `Board.record` takes them."""
    rows = tuple(rows)
    return {
        "asks": tuple(_closed(row, now_ms) for row in rows),
        "decisions": tuple(_nobodys(row, now_ms, why) for row in rows),
    }


def _closed(row: StoredAsk, now_ms: int) -> AskRow:
    kept = (row["id"], row["run"], row["asked_ms"], row["kind"], "withdrawn", row["title"], row["payload"])
    return AskRow(*kept, closed_ms=now_ms, closed_by=Authority.NOBODY)


def _nobodys(row: StoredAsk, now_ms: int, why: str) -> DecisionRow:
    return DecisionRow(
        at_ms=now_ms,
        run=row["run"],
        tool=row["payload"].get("tool") or row["kind"],
        subject=row["payload"].get("subject") or row["title"],
        verdict="withdrawn",
        authority=Authority.NOBODY,
        ask=row["id"],
        reason=why,
    )
