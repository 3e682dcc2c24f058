from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from devplane.store.rows import Batch
from tests.store.build import decision, event, fill


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    fill(path, Batch(events=(event(1), event(2)), decisions=(decision(), decision("rm -rf build"))))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'other'",
        "DELETE FROM events WHERE pos = 1",
        "UPDATE decisions SET verdict = 'deny'",
        "DELETE FROM decisions",
        "INSERT OR REPLACE INTO decisions SELECT seq, at_ms, run, ask, tool, 'other', verdict, authority,"
        " rule, file, option_id, reason, line FROM decisions",
    ],
)
def test_the_record_refuses_to_be_rewritten(db: sqlite3.Connection, statement: str) -> None:
    before = list(db.iterdump())
    with pytest.raises(sqlite3.IntegrityError, match=r"never|only"):
        db.execute(statement)
    assert list(db.iterdump()) == before


def test_retention_may_remove_events_but_no_decision_and_change_neither(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO meta VALUES ('retention', '')")
    db.execute("DELETE FROM events WHERE pos = 1")
    for statement in (
        "UPDATE events SET kind = ''",
        "DELETE FROM decisions",
        "UPDATE decisions SET run = ''",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)
    db.execute("DELETE FROM meta WHERE key = 'retention'")
    db.execute("COMMIT")
    assert db.execute("SELECT pos FROM events").fetchall() == [(2,)]
    with pytest.raises(sqlite3.IntegrityError, match="retention"):
        db.execute("DELETE FROM events")


def test_a_number_is_not_given_again_after_pruning(path: Path, db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO meta VALUES ('retention', '')")
    db.execute("DELETE FROM events")
    db.execute("DELETE FROM meta")
    assert fill(path, Batch(events=(event(3),))) == [3]
