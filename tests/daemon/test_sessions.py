"""What an agent says of its session, and of sessions that are none of the run's."""

from __future__ import annotations

from pathlib import Path

from devplane.control import requests as r
from devplane.store.queries import Reader
from tests.daemon.agents import scripted
from tests.daemon.harness import Started, daemon

OUTSIDE_DELAY_S = 1.2
"""Well after the moment in which late text still belongs to a turn."""


def fragments(run: Started) -> list[tuple[str | None, str]]:
    """What the agent said, as (turn, text)."""
    with Reader.open(run.caller.home.database) as reader:
        return [
            (each["turn"], each["text"])
            for each in reader.transcript(run.id)
            if each["type"] == "fragment" and each["role"] == "agent"
        ]


async def test_g14_what_comes_outside_a_turn_is_recorded_and_is_no_answer(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        early = await caller.dispatch(scripted("outside-turns", "early"))
        run = await caller.dispatch(scripted("outside-turns", OUTSIDE_DELAY_S))
        for each in (early, run):
            await each.until_settled(each.turn)
        assert early.row()["commands"] == ["review"]
        assert early.row()["mode"] == "default", "what the answer to session/new says is newer"
        assert fragments(early) == [(None, "background job finished"), (early.turn, "answer 1")]
        await run.until(lambda f: f["kind"] == "text" and "later" in f["text"])
        second = await run.say("and?")
        await run.until_settled(second)
        assert (None, "later background job finished") in fragments(run)
        assert "later" not in run.said(turn=run.turn) + run.said(turn=second)
        assert run.said(turn=second) == "answer 2"
        assert run.row()["commands"] == ["review"]
        assert run.row()["mode"] == "plan", "what comes after the answer is newer"


async def test_g16_what_is_said_for_another_session_does_not_appear(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("ghost"))
        await run.until_settled(run.turn)
        assert run.said() == "one two three"
        assert "boo" not in run.text()
        assert run.events("PlanChanged") == []
        warned = [line for line in caller.home.log.read_text().splitlines() if "'ghost'" in line]
        assert len(warned) == 1
        assert run.id in warned[0]


async def test_g16_a_cancel_ends_the_turn_of_its_own_run_alone(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with daemon(tmp_path) as caller:
        first = await caller.dispatch(scripted("rejects-second", gate), "first")
        second = await caller.dispatch(scripted("rejects-second", gate), "second")
        for run in (first, second):
            await run.until(lambda f: f["kind"] == "text")
        await caller.ask(r.Cancel(first.id))
        await first.until_settled(first.turn)
        assert second.events("TurnEnded") == []
        gate.touch()
        await second.until_settled(second.turn)
        assert [run.row()["last_stop_reason"] for run in (first, second)] == ["cancelled", "end_turn"]
        assert [run.said() for run in (first, second)] == ["heard: first", "heard: second"]


async def test_a_wanted_mode_is_set_before_the_first_prompt(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for mode in ("plan", "yolo"):
            answer = await caller.ask(r.Dispatch(scripted("modes"), str(caller.folder), "hello", mode=mode))
            run = Started(caller, answer)
            await caller.follow(run)
            await run.until_fact("TurnEnded")
            await run.stop()
            assert run.said() == f"mode: {mode}"
            assert run.row()["mode"] == mode


async def test_a_mode_that_is_refused_is_not_shown_as_set(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        agent = scripted("modes", tmp_path / "shelf", "refuse")
        run = Started(caller, await caller.ask(r.Dispatch(agent, str(caller.folder), "hello", mode="plan")))
        await caller.follow(run)
        assert (await run.until_gone())["state"] == "failed"
        row = run.row()
        assert "refused mode 'plan': This mode cannot be set here" in row["reason"]
        assert row["hint"] == "Its modes: default, plan, yolo."
        assert row["mode"] == "default"
        assert run.said() == ""
