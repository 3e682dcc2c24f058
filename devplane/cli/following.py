"""Watching one run over the control socket: history first, then live frames, nothing twice, nothing lost."""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio

from devplane.cli.common import home, reader
from devplane.cli.outcome import Outcome
from devplane.cli.progress import starting
from devplane.cli.stream import Frame, frame_of
from devplane.control import client
from devplane.control import requests as r
from devplane.control.client import Client
from devplane.errors import NoDaemon

SETTLED_BY_S = 3.0
"""A turn that ended before the watch began may have settled before it, too."""


class Live:
    """A daemon connection and the frames that it sends: iterate to get them."""

    def __init__(self, daemon: Client, frames: Any) -> None:
        self.daemon = daemon
        self._frames = frames

    def __aiter__(self) -> Live:
        return self

    async def __anext__(self) -> Frame:
        """Return the next frame.

        Raises:
            NoDaemon: The daemon ended without a word; a clean end is a ``gone`` frame.
        """
        try:
            frame: Frame = await self._frames.receive()
        except anyio.EndOfStream:
            raise NoDaemon(
                "the daemon is gone", hint="Its next start closes what it left: devplane daemon logs."
            ) from None
        return frame

    async def watch(self, run: str) -> dict[str, Any]:
        return await self.daemon.ask(r.Watch(run))


@asynccontextmanager
async def live(*, start: bool = True) -> AsyncIterator[Live]:
    """Yield a connection whose frames can be iterated."""
    sender, receiver = anyio.create_memory_object_stream[Frame](math.inf)
    async with (
        sender,
        receiver,
        client.connect(home(), start=start, on_frame=sender.send_nowait, on_end=sender.close) as daemon,
    ):
        yield Live(daemon, receiver)


def history(
    run: str, watched: dict[str, Any], last: int | None = None, *, after: int = -1
) -> Iterator[Frame]:
    """Yield what the store has of `run` after place `after`, up to the moment a `Watch` was answered for."""
    pos, open_chars = watched["pos"], watched["open"]
    with reader() as store:
        if not watched["live"]:
            yield from map(frame_of, store.transcript(run, after, last=last))
            return
        # Counted back from that moment, and not from the end: the run goes on meanwhile.
        after = after if last is None else max(after, pos - last)
        for entry in store.transcript(run, after_pos=after):
            if entry["pos"] > pos:
                return
            frame = frame_of(entry)
            if entry["pos"] == pos and entry["type"] == "fragment" and open_chars:
                # It went on growing after the watch began; the rest comes live.
                frame["text"] = frame["text"][:open_chars]
            yield frame


async def until_open(
    connection: Live, outcome: Outcome, answer: dict[str, Any], see: Callable[[Frame], None]
) -> None:
    """Wait until the prompt is sent, or the start failed; say meanwhile what takes so long."""
    if outcome.is_open or outcome.ending is not None:
        return
    async with starting(answer["agent_name"], fetches=answer["fetches"]) as clear:
        async for frame in connection:
            outcome.take(frame)
            clear()
            see(frame)
            if outcome.is_open or outcome.ending is not None:
                return


async def until_over(connection: Live, outcome: Outcome, see: Callable[[Frame], None]) -> None:
    """Wait until the turn, and those that were queued behind it, ended and settled, or the run is gone."""
    if outcome.is_over:
        return
    with anyio.move_on_after(SETTLED_BY_S if outcome.has_ended else math.inf) as scope:
        async for frame in connection:
            outcome.take(frame)
            see(frame)
            if outcome.is_over:
                return
            if not outcome.has_ended:
                scope.deadline = math.inf


@contextmanager
def goes_on(run: str) -> Iterator[None]:
    """When the person stops watching, say that the run was not stopped."""
    try:
        yield
    except (KeyboardInterrupt, anyio.get_cancelled_exc_class()):
        print(f"\n{run} goes on. Stop it: devplane stop {run}", file=sys.stderr)
        raise
