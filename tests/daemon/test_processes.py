"""Processes that are hard to end, strangers that must not be, and agents that look healthy and are not."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import psutil
import pytest

from devplane.control import requests as r
from devplane.paths import Home
from devplane.store.queries import Reader
from tests.daemon.agents import is_running, members_of, noted, scripted
from tests.daemon.harness import caller, daemon, end_daemon, kill_daemon, start_daemon

if TYPE_CHECKING:
    from collections.abc import Iterator


async def pids(log: Path, count: int) -> list[int]:
    """Wait for `count` processes to say who they are, check that they run, and return their pids."""
    found = [note["pid"] for note in await noted(log, "pid", count)]
    assert all(map(is_running, found))
    return found


async def test_g32_a_stop_leaves_nothing_of_a_tree_however_deaf_it_is(tmp_path: Path) -> None:
    """Three at once: wrappers of a deaf agent, the same after a cancel, and a deaf child in a session of its own."""
    logs = [tmp_path / name for name in ("wrapped", "cancelled", "setsid")]
    async with daemon(tmp_path) as caller:
        wrapped = await caller.dispatch(scripted("wrapper"), SCRIPTED_LOG=str(logs[0]))
        cancelled = await caller.dispatch(scripted("wrapper"), SCRIPTED_LOG=str(logs[1]))
        setsid = await caller.dispatch(scripted("setsid-child"), SCRIPTED_LOG=str(logs[2]))
        members = [*await pids(logs[0], 3), *await pids(logs[1], 3), *await pids(logs[2], 1)]
        for run in (wrapped, cancelled, setsid):
            await run.until_settled(run.turn)
        await caller.ask(r.Cancel(cancelled.id))
        async with anyio.create_task_group() as tasks:
            for run in (wrapped, cancelled, setsid):
                tasks.start_soon(run.stop)
        assert not any(map(is_running, members))
        assert members_of(caller.home.root) == []
        assert {run.row()["ending"] for run in (wrapped, cancelled, setsid)} == {"stopped"}


async def test_a_child_that_holds_the_pipe_does_not_keep_the_run_of_an_agent_that_left(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("setsid-child", "hold", "exit"), SCRIPTED_LOG=str(log))
        child = (await noted(log, "pid"))[0]["pid"]
        gone = await run.until_gone()
        assert gone["state"] == "completed"
        assert "exit status 0" in run.row()["reason"]
        assert "My child is" in run.said()
        assert not is_running(child)


async def test_g32_what_a_killed_daemon_leaves_is_ended_by_the_next(tmp_path: Path) -> None:
    log, home, folder = tmp_path / "log", Home(tmp_path / "home"), tmp_path / "project"
    folder.mkdir()
    first = start_daemon(home)
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            wrapped = await person.dispatch(scripted("wrapper"), SCRIPTED_LOG=str(log))
            other = await person.dispatch(scripted("setsid-child"), SCRIPTED_LOG=str(log))
            members = await pids(log, 4)
            await wrapped.until_settled(wrapped.turn)
            await other.until_settled(other.turn)
            kill_daemon(first)
    finally:
        kill_daemon(first)
    assert any(map(is_running, members))
    second = start_daemon(home)
    try:
        assert not any(map(is_running, members))
        async with caller(home, folder) as person:
            notes = (await person.ask(r.Status()))["notes"]
        assert any("ended" in note and "processes" in note for note in notes)
        assert sum(note.endswith("was interrupted") for note in notes) == 2
        assert {wrapped.row()["ending"], other.row()["ending"]} == {"interrupted"}
    finally:
        end_daemon(second)
    assert members_of(home.root) == []


@pytest.mark.parametrize("who", ["leader", "orphan", "no-process"])
async def test_g34_a_stranger_with_a_recorded_pid_is_left_alone(tmp_path: Path, who: str) -> None:
    """A leader of a session of that number, and an orphan in the session of a leader that is gone."""
    home, folder = Home(tmp_path / "home"), tmp_path / "project"
    folder.mkdir()
    first = start_daemon(home)
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            run = await person.dispatch("demo", "quick")
            await run.until_settled(run.turn)
            await run.stored(run.row()["pos"])
            agent = run.row()["pid"]
            kill_daemon(first)
    finally:
        kill_daemon(first)
    with stranger(who == "orphan") as (recorded, sleeper):
        for pid in (recorded,) if who != "no-process" else (0, -1, 1):
            rewrite(home, run.id, pid)
            second = start_daemon(home)
            try:
                assert is_running(sleeper)
                assert not is_running(agent)
                with Reader.open(home.database) as reader:
                    row = reader.run(run.id)
                assert row is not None
                assert row["state"] == "interrupted"
            finally:
                end_daemon(second)
            assert is_running(sleeper)


def rewrite(home: Home, run: str, pid: int) -> None:
    """Make the run live again in the store, with an agent of that pid that started long ago."""
    with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
        text, seq = db.execute("SELECT snapshot, seq FROM runs WHERE id = ?", (run,)).fetchone()
        snapshot: dict[str, Any] = json.loads(text)
        last = db.execute("SELECT max(pos) FROM events WHERE run = ?", (run,)).fetchone()[0]
        snapshot |= {"phase": "ready", "ending": "", "pid": pid, "pid_started_s": 1000.0, "pos": last}
        db.execute("UPDATE runs SET live = 1, snapshot = ? WHERE id = ?", (json.dumps(snapshot), run))


@contextmanager
def stranger(is_orphan: bool) -> Iterator[tuple[int, int]]:
    """Yield the number of a session that is not ours, and the pid of somebody who sleeps in it."""
    script = "sleep 600 & echo $!" if is_orphan else "echo $$; exec sleep 600"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as shell:
        assert shell.stdout is not None
        sleeper = int(shell.stdout.readline())
        if is_orphan:
            shell.wait()
        try:
            yield shell.pid, sleeper
        finally:
            psutil.Process(sleeper).kill()

