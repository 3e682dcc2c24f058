from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from devplane.store.facts import decode_fact
from devplane.store.failure import StoreFailed
from devplane.store.log import Log
from devplane.store.migrations import SCHEMA_VERSION, STEPS
from devplane.store.queries import COUNTED, Reader
from devplane.store.rows import Batch
from tests.store.build import RUN, event, fill, open_writer


def add_mood(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE runs ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine'")


def stumble(db: sqlite3.Connection) -> None:
    db.execute("UPDATE runs SET mood = 'grim'")
    raise sqlite3.OperationalError("the step broke")


def value(path: Path, sql: str) -> object:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchone()[0]


DATA = Path(__file__).parent / "data"


def schema(path: Path) -> dict[str, object]:
    """Every table, index and trigger of a store; of tables, what their columns are and not how they read."""
    with closing(sqlite3.connect(path)) as db:
        found: dict[str, object] = {}
        for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
            found[name] = db.execute(f"PRAGMA table_info({name})").fetchall() if kind == "table" else sql
        return found


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_each_released_version_opens_and_comes_out_as_a_new_one(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript((DATA / f"v{version}.sql").read_text("utf-8"))
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        before = {
            table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] if table in there else 0
            for table in COUNTED
        }
    open_writer(path).close()
    new = path.with_name("new.db")
    fill(new)
    assert schema(path) == schema(new)
    with Reader.open(path) as reader:
        health = reader.check()
        assert (health["problems"], health["counts"], health["schema_version"]) == (
            [],
            before,
            SCHEMA_VERSION,
        )
        assert [each["ask"] for each in reader.calls()] == ["a-aaaaaaaaaa"]
        assert [(each["subject"], each["line"]) for each in reader.decisions()] == [("make test", None)]
        assert [decode_fact(each["kind"], each["payload"]) for each in reader.events(RUN)]
        assert [hit["kind"] for hit in reader.search("tests")] == ["agent"]


@pytest.fixture
def newer(path: Path) -> Iterator[Path]:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before


def test_a_new_store_is_of_the_newest_version(path: Path) -> None:
    fill(path)
    assert value(path, "PRAGMA user_version") == SCHEMA_VERSION


def test_an_older_store_is_copied_and_then_brought_up(path: Path) -> None:
    fill(path, Batch(events=(event(1),)))
    open_writer(
        path,
        steps=(
            *STEPS,
            add_mood,
        ),
    ).close()

    copy = path.with_name(f"devplane.db.v{SCHEMA_VERSION}")
    assert value(path, "PRAGMA user_version") == SCHEMA_VERSION + 1
    assert value(path, "SELECT count(mood) FROM runs") == 0
    assert value(path, "SELECT count(*) FROM events") == 1
    assert value(copy, "PRAGMA user_version") == SCHEMA_VERSION
    assert value(copy, "SELECT count(*) FROM events") == 1
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(path.parent.iterdir()) == [path, copy]


def test_the_copy_has_what_a_killed_writer_left_in_the_write_ahead_log(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        # As long as somebody reads, closing does not fold the log in.
        other.execute("SELECT * FROM events").fetchall()
        fill(path, Batch(events=(event(1),)))
        open_writer(
            path,
            steps=(
                *STEPS,
                add_mood,
            ),
        ).close()
    assert value(path.with_name(f"devplane.db.v{SCHEMA_VERSION}"), "SELECT count(*) FROM events") == 1


def test_a_step_that_fails_changes_nothing(path: Path) -> None:
    fill(path, Batch(events=(event(1),)))
    with pytest.raises(StoreFailed, match="the step broke"):
        open_writer(path, steps=(*STEPS, add_mood, stumble))
    assert value(path, "PRAGMA user_version") == SCHEMA_VERSION
    assert fill(path, Batch(events=(event(2),))) == [2]
    with Reader.open(path) as reader:
        assert [each["pos"] for each in reader.events(RUN)] == [1, 2]


def test_only_the_steps_above_a_stores_version_are_taken(path: Path) -> None:
    fill(path)
    open_writer(
        path,
        steps=(
            *STEPS,
            add_mood,
        ),
    ).close()
    taken: list[int] = []
    open_writer(
        path, steps=(*STEPS, add_mood, lambda db: taken.append(2), lambda db: taken.append(3))
    ).close()
    assert taken == [2, 3]
    copy = path.with_name(f"devplane.db.v{SCHEMA_VERSION + 1}")
    assert value(copy, "PRAGMA user_version") == SCHEMA_VERSION + 1


async def test_a_newer_store_is_refused_with_both_versions_and_left_alone(newer: Path) -> None:
    with pytest.raises(StoreFailed, match=f"version 99 and this Devplane knows up to {SCHEMA_VERSION}"):
        async with Log.open(newer):
            raise AssertionError("opened a newer store")
    with pytest.raises(StoreFailed, match=f"version 99 and this Devplane knows up to {SCHEMA_VERSION}"):
        Reader.open(newer)


def test_a_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreFailed, match="something else"):
        open_writer(path)
    assert path.read_bytes() == before
