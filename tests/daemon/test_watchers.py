"""Those who look on: a slow one slows nobody, and is told what it missed (invariant 7)."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from devplane import __version__
from devplane.control import requests as r
from devplane.daemon.watch import BUFFER_LIMIT_CHARS, Watcher
from devplane.paths import Home
from tests.daemon.harness import LIMIT_S, Frame, daemon

CHUNKS = 200_000


class Sluggard:
    """A watcher that asks to see a run, and reads only when it is told to."""

    def __init__(self, home: Home) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(home.socket()))
        self._socket.settimeout(LIMIT_S)
        self._lines = self._socket.makefile("rb")

    def ask(self, method: str, **params: Any) -> Any:
        line = json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        self._socket.sendall(line.encode() + b"\n")
        while True:
            message = json.loads(self._lines.readline())
            if message.get("id") == method:
                return message["result"]

    def read_until_gone(self) -> list[Frame]:
        """Read every frame that it is sent, up to the last."""
        frames: list[Frame] = []
        while not frames or frames[-1]["kind"] != "gone":
            message = json.loads(self._lines.readline())
            if message.get("method") == "frame":
                frames.append(message["params"])
        return frames

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@contextmanager
def sluggard(home: Home, run: str) -> Iterator[Sluggard]:
    """Yield one that watches `run` and has read nothing since."""
    made = Sluggard(home)
    try:
        made.ask("hello", version=__version__)
        assert made.ask("watch", run=run)["live"]
        yield made
    finally:
        made.close()


async def test_a_watcher_that_does_not_read_is_told_what_it_missed_and_slows_nobody(tmp_path: Path) -> None:
    async with daemon(tmp_path) as person:
        run = await person.dispatch("demo", "quick")
        await run.until_settled(run.turn)
        with sluggard(person.home, run.id) as slow:
            turn = await run.say(f"many {CHUNKS}")
            await run.until_settled(turn)
            wanted = "".join(f"chunk {n:12}\n" for n in range(CHUNKS)) + f"That was {CHUNKS} chunks."
            assert run.said(turn=turn) == wanted
            assert [f for f in run.frames if f["kind"] == "skipped"] == []
            assert run.text().endswith(wanted), "another watcher has seen all of it"
            # Only now, when everybody else is done, does it look.
            await run.stop()
            frames = await anyio.to_thread.run_sync(slow.read_until_gone)
        skipped = [f["count"] for f in frames if f["kind"] == "skipped"]
        assert sum(skipped) > 0
        heard = "".join(f["text"] for f in frames if f["kind"] == "text" and f["role"] == "agent")
        assert 0 < len(heard) < len(wanted)
        assert len(heard) < BUFFER_LIMIT_CHARS * 2
        assert all(line in wanted for line in re.findall(r"chunk +\d+\n", heard)[:10])


async def test_a_watcher_that_goes_away_in_mid_stream_is_forgotten(tmp_path: Path) -> None:
    async with daemon(tmp_path) as person:
        run = await person.dispatch("demo", "slow")
        for _ in range(5):
            with sluggard(person.home, run.id):
                pass
        before = len(run.frames)
        await run.until(lambda f: f["kind"] == "text" and run.frames.index(f) > before)
        await person.ask(r.Cancel(run.id))
        await run.until_settled(run.turn)
        assert await run.stop() == "stopped"


def frame(n: int, chars: int = 0) -> Frame:
    return {"kind": "text", "n": n, "text": "x" * chars}


async def drained(watcher: Watcher) -> list[Frame]:
    watcher.offer({"kind": "end", "final": True})
    frames: list[Frame] = []
    while not frames or frames[-1]["kind"] != "end":
        frames.extend(await watcher.next())
    return frames[:-1]


async def test_what_does_not_fit_is_counted_where_it_would_have_stood() -> None:
    watcher = Watcher("r-1")
    half = BUFFER_LIMIT_CHARS // 2
    for n in range(4):
        watcher.offer(frame(n), half - 1000)
    assert [f["n"] for f in await watcher.next()] == [0, 1]
    watcher.offer(frame(4), 10)
    found = await drained(watcher)
    assert found == [{"kind": "skipped", "count": 2}, frame(4)]


async def test_what_was_skipped_is_told_even_if_nothing_more_comes() -> None:
    watcher = Watcher("r-1")
    for n in range(3):
        watcher.offer(frame(n), BUFFER_LIMIT_CHARS - 1000)
    assert [f["n"] for f in await watcher.next()] == [0]
    assert await watcher.next() == [{"kind": "skipped", "count": 2}]


async def test_one_that_keeps_up_sees_even_a_frame_that_is_longer_than_the_buffer() -> None:
    watcher = Watcher("r-1")
    watcher.offer(frame(0), BUFFER_LIMIT_CHARS * 2)
    watcher.offer(frame(1), 10)
    assert [f.get("n", f["kind"]) for f in await watcher.next()] == [0]
    assert await watcher.next() == [{"kind": "skipped", "count": 1}]
    watcher.offer(frame(2), 10)
    assert [f["n"] for f in await watcher.next()] == [2]


async def test_a_fact_weighs_what_it_holds() -> None:
    """A tool call's output may be long, and a thousand of them must not pile up for one who does not read."""
    watcher = Watcher("r-1")
    fact = {"call": "c", "content": "x" * 60_000, "entries": [{"content": "y" * 4_000}]}
    for n in range(100):
        watcher.offer({"kind": "fact", "pos": n, "fact": fact})
    found = await drained(watcher)
    assert len(found) < BUFFER_LIMIT_CHARS // 64_000 + 2
    assert found[-1] == {"kind": "skipped", "count": 100 - len(found) + 1}
