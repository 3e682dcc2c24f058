from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio.lowlevel
import pytest

from devplane.store.failure import StoreFailed
from devplane.store.log import Log
from devplane.store.queries import Reader
from devplane.store.rows import Batch
from tests.store.build import RUN, event, run

Lock = Callable[[], Callable[[], None]]


async def test_g37_writes_wait_for_a_lock_and_all_arrive_once(path: Path, lock: Lock) -> None:
    async with Log.open(path) as log:
        release = lock()
        commits = [log.submit(Batch(events=(event(pos),))) for pos in range(1600)]
        for _ in range(100):
            # The loop goes round while the writer waits: nothing here would run otherwise.
            await anyio.lowlevel.checkpoint()
            assert not any(commit.is_done for commit in commits)
        release()
        assert [await commit for commit in commits] == list(range(1, 1601))
        with Reader.open(path) as reader:
            assert [each["pos"] for each in reader.events(RUN)] == list(range(1600))


async def test_g37_a_lock_that_lasts_is_an_error_for_each_lost_write(path: Path, lock: Lock) -> None:
    async with Log.open(path, busy_timeout_ms=50) as log:
        release = lock()
        commits = [log.submit(Batch(events=(event(pos),))) for pos in range(20)]
        rounds = 0
        while not all(commit.is_done for commit in commits):
            rounds += 1
            await anyio.lowlevel.checkpoint()
        assert rounds > 1, "the event loop stood still while the writer waited"
        for commit in commits:
            with pytest.raises(StoreFailed) as caught:
                await commit
            assert caught.value.reason == "another process has it locked"
            assert str(path) in str(caught.value)
        assert log.failed_batches == 20
        release()
        await log.submit(Batch(events=(event(99),)))
        with Reader.open(path) as reader:
            assert [each["pos"] for each in reader.events(RUN)] == [99]


async def test_g37_a_store_that_is_locked_while_it_is_opened_is_said(path: Path, lock: Lock) -> None:
    async with Log.open(path):
        pass
    lock()
    with pytest.raises(StoreFailed, match="locked"):
        async with Log.open(path, busy_timeout_ms=50):
            raise AssertionError("opened a locked store")


async def test_g37_reading_does_not_wait_for_a_writer(path: Path, lock: Lock) -> None:
    async with Log.open(path) as log:
        await log.submit(Batch(snapshot=run()))
        lock()
        with Reader.open(path) as reader:
            assert [each["id"] for each in reader.runs()] == [RUN]
