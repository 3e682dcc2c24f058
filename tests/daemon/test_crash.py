"""A daemon that is killed in the middle of everything: what the store holds then, and after the next start.

Two runs of the demo and one of an agent that notes each line with the time at which it had
written it; a person answers whatever is asked. At a random moment comes SIGKILL.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from devplane.control import requests as r
from devplane.core import events as e
from devplane.core.run import Run, fold
from devplane.errors import DevplaneError
from devplane.paths import Home
from devplane.store.facts import decode_fact, plain
from devplane.store.queries import Reader
from tests.daemon.agents import heard_answers, members_of, notes, scripted
from tests.daemon.harness import (
    Caller,
    Started,
    caller,
    end_daemon,
    environment,
    kill_daemon,
    start_daemon,
)

LOST_AT_MOST_NS = 250_000_000
"""Prose younger than this may be lost in a crash (invariant 6)."""
HICCUP_NS = 25_000_000
"""A tick that is late by more was held up by the machine, as the daemon may have been."""
LONGEST_LIFE_S = 1.2

MOMENTS = [*range(5), *(pytest.param(each, marks=pytest.mark.slow) for each in range(5, 50))]


@dataclass
class Scene:
    """What was going on when the daemon died."""

    home: Home
    folder: Path
    heard: Path
    ticking: str
    killed_ns: int


@pytest.mark.parametrize("seed", MOMENTS)
async def test_a_killed_daemon_loses_nothing_and_its_store_is_whole(tmp_path: Path, seed: int) -> None:
    home, folder, heard = Home(tmp_path / "home"), tmp_path / "project", tmp_path / "heard"
    folder.mkdir()
    life_s = random.Random(seed).uniform(0, LONGEST_LIFE_S)
    process = start_daemon(home)
    try:
        async with caller(home, folder) as person, anyio.create_task_group() as tasks:
            ticking = await begin(person, heard)
            tasks.start_soon(answer_everything, home, folder)
            await anyio.sleep(life_s)
            killed_ns = time.monotonic_ns()
            process.kill()
            tasks.cancel_scope.cancel()
    finally:
        kill_daemon(process)
    scene = Scene(home, folder, heard, ticking.id, killed_ns)

    check_store(scene)
    check_decisions(scene)
    check_prose(scene)
    await check_next_start(scene)


async def begin(person: Caller, heard: Path) -> Started:
    """Start all runs and wait until the one that ticks does."""
    await person.ask(r.Trust(str(person.folder)))
    await quick_dispatch(person, "demo", "many 3000")
    await quick_dispatch(person, "demo", "permissions 40")
    ticking = await person.dispatch(scripted("ticker"), SCRIPTED_LOG=str(heard))
    await ticking.until(lambda f: f["kind"] == "text" and f["role"] == "agent")
    return ticking


async def quick_dispatch(person: Caller, agent: str, prompt: str) -> str:
    answer = await person.ask(r.Dispatch(agent, str(person.folder), prompt, environ=environment()))
    return str(answer["run"])


async def answer_everything(home: Home, folder: Path) -> None:
    """Be the person: allow what is asked, prompt who is idle, until the daemon is gone."""
    with suppress(DevplaneError, BaseExceptionGroup):
        async with caller(home, folder) as person:
            while True:
                with Reader.open(home.database) as reader:
                    asks = [each["id"] for each in reader.asks("open")]
                    idle = [each["id"] for each in reader.runs() if each["state"] == "idle"]
                for ask in asks:
                    await person.ask(r.Decide(ask, "allow"))
                for run in idle:
                    await person.ask(r.Say(run, "many 3000"))
                await anyio.sleep(0.005)


def events_of(reader: Reader, run: str, last_pos: int | None = None) -> list[e.Event]:
    return [
        e.Event(run, each["pos"], each["at_ms"], decode_fact(each["kind"], each["payload"]))
        for each in reader.events(run)
        if last_pos is None or each["pos"] <= last_pos
    ]


def check_store(scene: Scene) -> None:
    """It opens, is sound, and each snapshot is what the facts up to it add up to."""
    with Reader.open(scene.home.database) as reader:
        assert reader.check()["problems"] == []
        rows = reader.runs(all=True)
        assert len(rows) == 3
        for row in rows:
            found = fold(events_of(reader, row["id"], row["snapshot"]["pos"]))
            assert isinstance(found, Run)
            assert plain(found) == row["snapshot"]
            assert fold(events_of(reader, row["id"])) is not None, "what comes after it can follow"


def check_decisions(scene: Scene) -> None:
    """No yes without its row: neither in the facts, nor in what the agent heard."""
    with Reader.open(scene.home.database) as reader:
        decisions = {each["ask"]: each for each in reader.decisions()}
        for row in reader.runs(all=True):
            for event in events_of(reader, row["id"]):
                match event.fact:
                    case e.AskAnswered(ask=ask, outcome=outcome):
                        assert (decisions[ask]["verdict"], decisions[ask]["run"]) == (outcome, row["id"])
        of_ticking = [each for each in decisions.values() if each["run"] == scene.ticking]
    allowed = {each["subject"] for each in of_ticking if each["verdict"] == "allow"}
    subjects = {note["asking"]: note["subject"] for note in notes(scene.heard, "asking")}
    for answer in heard_answers(scene.heard):
        if answer.get("result", {}).get("outcome", {}).get("optionId") == "allow":
            assert subjects[answer["id"]] in allowed


def check_prose(scene: Scene) -> None:
    """Every tick is stored that was written long enough before the kill; none twice or out of order."""
    ticks = [(each["tick"], each["at_ns"]) for each in notes(scene.heard, "tick")]
    with Reader.open(scene.home.database) as reader:
        said = "".join(
            each["text"]
            for each in reader.transcript(scene.ticking)
            if each["type"] == "fragment" and each["role"] == "agent"
        )
    stored = [int(each) for each in said.removeprefix("<").removesuffix(">").split("><")] if said else []
    assert stored == list(range(1, len(stored) + 1))
    due_ns = scene.killed_ns - LOST_AT_MOST_NS - held_up_ns([at_ns for _, at_ns in ticks], scene.killed_ns)
    due = [number for number, at_ns in ticks if at_ns < due_ns]
    assert len(stored) >= len(due)


def held_up_ns(at_ns: list[int], killed_ns: int) -> int:
    """How long the machine kept everybody from working in the last second, as the ticks tell."""
    last = [each for each in at_ns if killed_ns - 1_000_000_000 < each <= killed_ns] + [killed_ns]
    gaps = [after - before for before, after in pairwise(last)]
    # What is held up together is worked off together, so the daemon may be behind by more than the agent.
    return 4 * sum(gap for gap in gaps if gap > HICCUP_NS)


async def check_next_start(scene: Scene) -> None:
    """The next daemon ends what is left and closes every record; snapshots are the fold of their facts."""
    with Reader.open(scene.home.database) as reader:
        was_live = {row["id"] for row in reader.runs()}
    process = start_daemon(scene.home)
    try:
        assert members_of(scene.home.root) == []
        async with caller(scene.home, scene.folder) as person:
            said = (await person.ask(r.Status()))["notes"]
            assert all(any(run in note for note in said) for run in was_live)
    finally:
        end_daemon(process)
    with Reader.open(scene.home.database) as reader:
        assert reader.runs() == []
        for row in reader.runs(all=True):
            assert row["state"] == "interrupted"
            found = fold(events_of(reader, row["id"]))
            assert isinstance(found, Run)
            assert plain(found) == row["snapshot"]
            assert {each["id"] for each in reader.asks("open", row["id"])} == {each.id for each in found.asks}
        assert reader.check()["open_fragments"] == 0
