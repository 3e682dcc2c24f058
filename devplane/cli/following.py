"""Watching one run over the control socket: history first, then live frames, nothing twice, nothing lost."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc

from devplane.cli.common import home, reader
from devplane.cli.render import paint
from devplane.cli.stream import Frame, JsonPrinter, Printer, frame_of
from devplane.control import client
from devplane.control import requests as r
from devplane.control.client import Client
from devplane.core.text import visible
from devplane.errors import AgentFailed, DevplaneError

NOTICE_AFTER_S = 1.0
"""A start that takes longer than this says what it is waiting for."""


class Live:
    """A daemon connection and the frames that it sends."""

    def __init__(self, daemon: Client, frames: Any) -> None:
        self.daemon = daemon
        self._frames = frames

    async def frames(self) -> AsyncIterator[Frame]:
        async for frame in self._frames:
            yield frame

    async def watch(self, run: str) -> dict[str, Any]:
        return await self.daemon.ask(r.Watch(run))


@asynccontextmanager
async def live(*, start: bool = True) -> AsyncIterator[Live]:
    """Yield a connection whose frames can be iterated."""
    sender, receiver = anyio.create_memory_object_stream[Frame](math.inf)
    async with sender, receiver, client.connect(home(), start=start, on_frame=sender.send_nowait) as daemon:
        yield Live(daemon, receiver)


def history(run: str, answer: dict[str, Any], last: int | None) -> Iterator[Frame]:
    """Yield what the store has of `run` up to the moment that a `Watch` was answered for."""
    pos, open_chars, is_live = answer["pos"], answer["open"], answer["live"]
    with reader() as store:
        for entry in store.transcript(run, last=last):
            if is_live and entry["pos"] > pos:
                return
            frame = frame_of(entry)
            if is_live and entry["pos"] == pos and entry["type"] == "fragment" and open_chars:
                # It went on growing after the watch began; the rest comes live.
                frame["text"] = frame["text"][:open_chars]
            yield frame


class Outcome:
    """What a followed run has come to, as its frames tell."""

    def __init__(self, run: str, turn: str) -> None:
        self.run = run
        self.turn = turn
        self.is_open = False
        self.stop_reason: str | None = None
        self.error = ""
        self.ending: dict[str, Any] | None = None
        self.is_settled = False
        self.asks: dict[str, dict[str, Any]] = {}

    def take(self, frame: Frame) -> None:
        if frame["kind"] == "settled" and frame["turn"] == self.turn:
            self.is_settled = True
        elif frame["kind"] == "fact":
            self._fact(frame["name"], frame["fact"])

    def _fact(self, name: str, fact: dict[str, Any]) -> None:
        match name:
            case "TurnStarted" if fact["turn"] == self.turn:
                self.is_open = True
            case "TurnEnded" if fact["turn"] == self.turn:
                self.stop_reason = fact["stop_reason"]
            case "TurnFailed" if fact["turn"] == self.turn:
                self.stop_reason = "cancelled" if fact["cancelled"] else "error"
                self.error = fact["error"]
            case "RunEnded":
                self.ending = fact
            case "PermissionAsked" | "QuestionAsked":
                self.asks[fact["ask"]] = fact
            case "AskAnswered" | "AskWithdrawn":
                self.asks.pop(fact["ask"], None)
            case _:
                pass

    @property
    def is_over(self) -> bool:
        return self.is_settled or self.ending is not None

    def check(self) -> None:
        """Raise what the exit status is to say.

        Raises:
            AgentFailed: The run failed, the turn did, or the agent refused.
            DevplaneError: The turn ended in another way than by the agent's own end.
        """
        if self.ending is not None and self.ending["ending"] == "failed":
            raise AgentFailed(self.ending["reason"], hint=self.ending["hint"] or None)
        if self.stop_reason == "error":
            raise AgentFailed(f"the turn failed: {self.error}", hint=f"See: devplane show {self.run}")
        if self.stop_reason == "refusal":
            raise AgentFailed("the agent refused", hint=f"See: devplane show {self.run}")
        if self.stop_reason != "end_turn":
            how = self.stop_reason or (self.ending["ending"] if self.ending else "no reason given")
            raise DevplaneError(
                f"the turn did not end by itself: {how}", hint=f"See: devplane show {self.run}"
            )


async def until_open(frames: AsyncIterator[Frame], outcome: Outcome, answer: dict[str, Any]) -> None:
    """Wait until the prompt is sent, or the start failed; say on a terminal what takes so long."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_say_what_takes_so_long, answer)
        async for frame in frames:
            outcome.take(frame)
            if outcome.is_open or outcome.ending is not None or frame["kind"] == "gone":
                break
        tasks.cancel_scope.cancel()


async def _say_what_takes_so_long(answer: dict[str, Any]) -> None:
    await anyio.sleep(NOTICE_AFTER_S)
    began = time.monotonic() - NOTICE_AFTER_S
    is_terminal = sys.stderr.isatty()
    fetching = " (its first start may download it)" if answer["fetches"] else ""
    name = visible(answer["agent_name"])
    if not is_terminal:
        print(f"starting {name}{fetching} …", file=sys.stderr, flush=True)
        await anyio.sleep_forever()
    try:
        while True:
            line = f"starting {name}{fetching} … {time.monotonic() - began:.0f} s"
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
            await anyio.sleep(0.5)
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


async def answer_by_key(outcome: Outcome, show: Printer | JsonPrinter, daemon: Client) -> None:
    """Let the person at the terminal answer the oldest open permission request with one key."""
    with _keys() as is_there:
        if not is_there:
            return
        while True:
            await anyio.wait_readable(sys.stdin.fileno())
            key = os.read(sys.stdin.fileno(), 1).decode("utf-8", "replace")
            ask = next((each for each in outcome.asks.values() if "options" in each), None)
            if ask is None:
                continue
            request = _request_of(key, ask)
            if request is None:
                if isinstance(show, Printer):
                    show.line(paint("    a = allow, d = deny, 1-9 = an option", "dim"))
                continue
            try:
                await daemon.ask(request)
            except DevplaneError as error:
                if isinstance(show, Printer):
                    show.line(paint(f"    {visible(str(error))}", "red"))


def _request_of(key: str, ask: dict[str, Any]) -> r.Decide | None:
    if key in ("a", "d"):
        return r.Decide(ask["ask"], decision={"a": "allow", "d": "deny"}[key])
    if key.isdigit() and 0 < int(key) <= len(ask["options"]):
        return r.Decide(ask["ask"], option=ask["options"][int(key) - 1]["id"])
    return None


@contextlib.contextmanager
def _keys() -> Iterator[bool]:
    """Read single keys while the body runs; the terminal is put back whatever happens."""
    import termios
    import tty

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield False
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin.fileno())
        yield True
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
