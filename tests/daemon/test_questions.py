"""Questions with a form (elicitation), from the agent's asking to what it hears (G-51)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devplane.control import requests as r
from devplane.errors import Refused, UsageError
from tests.daemon.agents import answers, heard_answers, noted, scripted
from tests.daemon.harness import Caller, Started, daemon


async def asked(caller: Caller, heard: Path, *arguments: str) -> tuple[Started, str]:
    """Dispatch the agent with the form, and return its run and ask once the question is stored."""
    run = await caller.dispatch(scripted("form", *arguments), SCRIPTED_LOG=str(heard))
    frame = await run.until_fact("QuestionAsked")
    return run, frame["fact"]["ask"]


async def test_g51_an_accepted_form_reaches_the_agent_in_the_types_that_it_wants(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run, ask = await asked(caller, heard)
        typed = {"name": "Ada", "count": "3.5", "colour": "green", "sure": "yes"}
        await caller.ask(r.Reply(ask, "accept", typed))
        content = {"name": "Ada", "count": 3.5, "colour": "green", "sure": True}
        assert await noted(heard, "action") == [{"action": "accept", "content": content}]
        await run.until_fact("TurnEnded")
        assert [(each["verdict"], each["authority"]) for each in run.decisions()] == [("accept", "person")]
        assert run.asks() == []


async def test_g51_what_does_not_fit_is_refused_and_the_question_stays(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run, ask = await asked(caller, heard)
        wrong: tuple[dict[str, Any], ...] = ({}, {"name": 5}, {"name": "Ada", "count": "many"})
        for content in wrong:
            with pytest.raises(UsageError):
                await caller.ask(r.Reply(ask, "accept", content))
        assert [each["id"] for each in run.asks()] == [ask]
        assert run.decisions() == []
        assert heard_answers(heard) == []
        await caller.ask(r.Reply(ask, "accept", {"name": "Ada"}))
        assert (await noted(heard, "action"))[0]["content"] == {"name": "Ada"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_g51_a_no_reaches_the_agent_as_such(tmp_path: Path, action: str) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run, ask = await asked(caller, heard)
        await caller.ask(r.Reply(ask, action))
        assert await noted(heard, "action") == [{"action": action, "content": {}}]
        assert (await answers(heard, 1))[0]["result"] == {"action": action}
        await run.until_fact("TurnEnded")
        assert run.asks() == []
        with pytest.raises(Refused, match="answered already"):
            await caller.ask(r.Reply(ask, "accept", {"name": "Ada"}))


async def test_a_question_is_not_answered_like_a_permission_request(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run, ask = await asked(caller, tmp_path / "heard")
        with pytest.raises(UsageError, match="is a question"):
            await caller.ask(r.Decide(ask, "allow"))
        with pytest.raises(UsageError, match="accept, decline or cancel"):
            await caller.ask(r.Reply(ask, "perhaps"))
        assert [each["id"] for each in run.asks()] == [ask]


async def test_g51_a_stop_with_the_form_open_is_a_cancel_for_the_agent(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run, _ = await asked(caller, heard)
        assert await run.stop() == "stopped"
        assert [each["result"] for each in heard_answers(heard)] == [{"action": "cancel"}]
        assert [each["state"] for each in run.asks(None)] == ["answered"]
        assert [(each["verdict"], each["authority"]) for each in run.decisions()] == [
            ("cancelled", "stopped")
        ]


async def test_g51_a_turn_that_ends_with_the_form_open_cancels_it(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("form", "end"), SCRIPTED_LOG=str(heard))
        assert (await answers(heard, 1))[0]["result"] == {"action": "cancel"}
        await run.until_fact("TurnEnded")
        assert run.asks() == []
        assert [(each["verdict"], each["authority"]) for each in run.decisions()] == [("cancelled", "nobody")]
        assert run.row()["last_stop_reason"] == "end_turn"
