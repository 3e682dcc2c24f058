"""A real daemon in a subprocess, a real home, and a caller that waits for frames and never for the clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from devplane.control import client
from devplane.control import requests as r
from devplane.control.client import Client
from devplane.errors import DevplaneError
from devplane.paths import Home
from devplane.store.queries import Reader

LIMIT_S = 30.0
Frame = dict[str, Any]


class Follower:
    """The frames of one run, as they came."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._news = anyio.Event()

    def take(self, frame: Frame) -> None:
        self.frames.append(frame)
        self._news.set()
        self._news = anyio.Event()

    async def until(self, wanted: Callable[[Frame], bool], limit_s: float = LIMIT_S) -> Frame:
        """Return the first frame, past or to come, that `wanted` says yes to."""
        seen = 0
        with anyio.fail_after(limit_s):
            while True:
                while seen < len(self.frames):
                    frame = self.frames[seen]
                    seen += 1
                    if wanted(frame):
                        return frame
                await self._news.wait()

    async def until_fact(self, name: str, limit_s: float = LIMIT_S, **fields: Any) -> Frame:
        """Return the first fact of that name whose fields are as given."""

        def wanted(frame: Frame) -> bool:
            if frame["kind"] != "fact" or frame["name"] != name:
                return False
            return all(frame["fact"].get(key) == value for key, value in fields.items())

        frame = await self.until(wanted, limit_s)
        await self.stored(frame["pos"])
        return frame

    async def stored(self, pos: int) -> None:
        """Wait until the store has what was shown: a frame does not wait for its commit."""

    async def until_settled(self, turn: str, limit_s: float = LIMIT_S) -> Frame:
        return await self.until(lambda f: f["kind"] == "settled" and f["turn"] == turn, limit_s)

    async def until_gone(self, limit_s: float = LIMIT_S) -> Frame:
        return await self.until(lambda f: f["kind"] == "gone", limit_s)

    def facts(self, name: str) -> list[dict[str, Any]]:
        return [f["fact"] for f in self.frames if f["kind"] == "fact" and f["name"] == name]

    def text(self, role: str = "agent") -> str:
        return "".join(f["text"] for f in self.frames if f["kind"] == "text" and f["role"] == role)


class Started(Follower):
    """A run that was dispatched and is followed."""

    def __init__(self, caller: Caller, answer: dict[str, Any]) -> None:
        super().__init__()
        self.caller = caller
        self.id: str = answer["run"]
        self.turn: str = answer["turn"]

    async def stored(self, pos: int) -> None:
        with anyio.fail_after(LIMIT_S):
            while True:
                with Reader.open(self.caller.home.database) as reader:
                    if any(each["pos"] >= pos for each in reader.events(self.id)):
                        return
                await anyio.lowlevel.checkpoint()

    async def say(self, text: str, *, now: bool = False) -> str:
        """Queue another prompt; return its turn."""
        answer = await self.caller.ask(r.Say(self.id, text, now))
        return str(answer["turn"])

    async def stop(self) -> str:
        """Stop it; return the state it is in then."""
        return str((await self.caller.ask(r.Stop(self.id)))["state"])

    def row(self) -> dict[str, Any]:
        """The run's snapshot as the store has it."""
        with Reader.open(self.caller.home.database) as reader:
            row = reader.run(self.id)
        assert row is not None
        return row["snapshot"]

    def said(self, role: str = "agent", turn: str | None = None) -> str:
        """What the store has of one speaker, joined (of one turn, if given)."""
        with Reader.open(self.caller.home.database) as reader:
            return "".join(
                each["text"]
                for each in reader.transcript(self.id)
                if each["type"] == "fragment" and each["role"] == role and turn in (None, each["turn"])
            )

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of the stored events of one kind, in order."""
        with Reader.open(self.caller.home.database) as reader:
            return [each["payload"] for each in reader.events(self.id) if each["kind"] == kind]

    def asks(self, state: str | None = "open") -> list[dict[str, Any]]:
        with Reader.open(self.caller.home.database) as reader:
            return [dict(each) for each in reader.asks(state, self.id)]

    def decisions(self) -> list[dict[str, Any]]:
        with Reader.open(self.caller.home.database) as reader:
            return [dict(each) for each in reader.decisions(self.id)]


class Caller:
    """One caller of a running daemon. Each follower has a connection of its own."""

    def __init__(self, home: Home, folder: Path, tasks: Any, connection: Client) -> None:
        self.home = home
        self.folder = folder
        self._tasks = tasks
        self._client = connection

    async def ask(self, request: r.Request) -> dict[str, Any]:
        with anyio.fail_after(LIMIT_S):
            return await self._client.ask(request)

    async def ask_at_once(self, *requests: r.Request) -> list[dict[str, Any] | DevplaneError]:
        """Send all requests before the first answer is read; return what came of each."""
        outcomes: list[dict[str, Any] | DevplaneError] = [DevplaneError("not answered")] * len(requests)

        async def send(number: int) -> None:
            try:
                outcomes[number] = await self.ask(requests[number])
            except DevplaneError as error:
                outcomes[number] = error

        async with anyio.create_task_group() as tasks:
            for number in range(len(requests)):
                tasks.start_soon(send, number)
        return outcomes

    async def dispatch(
        self, agent: str, prompt: str = "hello", *, cwd: Path | None = None, **environ: str
    ) -> Started:
        """Dispatch to `agent` (an id or a command) and follow it from its first moment on."""
        answer = await self.ask(
            r.Dispatch(agent, str(cwd or self.folder), prompt, environ={**environment(), **environ})
        )
        started = Started(self, answer)
        await self.follow(started)
        return started

    async def resume(
        self, run: str, *, mode: str | None = None, is_same_rights: bool = False, **environ: str
    ) -> Started:
        """Take up the session of a run that ended, and follow it."""
        asked = r.Resume(run, mode, is_same_rights, {**environment(), **environ})
        started = Started(self, await self.ask(asked))
        await self.follow(started)
        return started

    async def follow(self, started: Started) -> dict[str, Any]:
        """Give `started` the frames of its run, over a connection of its own."""
        ready = anyio.Event()
        answer: dict[str, Any] = {}

        async def hold() -> None:
            with suppress(DevplaneError):
                async with client.connect(self.home, start=False, on_frame=started.take) as connection:
                    answer.update(await connection.ask(r.Watch(started.id)))
                    ready.set()
                    if not answer["live"]:
                        self._catch_up(started)
                        return
                    await anyio.sleep_forever()

        self._tasks.start_soon(hold)
        with anyio.fail_after(LIMIT_S):
            await ready.wait()
        self._catch_up(started)
        return answer

    def _catch_up(self, started: Started) -> None:
        # What happened before the watch: facts from the store, so that a test need not care when it looked.
        with Reader.open(self.home.database) as reader:
            known = {f.get("pos") for f in started.frames if f["kind"] == "fact"}
            events = list(reader.events(started.id))
            resumed = max((each["pos"] for each in events if each["kind"] == "RunResumed"), default=-1)
            for each in events:
                if each["pos"] not in known:
                    started.take(
                        {"kind": "fact", "name": each["kind"], "fact": each["payload"], "pos": each["pos"]}
                    )
                    if each["kind"] == "RunEnded" and each["pos"] > resumed:
                        started.take({"kind": "gone", "state": each["payload"]["ending"]})


def environment() -> dict[str, str]:
    """The environment that agents of a test run in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DEVPLANE")}
    return {**kept, "DEVPLANE_DEMO_SPEED": "0"}


SERVE = (sys.executable, "-m", "devplane", "serve")


def start_daemon(home: Home, *, command: Sequence[str] = SERVE, **environ: str) -> subprocess.Popen[bytes]:
    """Start a daemon in the foreground of a process of its own, and wait until it serves.

    `command` is given ``--ready-fd`` and the number of a pipe's end.
    """
    home.prepare()
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*command, "--ready-fd", str(writer)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=(writer,),
        env={**environment(), "DEVPLANE_HOME": str(home.root), **environ},
    )
    os.close(writer)
    word = os.read(reader, 16)
    os.close(reader)
    if word != b"ready":
        said = process.communicate(timeout=LIMIT_S)[1]
        raise AssertionError(f"the daemon did not start ({word!r}): {said.decode()}")
    return process


def end_daemon(process: subprocess.Popen[bytes]) -> None:
    """End a daemon cleanly, or by force when it does not hear."""
    process.terminate()
    try:
        process.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError("the daemon did not end on SIGTERM") from None


def kill_daemon(process: subprocess.Popen[bytes]) -> None:
    """End a daemon as a crash does: at once, with nothing tidied up. Killing a dead one changes nothing."""
    if process.poll() is None:
        process.kill()
    if process.stderr is not None and not process.stderr.closed:
        process.communicate()


@asynccontextmanager
async def daemon(root: Path, *, command: Sequence[str] = SERVE, **environ: str) -> AsyncIterator[Caller]:
    """Yield a caller of a daemon of its own, with a trusted folder; both are gone afterwards."""
    home = Home(root / "home")
    folder = root / "project"
    folder.mkdir(exist_ok=True)
    process = start_daemon(home, command=command, **environ)
    try:
        async with caller(home, folder) as ready:
            await ready.ask(r.Trust(str(folder)))
            yield ready
    finally:
        end_daemon(process)


@asynccontextmanager
async def life(root: Path, *, command: Sequence[str] = SERVE, **environ: str) -> AsyncIterator[Caller]:
    """Yield a caller of a daemon that is killed afterwards, as by a crash; its home is for the next one."""
    home, folder = Home(root / "home"), root / "project"
    folder.mkdir(exist_ok=True)
    process = start_daemon(home, command=command, **environ)
    try:
        async with caller(home, folder) as ready:
            await ready.ask(r.Trust(str(folder)))
            yield ready
            kill_daemon(process)
    finally:
        kill_daemon(process)


@asynccontextmanager
async def caller(home: Home, folder: Path) -> AsyncIterator[Caller]:
    """Yield a caller of the daemon that serves `home`."""
    async with (
        client.connect(home, start=False) as connection,
        anyio.create_task_group() as tasks,
    ):
        yield Caller(home, folder, tasks, connection)
        tasks.cancel_scope.cancel()
