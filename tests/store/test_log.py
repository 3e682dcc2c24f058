from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from devplane.store.failure import StoreFailed
from devplane.store.log import GROUP_BATCHES, Log
from devplane.store.queries import Reader
from devplane.store.rows import Batch
from devplane.store.writer import Writer
from tests.store.build import RUN, decision, event, fragment, run


async def test_a_commit_says_the_number_of_its_last_event(path: Path) -> None:
    async with Log.open(path) as log:
        assert await log.submit(Batch(events=(event(1), event(2)))) == 2
        assert await log.submit(Batch(events=(event(3),))) == 3
        assert await log.submit(Batch(decisions=(decision(),))) is None


async def test_what_was_committed_is_there_for_a_reader_at_once(path: Path) -> None:
    async with Log.open(path) as log:
        await log.submit(Batch(events=(event(1, text="Grüße"),), snapshot=run(snapshot={"turns": 3})))
        with Reader.open(path) as reader:
            assert [each["payload"] for each in reader.events(RUN)] == [{"text": "Grüße"}]
            assert [(each["id"], each["seq"], each["snapshot"]) for each in reader.runs()] == [
                (RUN, 1, {"turns": 3})
            ]


async def test_batches_are_stored_in_the_order_in_which_they_were_submitted(path: Path) -> None:
    count = 2 * GROUP_BATCHES + 7
    async with Log.open(path) as log:
        for pos in range(count):
            log.submit(Batch(events=(event(count - pos),)))
        await log.drain()
        with Reader.open(path) as reader:
            assert [each["seq"] for each in reader.events(RUN)] == list(range(count, 0, -1))


async def test_leaving_writes_what_nobody_waited_for(path: Path) -> None:
    async with Log.open(path) as log:
        for pos in range(100):
            log.submit(Batch(events=(event(pos),)))
    with Reader.open(path) as reader:
        assert len(list(reader.events(RUN))) == 100


async def test_leaving_by_cancellation_writes_it_too(path: Path) -> None:
    with anyio.CancelScope() as scope:
        async with Log.open(path) as log:
            log.submit(Batch(events=(event(1),)))
            scope.cancel()
            await anyio.sleep_forever()
    with Reader.open(path) as reader:
        assert len(list(reader.events(RUN))) == 1


async def test_who_gives_up_waiting_does_not_take_the_batch_back(path: Path) -> None:
    async with Log.open(path) as log:
        commit = log.submit(Batch(events=(event(1),)))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await commit
        assert await commit == 1


async def test_many_may_wait_for_one_commit(path: Path) -> None:
    async with Log.open(path) as log, anyio.create_task_group() as tasks:
        commit = log.submit(Batch(events=(event(1),)))

        async def wait() -> None:
            assert await commit == 1

        for _ in range(3):
            tasks.start_soon(wait)


async def test_what_happens_to_a_payload_after_submitting_does_not_matter(path: Path) -> None:
    row = event(1, words=["first"])
    async with Log.open(path) as log:
        commit = log.submit(Batch(events=(row,)))
        row.payload["words"].append("second")
        await commit
    with Reader.open(path) as reader:
        assert next(reader.events(RUN))["payload"] == {"words": ["first"]}


async def test_a_batch_that_cannot_be_stored_fails_alone_and_whole(path: Path) -> None:
    async with Log.open(path) as log:
        await log.submit(Batch(events=(event(1),)))
        before = log.submit(Batch(events=(event(2),)))
        twice = log.submit(Batch(events=(event(3), event(1)), decisions=(decision(),)))
        after = log.submit(Batch(events=(event(4),)))
        assert await before == 2
        with pytest.raises(StoreFailed, match="UNIQUE"):
            await twice
        assert await after is not None
        assert log.failed_batches == 1
        with Reader.open(path) as reader:
            assert [each["pos"] for each in reader.events(RUN)] == [1, 2, 4]
            assert reader.decisions() == []


async def test_a_failure_that_nobody_waits_for_is_counted_and_said(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Log.open(path) as log:
        log.submit(Batch(events=(event(1), event(1))))
        await log.drain()
        assert log.failed_batches == 1
        assert log.last_failure is not None
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    assert str(path) in caplog.text


async def test_a_number_that_sqlite_cannot_hold_is_a_failure_of_its_batch(path: Path) -> None:
    async with Log.open(path) as log:
        with pytest.raises(StoreFailed):
            await log.submit(Batch(events=(event(1 << 70),)))
        assert await log.submit(Batch(events=(event(1),))) == 1


async def test_a_bug_in_the_writer_reaches_those_who_wait(path: Path) -> None:
    class Broken(Writer):
        def write(self, group: Any) -> Any:
            raise KeyError("bug")

    async with Log.open(path, open_writer=Broken) as log:
        with pytest.raises(StoreFailed, match="KeyError"):
            await log.submit(Batch(events=(event(1),)))


async def test_the_backlog_counts_what_is_not_decided_yet(path: Path) -> None:
    async with Log.open(path) as log:
        assert log.backlog_bytes == 0
        log.submit(Batch(fragments=(fragment(1, "x" * 60_000),)))
        assert 60_000 <= log.backlog_bytes < 61_000
        await log.drain()
        assert log.backlog_bytes == 0


async def test_nothing_is_taken_after_the_end(path: Path) -> None:
    async with Log.open(path) as log:
        pass
    with pytest.raises(StoreFailed, match="closed"):
        await log.submit(Batch(events=(event(1),)))


async def test_the_write_ahead_log_is_folded_in_at_the_end(path: Path) -> None:
    async with Log.open(path) as log:
        await log.submit(Batch(events=(event(1),)))
    assert list(path.parent.iterdir()) == [path]


async def test_a_store_that_cannot_be_opened_says_so_to_whoever_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "devplane.db"
    with pytest.raises(StoreFailed, match="cannot open"):
        async with Log.open(path):
            raise AssertionError("opened a store in no folder")
