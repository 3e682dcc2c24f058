"""A session that is taken up again after the daemon's end: it, or none, and nothing twice."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from devplane.control import requests as r
from devplane.errors import Refused
from devplane.store.queries import Reader
from tests.daemon.agents import ask_of, scripted, until
from tests.daemon.harness import Caller, Started, daemon, environment, life
from tests.daemon.judged import judged_by, put_clock_ahead
from tests.scripted import log

GONE_ON = "Go on from where you stopped"


def called(heard: Path, method: str) -> list[dict[str, Any]]:
    """The params of every call of `method` that an agent heard."""
    return [each["params"] for each in log.messages(heard) if each.get("method") == method]


def prompts(heard: Path) -> list[str]:
    return [each["prompt"][0]["text"] for each in called(heard, "session/prompt")]


async def cut_off(caller: Caller, agent: str = "demo", prompt: str = "hold", **environ: str) -> str:
    """Dispatch something that asks, and return the run once it waits: its turn is about to be cut off."""
    run = await caller.dispatch(agent, prompt, **environ)
    await ask_of(run)
    return run.id


async def over(run: Started) -> None:
    """Wait until the run is no longer in play."""
    await run.until_gone()


# ---- it goes on


async def test_a_killed_turn_goes_on_in_the_same_session_and_nothing_is_said_twice(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await caller.dispatch("demo", "quick once")
        await first.until_settled(first.turn)
        said, session, spent = first.said(), first.row()["session"], first.row()["spending"][0]["spent"]
        await first.say("run: touch made")
        await ask_of(first)
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id)
        opened = await run.until_fact("SessionOpened", how="resume")
        assert opened["fact"]["session"] == session
        await caller.ask(r.Decide(await ask_of(run, 1), "allow"))
        await run.until_settled(run.turn)
        assert (caller.folder / "made").exists()
        assert run.said().count(said) == 1
        assert GONE_ON in run.said("user", run.turn)
        row = run.row()
        assert (row["resumes"], row["turns"], row["ending"]) == (1, 2, "")
        assert row["spending"][0]["spent"] > spent
        (counted,) = row["spending"]
        assert counted["spent"] == counted["last_total"], "the demo counts on over processes: nothing twice"


async def test_nothing_is_resumed_by_itself(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        run = await cut_off(caller)
    async with daemon(tmp_path) as caller:
        assert (await caller.ask(r.Status()))["runs"] == []
        with Reader.open(caller.home.database) as reader:
            assert [row["id"] for row in reader.runs(all=True) if row["state"] == "interrupted"] == [run]


async def test_a_turn_that_was_not_cut_off_leaves_nothing_to_say(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await caller.dispatch("demo", "quick once")
        await first.until_settled(first.turn)
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id)
        await run.until_fact("SessionOpened", how="resume")
        assert run.turn == ""
        assert run.row()["queue"] == []
        turn = await run.say("quick twice")
        await run.until_settled(turn)


async def test_a_stopped_run_can_be_taken_up_too(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        first = await caller.dispatch("demo", "quick once")
        await first.until_settled(first.turn)
        assert await first.stop() == "stopped"
        run = await caller.resume(first.id)
        await run.until_fact("SessionOpened", how="resume")
        assert run.row()["turns"] == 1


async def test_a_prompt_that_the_agent_may_not_have_had_is_said_again(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        quiet = await caller.dispatch("demo", "sleep 600")
        heard = await caller.dispatch("demo", "slow")
        await quiet.until_fact("TurnStarted")
        await heard.until(lambda f: f["kind"] == "text" and f["role"] == "agent")
        await until(lambda: heard.said() != "")
    async with daemon(tmp_path) as caller:
        for run, is_said in ((quiet, True), (heard, False)):
            again = await caller.resume(run.id)
            await again.until_fact("TurnStarted", turn=again.turn)
            assert ("sleep 600" in again.said("user", again.turn)) == is_said


async def test_prompts_that_waited_are_sent_after_what_was_cut_off(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await caller.dispatch("demo", "run: true")
        await ask_of(first)
        waiting = await first.say("quick words that waited")
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id)
        await caller.ask(r.Decide(await ask_of(run, 1), "allow"))
        await run.until_settled(waiting)
        started = [each["turn"] for each in run.events("TurnStarted")]
        assert started == [first.turn, run.turn, waiting]
        assert "quick words that waited" in run.said("user", waiting)


# ---- answers that came meanwhile


async def test_an_answer_to_an_open_request_is_told_first_and_holds_for_the_same_call(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await caller.dispatch("demo", "run: touch made")
        ask = await ask_of(first)
    async with daemon(tmp_path) as caller:
        said = await caller.ask(r.Decide(ask, "allow"))
        assert (said["outcome"], said["waits"]) == ("allow", True)
        assert not (caller.folder / "made").exists()
        with pytest.raises(Refused, match="answered already by a person"):
            await caller.ask(r.Decide(ask, "deny"))
        run = await caller.resume(first.id)
        await run.until_settled(run.turn)
        told = run.said("user", run.turn)
        assert told.startswith("You had asked for permission: touch made. The answer is: yes, this once.")
        assert (caller.folder / "made").exists(), "the same call is not asked about again"
        second, earlier = run.decisions()
        assert (second["authority"], second["reason"]) == ("person", f"allowed with {ask}")
        assert (earlier["authority"], earlier["ask"]) == ("person", ask)


async def test_a_late_yes_holds_for_no_other_call_and_a_late_no_for_none(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        runs = {text: await caller.dispatch("demo", f"run: touch {text}") for text in ("one", "two")}
        asks = {text: await ask_of(run) for text, run in runs.items()}
    async with daemon(tmp_path) as caller:
        await caller.ask(r.Decide(asks["one"], "allow"))
        await caller.ask(r.Decide(asks["two"], "deny"))
        two = await caller.resume(runs["two"].id)
        assert await ask_of(two, 1) != asks["two"]
        assert "The answer is: no." in two.said("user", two.turn)
        one = await caller.resume(runs["one"].id)
        await one.until_settled(one.turn)
        await one.say("run: touch one")
        await ask_of(one, 2)


async def test_a_question_that_was_answered_meanwhile_is_told_with_its_answer(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await caller.dispatch("demo", "question")
        ask = await ask_of(first)
    async with daemon(tmp_path) as caller:
        await caller.ask(r.Reply(ask, "accept", {"name": "Ada", "tests": True}))
        run = await caller.resume(first.id)
        await run.until_fact("TurnStarted", turn=run.turn)
        assert "The answer is: name: Ada; tests: True." in run.said("user", run.turn)


async def test_what_nobody_answered_is_closed_when_the_session_is_back(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await cut_off(caller)
        with Reader.open(caller.home.database) as reader:
            (ask,) = [each["id"] for each in reader.asks("open", first)]
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first)
        await run.until_fact("AskWithdrawn", ask=ask)
        with Reader.open(caller.home.database) as reader:
            row = reader.ask(ask)
        assert row is not None
        assert row["state"] == "withdrawn"
        with pytest.raises(Refused, match="withdrawn already"):
            await caller.ask(r.Decide(ask, "allow"))


# ---- loads


@pytest.mark.parametrize("how", ["", "late"])
async def test_g12_a_replay_is_not_new_and_a_second_one_is_not_either(tmp_path: Path, how: str) -> None:
    agent = scripted("replay", *([how] if how else []))
    async with life(tmp_path) as caller:
        first = await caller.dispatch(agent)
        await first.until_settled(first.turn)
    for times in (2, 3):
        async with life(tmp_path) as caller:
            run = await caller.resume(first.id)
            await run.until_fact("SessionOpened", how="load")
            turn = await run.say("and again")
            await run.until_settled(turn)
            assert run.said() == "a live answer" * times
            row = run.row()
            assert (row["turns"], row["tool_calls"], row["tools"]) == (times, 0, [])
            assert row["asks"] == []
            assert "1 tool calls that were not made under Devplane" in str(run.events("Noted"))


@pytest.mark.parametrize("how", ["refusal", "error"])
async def test_g13_a_load_that_lies_is_found_out_and_the_dead_id_is_not_used_again(
    tmp_path: Path, how: str
) -> None:
    heard = tmp_path / "heard"
    agent = scripted("load-lies", *(["error"] if how == "error" else []))
    async with life(tmp_path) as caller:
        first = await caller.dispatch(agent, SCRIPTED_LOG=str(heard))
        await first.until_settled(first.turn)
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, SCRIPTED_LOG=str(heard))
        await run.until_fact("SessionOpened", how="load")
        await run.say("still there?")
        await over(run)
        row = run.row()
        assert (row["ending"], row["session"] != "") == ("failed", True)
        assert "does not know it" in row["reason"]
        assert f"devplane dispatch --from {run.id}" in row["hint"]
        loads = len(called(heard, "session/load"))
        with pytest.raises(Refused, match="is lost"):
            await caller.resume(first.id)
        assert len(called(heard, "session/load")) == loads


async def test_a_resume_is_preferred_to_a_load(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with life(tmp_path) as caller:
        first = await caller.dispatch(scripted("replay", "resume"), SCRIPTED_LOG=str(heard))
        await first.until_settled(first.turn)
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, SCRIPTED_LOG=str(heard))
        await run.until_fact("SessionOpened", how="resume")
        assert called(heard, "session/load") == []


# ---- it, or none


async def test_an_agent_that_offers_neither_is_told_so_and_no_session_is_opened(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with life(tmp_path) as caller:
        first = await caller.dispatch(scripted("no-resume"), SCRIPTED_LOG=str(heard))
        await first.until_settled(first.turn)
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, SCRIPTED_LOG=str(heard))
        await over(run)
        row = run.row()
        assert row["ending"] == "interrupted", "it is as it was"
        assert "offers neither session/resume nor session/load" in row["reason"]
        assert len(called(heard, "session/new")) == 1


async def test_an_agent_that_answers_with_another_session_is_ended(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        first = await caller.dispatch(scripted("resume-other-id"))
        await first.until_settled(first.turn)
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id)
        await over(run)
        assert "with a session of another id" in run.row()["reason"]


async def test_a_resume_that_fails_loses_nothing_and_can_be_tried_again(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with life(tmp_path) as caller:
        first = await cut_off(caller, DEVPLANE_DEMO_STATE=str(state))
        with Reader.open(caller.home.database) as reader:
            asks = [each["id"] for each in reader.asks("open", first)]
    state.rename(tmp_path / "elsewhere")
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first, DEVPLANE_DEMO_STATE=str(state))
        await over(run)
        row = run.row()
        assert row["ending"] == "interrupted"
        assert row["reason"].startswith("could not be resumed: Demo agent could not continue")
        assert [each["id"] for each in run.asks()] == asks
        (tmp_path / "elsewhere").rename(state)
        again = await caller.resume(first, DEVPLANE_DEMO_STATE=str(state))
        await again.until_fact("SessionOpened", how="resume")
        await again.until_fact("TurnStarted", turn=again.turn)


async def test_each_condition_that_fails_has_its_own_sentence(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        live = await caller.dispatch("demo", "quick")
        await live.until_settled(live.turn)
        with pytest.raises(Refused, match=f"{live.id} is idle: its session is held here already"):
            await caller.resume(live.id)
        await live.stop()
        failed = await caller.dispatch("/bin/false", "hopeless")
        await over(failed)
        with pytest.raises(Refused, match="recorded no session"):
            await caller.resume(failed.id)
        await caller.ask(r.Trust(str(caller.folder), trusted=False))
        with pytest.raises(Refused, match="is not trusted"):
            await caller.resume(live.id)
        await caller.ask(r.Trust(str(caller.folder)))
        shutil.move(caller.folder, tmp_path / "moved")
        with pytest.raises(Refused, match=f"the directory of {live.id} is gone"):
            await caller.resume(live.id)
        shutil.move(tmp_path / "moved", caller.folder)
        run = await caller.resume(live.id)
        await run.until_fact("SessionOpened", how="resume")


async def test_two_at_once_take_a_session_up_once(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        first = await caller.dispatch("demo", "quick")
        await first.until_settled(first.turn)
        await first.stop()
        both = [r.Resume(first.id, environ=environment()) for _ in range(2)]
        outcomes = await caller.ask_at_once(*both)
        assert sorted(isinstance(each, Refused) for each in outcomes) == [False, True]


async def test_a_session_that_is_open_in_a_terminal_is_not_taken_up(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        first = await caller.dispatch("demo", "quick")
        await first.until_settled(first.turn)
        await first.stop()
        program = a_program()
        try:
            await caller.ask(r.HandOver(first.id, "claude", program.pid))
            with pytest.raises(Refused, match=rf"is open in claude \(pid {program.pid}\)"):
                await caller.resume(first.id)
        finally:
            program.communicate(b"\n")
        run = await caller.resume(first.id)
        await run.until_fact("SessionOpened", how="resume")
        assert run.row()["holder"] is None


async def test_an_agent_that_is_no_longer_known_is_started_by_the_command_on_record(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    table = f'[agents.mine]\ncommand = "{sys.executable} -P -m devplane.demo"\n'
    (home / "agents.toml").write_text(table)
    async with life(tmp_path) as caller:
        first = await caller.dispatch("mine", "quick")
        await first.until_settled(first.turn)
    (home / "agents.toml").unlink()
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id)
        await run.until_fact("SessionOpened", how="resume")
        assert run.row()["agent"] == "mine"


# ---- mode and options


def a_program() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def modes_agent(tmp_path: Path) -> str:
    return scripted("modes", tmp_path / "shelf")


async def test_g15_the_mode_is_set_again_and_shown_when_it_holds(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        asked = r.Dispatch("demo", str(caller.folder), "quick", mode="plan", environ=environment())
        first = Started(caller, await caller.ask(asked))
        await caller.follow(first)
        await first.until_fact("TurnEnded")
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, is_same_rights=True)
        await run.until_fact("SessionOpened", how="resume")
        assert run.row()["mode"] == "plan"


async def test_g15_a_mode_that_widens_is_not_set_again_without_a_word(tmp_path: Path) -> None:
    async with life(tmp_path) as caller:
        asked = r.Dispatch("demo", str(caller.folder), "quick", mode="auto", environ=environment())
        first = Started(caller, await caller.ask(asked))
        await caller.follow(first)
        await first.until_fact("TurnEnded")
        assert first.row()["asks_first"] is False
    async with life(tmp_path) as caller:
        run = await caller.resume(first.id)
        await run.until_fact("SessionOpened", how="resume")
        assert (run.row()["mode"], run.row()["asks_first"]) == ("ask", True)
        assert "it was in mode auto, and is in Ask" in str(run.events("Noted"))
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, mode="auto")
        await run.until(
            lambda f: f["kind"] == "fact" and f["name"] == "Noted" and "auto" in f["fact"]["text"]
        )
        await until(lambda: run.row()["phase"] == "ready")
        assert (run.row()["mode"], run.row()["asks_first"]) == ("auto", False)


async def test_g15_where_nobody_knows_what_a_mode_allows_what_the_agent_reports_is_shown(
    tmp_path: Path,
) -> None:
    async with life(tmp_path) as caller:
        asked = r.Dispatch(
            modes_agent(tmp_path), str(caller.folder), "hi", mode="plan", environ=environment()
        )
        first = Started(caller, await caller.ask(asked))
        await caller.follow(first)
        await first.until_fact("TurnEnded")
        assert (first.row()["mode"], first.said()) == ("plan", "mode: plan")
    async with life(tmp_path) as caller:
        run = await caller.resume(first.id)
        await run.until_fact("SessionOpened", how="resume")
        turn = await run.say("which?")
        await run.until_settled(turn)
        assert (run.row()["mode"], run.said(turn=turn)) == ("default", "mode: default")
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, mode="plan")
        turn = await run.say("which?")
        await run.until_settled(turn)
        assert (run.row()["mode"], run.said(turn=turn)) == ("plan", "mode: plan")


def forget_model(state: Path) -> None:
    (file,) = state.iterdir()
    kept = [line for line in file.read_text().splitlines() if "demo-large" not in line]
    file.write_text("\n".join(kept) + "\n")


async def test_the_model_is_set_again(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    async with life(tmp_path) as caller:
        asked = r.Dispatch(
            "demo",
            str(caller.folder),
            "quick",
            model="demo-large",
            environ={**environment(), "DEVPLANE_DEMO_STATE": state},
        )
        first = Started(caller, await caller.ask(asked))
        await caller.follow(first)
        await first.until_fact("TurnEnded")
    # The agent forgets what it was in: its own file of the session says no more than where it began.
    forget_model(Path(state))
    async with daemon(tmp_path) as caller:
        run = await caller.resume(first.id, DEVPLANE_DEMO_STATE=state)
        await run.until_fact("SessionOpened", how="resume")
        assert ["model", "model", "demo-large"] in run.row()["options"]


# ---- an agent whose load destroys


async def test_a_load_waits_for_the_next_minute_where_it_would_destroy_the_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    command = scripted("replay").replace("\\", "\\\\").replace('"', '\\"')
    (home / "agents.toml").write_text(f'[agents.gemini]\ncommand = "{command}"\n')
    heard = tmp_path / "heard"
    to_the_next_minute_ms = 60_000 - time.time_ns() // 1_000_000 % 60_000
    put_clock_ahead(tmp_path, to_the_next_minute_ms)
    async with life(tmp_path, command=judged_by(tmp_path)) as caller:
        first = await caller.dispatch("gemini", SCRIPTED_LOG=str(heard))
        await first.until_settled(first.turn)
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        run = await caller.resume(first.id, SCRIPTED_LOG=str(heard))
        waits = await run.until(
            lambda f: (
                f["kind"] == "fact" and f["name"] == "Noted" and "destroys a session" in f["fact"]["text"]
            )
        )
        assert waits["fact"]["level"] == "info"
        assert called(heard, "session/load") == []
        put_clock_ahead(tmp_path, to_the_next_minute_ms + 60_000)
        await run.until_fact("SessionOpened", how="load")
        assert "sessionRetention" in str(run.events("Noted"))
