from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devplane.store.codec import encode
from devplane.store.failure import StoreFailed
from devplane.store.rows import Batch, QueuedPrompt
from tests.store.build import ask, decision, event, fragment, open_writer, run

POS = st.integers(0, 5)
BATCH = st.builds(
    Batch,
    # The same place twice is refused: that batch fails, and must fail alone.
    events=st.lists(st.builds(event, POS, st.sampled_from(["r-1", "r-2"])), max_size=2).map(tuple),
    fragments=st.lists(
        st.builds(fragment, POS, st.sampled_from(["", "one", "one two"]), st.just("r-1"), open=st.booleans()),
        max_size=2,
    ).map(tuple),
    snapshot=st.none() | st.builds(run, st.sampled_from(["r-1", "r-2"]), live=st.booleans()),
    asks=st.lists(
        st.builds(ask, st.sampled_from(["a-1", "a-2"]), st.sampled_from(["open", "odd"])), max_size=1
    ).map(tuple),
    decisions=st.lists(st.builds(decision), max_size=1).map(tuple),
    queued=st.lists(
        st.builds(QueuedPrompt, st.just("r-1"), st.just("t"), st.just("do"), POS), max_size=1
    ).map(tuple),
    unqueued=st.sampled_from([(), (("r-1", "t"),)]),
)


def test_the_file_and_its_log_are_for_this_user_alone(path: Path) -> None:
    path.touch(mode=0o644)
    with closing(open_writer(path)) as writer:
        writer.write([encode(Batch(events=(event(1),)))])
        files = sorted(path.parent.iterdir())
        assert [each.name for each in files] == ["devplane.db", "devplane.db-shm", "devplane.db-wal"]
        assert {each.stat().st_mode & 0o777 for each in files} == {0o600}


def test_a_folder_in_its_place_is_said(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreFailed) as caught:
        open_writer(path)
    assert caught.value.reason == "Is a directory"


def test_a_file_of_something_else_is_said_and_left_alone(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StoreFailed, match="not a database"):
        open_writer(path)
    assert path.read_bytes() == b"Dear diary, " * 1000


def written(groups: list[list[Batch]]) -> tuple[list[str | int | None], dict[str, list[object]]]:
    """Return the outcome of each batch, and what is in the store."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "devplane.db"
        writer = open_writer(path)
        outcomes = [each for group in groups for each in writer.write([encode(batch) for batch in group])]
        writer.close()
        with closing(sqlite3.connect(path)) as db:
            tables = ("events", "runs", "fragments", "asks", "decisions", "prompts_queued", "search")
            content = {
                table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4").fetchall() for table in tables
            }
    said = [each.reason if isinstance(each, StoreFailed) else each for each in outcomes]
    return said, content


@settings(max_examples=40, deadline=None)
@given(st.lists(BATCH, max_size=7), st.data())
def test_any_grouping_stores_what_one_batch_at_a_time_would(
    batches: list[Batch], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(batches)))))
    groups = [batches[a:b] for a, b in zip([0, *cuts], [*cuts, len(batches)], strict=True)]
    assert written(groups) == written([[batch] for batch in batches])
