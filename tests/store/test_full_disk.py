from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from devplane.store.codec import Encoded
from devplane.store.failure import StoreFailed
from devplane.store.log import Log
from devplane.store.queries import Reader
from devplane.store.rows import Batch
from devplane.store.writer import Writer
from tests.store.build import RUN, event, fragment

ROOMY_PAGES = 1 << 30


class Cramped(Writer):
    """A store on a disk of `pages`; less than what is used already means no room for more."""

    pages = ROOMY_PAGES

    def write(self, group: Sequence[Encoded]) -> list[int | StoreFailed | None]:
        self.connection.execute(f"PRAGMA max_page_count = {self.pages}")
        return super().write(group)


@pytest.fixture(autouse=True)
def _roomy_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cramped, "pages", ROOMY_PAGES)


async def test_a_full_disk_is_said_and_writing_goes_on_when_there_is_space(path: Path) -> None:
    big = "x" * 1_000_000
    async with Log.open(path, open_writer=Cramped) as log:
        await log.submit(Batch(events=(event(1),)))
        Cramped.pages = 1
        with pytest.raises(StoreFailed) as caught:
            await log.submit(Batch(events=(event(2),), fragments=(fragment(3, big),)))
        assert caught.value.reason == "no space left on the disk"
        assert caught.value.hint
        Cramped.pages = ROOMY_PAGES
        await log.submit(Batch(events=(event(4),), fragments=(fragment(5, big),)))
    with Reader.open(path) as reader:
        assert [each["pos"] for each in reader.transcript(RUN)] == [1, 4, 5]
        assert reader.check()["problems"] == []


async def test_what_still_fits_on_a_full_disk_is_stored(path: Path) -> None:
    async with Log.open(path, open_writer=Cramped) as log:
        await log.submit(Batch(events=(event(1),)))
        Cramped.pages = 1
        small, huge = Batch(events=(event(2),)), Batch(fragments=(fragment(3, "x" * 1_000_000),))
        commits = [log.submit(batch) for batch in (small, huge, Batch(events=(event(4),)))]
        await log.drain()
        with pytest.raises(StoreFailed, match="no space left"):
            await commits[1]
        assert await commits[0] is not None
        assert await commits[2] is not None
