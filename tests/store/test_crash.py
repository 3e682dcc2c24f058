"""Real writers, killed at a moment that nobody chose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devplane.store.queries import Reader
from devplane.store.rows import Batch
from tests.store.build import RUN, event, fill, fragment

WRITER = """
import os, sys
from pathlib import Path
import anyio
from devplane.store.log import Log
from devplane.store.rows import *

async def one(log, number):
    pos = 10 * number
    batch = Batch(
        events=(
            EventRow("r-1", pos, number, "a", {"number": number}),
            EventRow("r-1", pos + 1, number, "b", {"number": number}),
        ),
        fragments=(FragmentRow("r-1", pos + 2, number, "agent", "word " * 300, open=number % 3 == 0),),
        snapshot=SnapshotRow("r-1", "/p", "demo", "", "idle", True, 1, number, {"number": number}),
        decisions=(DecisionRow(number, "r-1", "execute", "ls", "allow", "rule"),),
    )
    await log.submit(batch)
    os.write(1, b"%d\\n" % number)

async def main():
    async with Log.open(Path(sys.argv[1])) as log:
        for start in range(0, 1 << 30, 20):
            async with anyio.create_task_group() as tasks:
                for number in range(start, start + 20):
                    tasks.start_soon(one, log, number)

anyio.run(main)
"""


@pytest.mark.parametrize("acknowledged", [1, 47, 400])
def test_a_killed_writer_loses_nothing_that_it_had_confirmed(path: Path, acknowledged: int) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(acknowledged)]
        writer.kill()
        lines += writer.stdout.read().splitlines(keepends=True)
    confirmed = {int(line) for line in lines if line.endswith(b"\n")}
    assert len(confirmed) >= acknowledged

    with Reader.open(path) as reader:
        assert reader.check()["problems"] == []
        entries = list(reader.transcript("r-1"))
        decided = len(reader.decisions())
        snapshot = reader.runs()[0]["snapshot"]
    stored = {entry["pos"] // 10 for entry in entries}
    assert confirmed <= stored
    assert [entry["pos"] for entry in entries] == [10 * n + part for n in sorted(stored) for part in range(3)]
    assert decided == len(stored)
    assert snapshot == {"number": max(stored)}

    fill(path)
    with Reader.open(path) as reader:
        health = reader.check()
        assert health["problems"] == []
        assert health["open_fragments"] == 0
        assert len(reader.search("word", limit=10_000)) == len(stored)


def test_a_fragment_that_a_killed_writer_left_open_is_closed_and_found(path: Path) -> None:
    fill(path, Batch(events=(event(1),), fragments=(fragment(2, "half a sen", open=True),)))
    with Reader.open(path) as reader:
        assert reader.search("half a sen") == []
    fill(path)
    with Reader.open(path) as reader:
        assert [(hit["run"], hit["ref"]) for hit in reader.search("half a sen")] == [(RUN, 2)]
        assert [entry["pos"] for entry in reader.transcript(RUN)] == [1, 2]
