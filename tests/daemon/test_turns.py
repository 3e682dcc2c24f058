"""Turns that end late, oddly or not at all, and prompts that wait for them."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import anyio
import pytest

from devplane.control import client
from devplane.control import requests as r
from devplane.paths import Home
from devplane.store.queries import Reader
from tests.daemon.agents import members_of, scripted
from tests.daemon.harness import Caller, Started, caller, daemon, end_daemon, start_daemon
from tests.scripted import log

QUICK_CANCEL = """
import os, sys
from devplane.daemon import main
from devplane.daemon.limits import Limits
from devplane.paths import Home

main.from_environment = lambda environ: Limits(cancel_s=0.3)
main.serve(Home.find(os.environ), ready_fd=int(sys.argv[2]))
"""
IMPATIENT = (sys.executable, "-c", QUICK_CANCEL)
"""A daemon that waits less for the end of a cancelled turn."""


def prompts(heard: Path) -> list[str]:
    """The texts of the prompts that an agent was sent, in order."""
    return [each["params"]["prompt"][0]["text"] for each in log.messages(heard, "session/prompt")]


def queued(home: Home, run: str) -> list[str]:
    with Reader.open(home.database) as reader:
        return [each["text"] for each in reader.queued(run)]


# ---- late text


async def test_g17_text_after_the_end_still_belongs_to_the_answer(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        runs = [await caller.dispatch(scripted("tail", delay)) for delay in ("0", "0.05", "0.3")]
        for run in runs:
            await run.until_settled(run.turn)
            await run.until_fact("ToolChanged", status="completed")
            assert run.said(turn=run.turn) == "The answer is 42."
            assert run.events("TurnEnded")[0]["stop_reason"] == "end_turn"
            await run.stop()
            assert [each["status"] for each in run.row()["tools"]] == ["completed"]


# ---- an agent that leaves


ENDINGS = {
    "0": "exit status 0",
    "1": "exit status 1",
    "kill": "killed by SIGKILL",
    "stdout": "it closed its output but did not exit",
}


async def test_g18_an_agent_that_leaves_in_mid_turn_fails_the_run_with_its_last_words(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path) as caller:
        runs = {how: await caller.dispatch(scripted("exit-mid-turn", how)) for how in ENDINGS}
        for how, run in runs.items():
            assert (await run.until_gone())["state"] == "failed"
            row = run.row()
            ended = f"the agent ended in mid-turn: {ENDINGS[how]}"
            assert row["reason"] == f"{ended}; its last words: agent: something broke"
            assert (row["turn"], row["pid"], row["asks"]) == (None, None, [])
            assert [each["status"] for each in row["tools"]] == ["unfinished"]
            assert run.said() == "I was about to say"
            assert run.asks() == []
            assert {each["state"] for each in run.asks(None)} <= {"withdrawn"}
        assert members_of(caller.home.root) == []
        after = await caller.dispatch(scripted("echo"), "next")
        await after.until_settled(after.turn)
        assert after.said() == "next"


# ---- cancel


async def test_a_cancel_that_is_acknowledged_keeps_the_session(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("slow-cancel"), SCRIPTED_LOG=str(heard))
        await run.until(lambda f: f["kind"] == "text")
        for _ in range(2):
            await caller.ask(r.Cancel(run.id))
        await run.until_settled(run.turn)
        assert run.said() == "working one more"
        assert (run.row()["last_stop_reason"], run.row()["phase"]) == ("cancelled", "ready")
        assert len(log.messages(heard, "session/cancel")) == 1
        assert await caller.ask(r.Cancel(run.id)) == {"run": run.id, "cancelled": False}


async def test_g19_a_cancel_that_is_never_acknowledged_does_not_block_the_next_prompt(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path, command=IMPATIENT) as caller:
        for how in ((), ("late",)):
            run = await caller.dispatch(scripted("ignores-cancel", *how))
            await run.until(lambda f: f["kind"] == "text")
            await caller.ask(r.Cancel(run.id))
            await run.until_fact("TurnFailed", turn=run.turn, cancelled=True)
            assert run.row()["last_stop_reason"] == "cancelled"
            assert run.row()["last_error"] == "the agent did not acknowledge the cancel"
            second = await run.say("again")
            await run.until_settled(second)
            assert run.said(turn=second) == "This is the second answer."
            ended = [(each["turn"], each["stop_reason"]) for each in run.events("TurnEnded")]
            assert ended == [(second, "end_turn")], "a late answer to the first is not one to the second"
            assert (run.row()["turns"], run.row()["turn"]) == (2, None)


async def test_say_now_cancels_first_and_then_sends(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("rejects-second"), "wait", SCRIPTED_LOG=str(heard))
        await run.until(lambda f: f["kind"] == "text")
        second = await run.say("instead", now=True)
        await run.until_settled(second)
        methods = [each["method"] for each in log.messages(heard)]
        assert methods[-3:] == ["session/prompt", "session/cancel", "session/prompt"]
        assert run.said(turn=second) == "heard: instead"
        assert [each["stop_reason"] for each in run.events("TurnEnded")] == ["cancelled", "end_turn"]


# ---- prompts that wait


async def busy(caller: Caller, heard: Path, *arguments: object) -> Started:
    """A run whose first turn lasts."""
    agent = scripted("rejects-second", *arguments)
    run = await caller.dispatch(agent, "wait", SCRIPTED_LOG=str(heard))
    await run.until(lambda f: f["kind"] == "text")
    return run


async def test_g21_prompts_of_two_clients_reach_the_agent_one_after_the_other(tmp_path: Path) -> None:
    heard, gate = tmp_path / "heard", tmp_path / "gate"
    answers: dict[str, dict[str, object]] = {}
    async with daemon(tmp_path) as caller:
        run = await busy(caller, heard, gate)

        async def say(text: str) -> None:
            async with client.connect(caller.home, start=False) as connection:
                answers[text] = await connection.ask(r.Say(run.id, text))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, "one")
            tasks.start_soon(say, "two")
        assert [answer["queued"] for answer in answers.values()] == [True, True]
        assert prompts(heard) == ["wait"]
        order = [each["turn"] for each in run.events("PromptQueued")[1:]]
        waiting = queued(caller.home, run.id)
        assert sorted(waiting) == ["one", "two"]
        gate.touch()
        for turn in order:
            await run.until_settled(turn)
        assert prompts(heard) == ["wait", *waiting]
        assert [run.said(turn=turn) for turn in order] == [f"heard: {text}" for text in waiting]
        assert run.row()["errors"] == 0
        assert queued(caller.home, run.id) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["clean", "killed"])
async def test_g21_what_waits_to_be_sent_outlives_the_daemon(tmp_path: Path, how: signal.Signals) -> None:
    home, folder, heard = Home(tmp_path / "home"), tmp_path / "project", tmp_path / "heard"
    folder.mkdir()
    first = start_daemon(home)
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            run = await busy(person, heard)
            for text in ("one", "two"):
                await run.say(text)
            first.send_signal(how)
            await anyio.to_thread.run_sync(first.wait)
    finally:
        first.kill()
        first.communicate()
    assert queued(home, run.id) == ["one", "two"]
    second = start_daemon(home)
    try:
        assert queued(home, run.id) == ["one", "two"]
        assert (run.row()["phase"], run.row()["ending"]) == ("ended", "interrupted")
        assert len(run.row()["queue"]) == 2
        assert prompts(heard) == ["wait"]
        assert members_of(home.root) == []
    finally:
        end_daemon(second)


async def test_what_was_never_sent_is_forgotten_with_a_run_that_a_person_stops(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await busy(caller, tmp_path / "heard")
        await run.say("one")
        assert await run.stop() == "stopped"
        assert queued(caller.home, run.id) == []
        assert prompts(tmp_path / "heard") == ["wait"]


# ---- how turns end


REASONS = {
    '"refusal"': "refusal",
    '"max_tokens"': "max_tokens",
    '"max_turn_requests"': "max_turn_requests",
    '"banana"': "banana",
    '"a\\u001b[2Jb"': "a␛[2Jb",
    "null": "",
    "5": "",
    "missing": "",
}


async def test_g22_a_stop_reason_is_kept_as_it_was_given(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        runs = {given: await caller.dispatch(scripted("stop-reason", given)) for given in REASONS}
        failing = await caller.dispatch(scripted("error-as-text"))
        for given, run in runs.items():
            await run.until_settled(run.turn)
            assert run.events("TurnEnded")[0]["stop_reason"] == REASONS[given]
            row = run.row()
            assert (row["last_stop_reason"], row["phase"]) == (REASONS[given], "ready")
            assert run.said() == "All of it is done.\n\n@move done"
        await failing.until_settled(failing.turn)
        assert failing.said() == "Error: 429 Too Many Requests", "an end_turn is no success"
