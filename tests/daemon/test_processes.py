"""Processes that are hard to end, and strangers that must not be."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import psutil

from devplane.control import requests as r
from devplane.paths import Home
from tests.daemon.agents import is_running, members_of, noted, scripted
from tests.daemon.harness import caller, daemon, end_daemon, kill_daemon, start_daemon


async def pids(log: Path, count: int) -> list[int]:
    """Wait for `count` processes to say who they are, check that they run, and return their pids."""
    found = [note["pid"] for note in await noted(log, "pid", count)]
    assert all(map(is_running, found))
    return found


async def test_g32_a_stop_leaves_nothing_of_a_tree_however_deaf_it_is(tmp_path: Path) -> None:
    """At once: a deaf agent in wrappers, the same after a cancel, a deaf child that left its session."""
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


async def test_a_child_that_holds_the_pipe_does_not_keep_the_run_of_an_agent_that_left(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("setsid-child", "hold", "exit", "mild"), SCRIPTED_LOG=str(log))
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


async def test_g34_a_stranger_with_a_recorded_pid_is_left_alone(tmp_path: Path) -> None:
    """A leader of a session of that number, and an orphan of one that is gone."""
    home, folder = Home(tmp_path / "home"), tmp_path / "project"
    folder.mkdir()
    first = start_daemon(home)
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            run = await person.dispatch("demo", "quick")
            await run.until_fact("TurnEnded")
            agent = run.row()["pid"]
            kill_daemon(first)
    finally:
        kill_daemon(first)
    with stranger(is_orphan=False) as leader, stranger(is_orphan=True) as orphan:
        for recorded in (leader.session, orphan.session):
            rewrite(home, run.id, recorded)
            second = start_daemon(home)
            try:
                assert not is_running(agent)
                assert run.row()["ending"] == "interrupted"
            finally:
                end_daemon(second)
            assert is_running(leader.sleeper)
            assert is_running(orphan.sleeper)


def rewrite(home: Home, run: str, pid: int) -> None:
    """Make the run live again in the store, with an agent of that pid that started long ago."""
    with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
        (text,) = db.execute("SELECT snapshot FROM runs WHERE id = ?", (run,)).fetchone()
        snapshot: dict[str, Any] = json.loads(text)
        last = db.execute("SELECT max(pos) FROM events WHERE run = ?", (run,)).fetchone()[0]
        snapshot |= {"phase": "ready", "ending": "", "pid": pid, "pid_started_s": 1000.0, "pos": last}
        db.execute("UPDATE runs SET live = 1, snapshot = ? WHERE id = ?", (json.dumps(snapshot), run))


@dataclass
class Stranger:
    """A session that is not ours, and the pid of somebody who sleeps in it."""

    session: int
    sleeper: int


@contextmanager
def stranger(*, is_orphan: bool) -> Iterator[Stranger]:
    script = "sleep 600 & echo $!" if is_orphan else "echo $$; exec sleep 600"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as shell:
        assert shell.stdout is not None
        sleeper = int(shell.stdout.readline())
        if is_orphan:
            shell.wait()
        try:
            yield Stranger(shell.pid, sleeper)
        finally:
            psutil.Process(sleeper).kill()
