"""The daemon's end: by one signal, by an impatient second one, and by SIGKILL."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from devplane.control import requests as r
from devplane.paths import Home
from devplane.store.queries import Reader
from tests.daemon.agents import members_of, scripted, until
from tests.daemon.harness import LIMIT_S, Caller, Started, caller, end_daemon, kill_daemon, start_daemon
from tests.scripted import log


@dataclass
class Scene:
    """A daemon that a test ends, with the runs that it drives."""

    process: subprocess.Popen[bytes]
    home: Home
    folder: Path
    person: Caller
    asks: dict[str, str] = field(default_factory=dict)

    async def asking(self, prompt: str) -> Started:
        run = await self.person.dispatch("demo", prompt)
        frame = await run.until(lambda f: f["kind"] == "fact" and f["name"].endswith("Asked"))
        await run.stored(frame["pos"])
        self.asks[frame["fact"]["ask"]] = run.id
        return run

    async def over(self) -> int:
        """Wait for the daemon's end, and return its exit status."""
        return await anyio.to_thread.run_sync(self.process.wait, LIMIT_S)

    def states(self) -> dict[str, tuple[str, str]]:
        with Reader.open(self.home.database) as reader:
            return {row["id"]: (row["state"], row["snapshot"]["reason"]) for row in reader.runs(all=True)}

    def open_asks(self) -> dict[str, str]:
        with Reader.open(self.home.database) as reader:
            return {each["id"]: each["run"] for each in reader.asks("open")}


@asynccontextmanager
async def scene(root: Path) -> AsyncIterator[Scene]:
    home, folder = Home(root / "home"), root / "project"
    folder.mkdir()
    process = start_daemon(home)
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            yield Scene(process, home, folder, person)
    finally:
        kill_daemon(process)
    assert members_of(home.root) == []


async def test_one_signal_ends_every_run_as_interrupted_and_keeps_its_asks(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        idle = await at.person.dispatch("demo", "quick")
        busy = await at.person.dispatch("demo", "slow")
        await at.asking("hold")
        await at.asking("question")
        await idle.until_fact("TurnEnded")
        await busy.until(lambda f: f["kind"] == "text" and f["role"] == "agent")
        at.process.send_signal(signal.SIGTERM)
        assert await at.over() == 0
        assert members_of(at.home.root) == []
        assert set(at.states().values()) == {("interrupted", "the daemon stopped")}
        assert at.open_asks() == at.asks
        assert idle.decisions() == [], "nobody decided anything"
        assert busy.said() == busy.text()
        with Reader.open(at.home.database) as reader:
            assert reader.decisions() == []
        assert not at.home.socket().exists()


async def test_a_request_of_an_interrupted_run_stays_and_its_answer_waits_with_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        run = await at.asking("hold")
        at.process.send_signal(signal.SIGTERM)
        assert await at.over() == 0
        second = start_daemon(at.home)
        try:
            assert at.open_asks() == at.asks
            async with caller(at.home, at.folder) as person:
                (ask,) = at.asks
                assert (await person.ask(r.Status()))["notes"] == [], "a clean end leaves nothing to say"
                assert (await person.ask(r.Decide(ask, "allow")))["waits"] is True
                assert run.row()["late_answers"] == [ask]
        finally:
            end_daemon(second)
        assert at.open_asks() == {}
        assert at.states()[run.id][0] == "interrupted"


async def test_shutdown_over_the_socket_is_answered_when_the_agents_are_gone(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        run = await at.asking("hold")
        answer = await at.person.ask(r.Shutdown())
        assert answer == {"interrupted": [run.id], "pid": at.process.pid}
        assert members_of(at.home.root) == []
        assert await at.over() == 0
        assert at.open_asks() == at.asks


async def test_prompts_that_wait_are_kept_by_an_interruption(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        run = await at.asking("hold")
        turn = await run.say("the next thing")
        at.process.send_signal(signal.SIGTERM)
        await at.over()
        with Reader.open(at.home.database) as reader:
            assert [(each["turn"], each["text"]) for each in reader.queued(run.id)] == [
                (turn, "the next thing")
            ]
        assert [each["turn"] for each in run.row()["queue"]] == [turn]


async def test_a_second_signal_insists_and_the_record_is_whole_all_the_same(tmp_path: Path) -> None:
    """The agents do not hear the first: only killing them ends the wait."""
    heard = tmp_path / "heard"
    async with scene(tmp_path) as at:
        run = await at.person.dispatch(scripted("deaf"), SCRIPTED_LOG=str(heard))
        await run.until_fact("TurnEnded")
        at.process.send_signal(signal.SIGTERM)
        # From here on it waits for an agent that will not end.
        await until(lambda: {"eof": True} in log.read(heard))
        at.process.send_signal(signal.SIGTERM)
        assert await at.over() == 0
        assert {"signal": 15} not in log.read(heard), "there was no time for asking"
        assert members_of(at.home.root) == []
        assert at.states()[run.id] == ("interrupted", "the daemon stopped")


async def test_after_a_kill_the_next_start_interrupts_what_was_in_play_and_says_so(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        held = await at.asking("hold")
        busy = await at.person.dispatch("demo", "run: sleep 600")
        await at.person.ask(r.Decide((await busy.until_fact("PermissionAsked"))["fact"]["ask"], "allow"))
        await busy.until_fact("ToolChanged", status="in_progress")
        kill_daemon(at.process)
        assert at.states()[held.id][0] == "waiting"
        second = start_daemon(at.home)
        try:
            assert members_of(at.home.root) == []
            async with caller(at.home, at.folder) as person:
                notes = (await person.ask(r.Status()))["notes"]
            assert {f"{run.id} was interrupted" for run in (held, busy)} <= set(notes)
        finally:
            end_daemon(second)
        assert set(at.states().values()) == {("interrupted", "the daemon ended without a clean stop")}
        assert at.open_asks() == at.asks


async def test_what_was_being_stopped_when_the_daemon_was_killed_is_stopped(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        run = await at.person.dispatch(scripted("slow-end", 1))
        await run.until_fact("TurnEnded")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_until_it_breaks, run)
            frame = await run.until(lambda f: f["kind"] == "fact" and f["name"] == "StopAsked")
            await run.stored(frame["pos"])
            kill_daemon(at.process)
        second = start_daemon(at.home)
        try:
            state, reason = at.states()[run.id]
            assert state == "stopped"
            assert "the daemon ended before the agent did" in reason
        finally:
            end_daemon(second)


async def stop_until_it_breaks(run: Started) -> None:
    with pytest.raises(Exception, match="the daemon ended before it answered"):
        await run.stop()


async def test_a_start_in_the_middle_of_an_end_waits_for_its_turn(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        run = await at.person.dispatch(scripted("slow-end", 0.5))
        await run.until_fact("TurnEnded")
        at.process.send_signal(signal.SIGTERM)
        await until(lambda: not at.home.socket().exists())
        assert at.process.poll() is None
        second = start_daemon(at.home)
        try:
            assert await at.over() == 0
            async with caller(at.home, at.folder) as person:
                said = await person.ask(r.Status())
            assert (said["pid"], said["notes"]) == (second.pid, [])
        finally:
            end_daemon(second)
        assert at.states()[run.id][0] == "interrupted"
