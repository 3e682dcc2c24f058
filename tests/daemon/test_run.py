"""A run from dispatch to stop, with the demo agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from devplane.control import requests as r
from devplane.errors import NotFound, Refused, UsageError
from tests.daemon.harness import daemon


async def test_a_dispatch_is_answered_streamed_recorded_and_stopped(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "quick")
        await run.until_settled(run.turn)
        assert run.said() != ""
        assert run.said() == run.text()
        assert run.said("user") == "quick"
        row = run.row()
        assert (row["phase"], row["turns"], row["last_stop_reason"]) == ("ready", 1, "end_turn")
        assert row["asks_first"] is True
        assert await run.stop() == "stopped"
        assert run.row()["reason"] == "stopped by person"


async def test_a_second_turn_is_the_same_conversation(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "quick")
        await run.until_settled(run.turn)
        turn = await run.say("remember")
        await run.until_settled(turn)
        assert "quick" in run.said(turn=turn)


async def test_an_allowed_request_runs_and_a_denied_one_does_not(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for decision, is_there in (("allow", True), ("deny", False)):
            run = await caller.dispatch("demo", f"run: touch {decision}.txt")
            asked = await run.until_fact("PermissionAsked")
            assert run.asks()[0]["payload"]["subject"] == f"touch {decision}.txt"
            await caller.ask(r.Decide(asked["fact"]["ask"], decision))
            await run.until_settled(run.turn)
            assert (caller.folder / f"{decision}.txt").exists() is is_there
            assert [each["verdict"] for each in run.decisions()] == [decision]
            assert run.asks() == []


async def test_the_first_answer_wins_and_the_second_is_told(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "run: true")
        ask = (await run.until_fact("PermissionAsked"))["fact"]["ask"]
        await caller.ask(r.Decide(run.id, "deny"))
        with pytest.raises(Refused, match=f"{ask} was answered already by a person, .* ago: deny"):
            await caller.ask(r.Decide(ask, "allow"))


async def test_nothing_said_is_no_answer(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "run: true")
        ask = (await run.until_fact("PermissionAsked"))["fact"]["ask"]
        with pytest.raises(UsageError, match="--decision"):
            await caller.ask(r.Decide(ask))
        with pytest.raises(UsageError, match="not both"):
            await caller.ask(r.Decide(ask, "allow", "allow"))
        assert len(run.asks()) == 1


async def test_no_agent_starts_where_nobody_trusts(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with daemon(tmp_path) as caller:
        with pytest.raises(Refused, match="is not trusted") as refused:
            await caller.dispatch("demo", cwd=other)
        assert f"devplane trust {other}" in (refused.value.hint or "")
        with pytest.raises(NotFound, match="unknown agent"):
            await caller.dispatch("claud")


async def test_a_repository_may_decline_to_have_its_transcript_kept(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        (caller.folder / "devplane.toml").write_text("[transcripts]\nkeep = false\n")
        run = await caller.dispatch("demo", "quick secret-word")
        await run.until_settled(run.turn)
        assert run.text() != ""
        assert run.said() == run.said("user") == ""
        await run.stop()
        assert b"secret-word" not in caller.home.database.read_bytes()
