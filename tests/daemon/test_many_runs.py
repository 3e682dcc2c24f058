"""Thirty runs at once on one daemon."""

from __future__ import annotations

from pathlib import Path

import anyio

from devplane.control import requests as r
from devplane.store.queries import Reader
from tests.daemon.agents import members_of, until
from tests.daemon.harness import Caller, Started, daemon

RUNS = 30
CHUNKS = 200


async def test_thirty_runs_at_once_all_end_right_and_keep_their_words_apart(tmp_path: Path) -> None:
    """A third of them say one thing, a third stream, a third ask and are answered."""
    async with daemon(tmp_path) as person:
        listed: list[int] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(list_all_the_while, person, listed)
            async with anyio.create_task_group() as playing:
                for number in range(RUNS):
                    playing.start_soon((speaks, streams, asks)[number % 3], person, number)
            tasks.cancel_scope.cancel()
        assert max(listed) == RUNS
        with Reader.open(person.home.database) as reader:
            rows = reader.runs(all=True)
            assert len(rows) == RUNS
            assert {row["state"] for row in rows} == {"stopped"}
            assert {row["snapshot"]["turns"] for row in rows} == {1}
            assert reader.asks("open") == []
            assert reader.check()["problems"] == []
        assert members_of(person.home.root) == []


async def list_all_the_while(person: Caller, listed: list[int]) -> None:
    """List the runs over and over, as a person does who looks on, until cancelled."""
    while True:
        with Reader.open(person.home.database) as reader:
            listed.append(len(reader.runs(all=True)))
        await anyio.sleep(0.01)


async def speaks(person: Caller, number: int) -> None:
    run = await person.dispatch("demo", f"quick {number}")
    await ends(run)
    assert run.said() == "This is turn 1, and that is all I have to say."
    assert run.said("user") == f"quick {number}"


async def streams(person: Caller, number: int) -> None:
    count = CHUNKS + number
    run = await person.dispatch("demo", f"many {count}")
    await ends(run)
    wanted = [f"chunk {n:12}" for n in range(count)] + [f"That was {count} chunks."]
    assert run.said().splitlines() == wanted


async def asks(person: Caller, number: int) -> None:
    run = await person.dispatch("demo", f"run: echo {number} > {number}.txt; echo done {number}")
    asked = await run.until(lambda f: f["kind"] == "fact" and f["name"] == "PermissionAsked")
    await person.ask(r.Decide(asked["fact"]["ask"], "allow"))
    await ends(run)
    assert (person.folder / f"{number}.txt").read_text() == f"{number}\n"
    assert run.said() == "It ran."
    assert [each["verdict"] for each in run.decisions()] == ["allow"]
    outputs = [each["content"] for each in run.events("ToolChanged") if each["status"] == "completed"]
    assert [each.strip() for each in outputs] == [f"done {number}"]


async def ends(run: Started) -> None:
    """Wait for the turn's end, then stop the run: everything that it said is stored by then."""
    await until(lambda: run.row()["last_stop_reason"] == "end_turn")
    assert await run.stop() == "stopped"
