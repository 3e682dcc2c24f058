"""Rules that answer for a person: what is recorded of them, and what is left to the person."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from devplane.control import requests as r
from devplane.errors import Refused
from devplane.store.queries import Reader
from tests.daemon.agents import ask_of, noted, scripted
from tests.daemon.harness import Caller, Started, daemon
from tests.daemon.judged import judged_by, rule

LIST = {"tool": "Bash", "subject": "ls", "verdict": "allow"}


def asks_for(command: str, **more: Any) -> str:
    """The agent that asks for one command."""
    call = {"title": command, "kind": "execute", "rawInput": {"command": command, **more}}
    return scripted("ask", json.dumps(call))


async def heard_from(caller: Caller, tmp_path: Path, command: str) -> tuple[Started, str | None]:
    """Have a command asked for; return the run, and what the agent was answered without a person."""
    heard = tmp_path / f"heard {command.replace('/', ' ')}"
    run = await caller.dispatch(asks_for(command), SCRIPTED_LOG=str(heard))
    chosen = (await noted(heard, "chosen"))[0]["chosen"]
    await run.until_fact("TurnEnded")
    return run, chosen


async def test_a_decision_names_its_rule_with_file_and_line(tmp_path: Path) -> None:
    never = {"tool": "Bash", "subject": "rm *", "verdict": "deny"}
    own = {"tool": "Bash", "subject": "cat *", "verdict": "deny", "builtin": True, "rule": ""}
    async with daemon(tmp_path, command=judged_by(tmp_path, never, LIST, own)) as caller:
        found = []
        for command in ("ls", "rm -rf build", "cat /home/me/.devplane/policy.toml"):
            run, chosen = await heard_from(caller, tmp_path, command)
            (row,) = run.decisions()
            assert row["file"] == str(tmp_path / "rules.json")
            assert row["reason"] == "a test says so"
            found.append((chosen, row["verdict"], row["authority"], row["rule"], row["line"], row["subject"]))
            assert [each["authority"] for each in run.events("AskAnswered")] == [row["authority"]]
        assert found == [
            ("allow", "allow", "rule", "Bash(ls)", 2, "ls"),
            ("reject", "deny", "rule", "Bash(rm *)", 1, "rm -rf build"),
            ("reject", "deny", "builtin", None, 3, "cat /home/me/.devplane/policy.toml"),
        ]


@pytest.mark.parametrize(
    ("verdict", "rule_", "line"), [("ask", "Bash(*)", 1), ("unresolved", "Bash(*)", 1), ("undecided", "", 0)]
)
async def test_what_is_left_to_a_person_says_why(tmp_path: Path, verdict: str, rule_: str, line: int) -> None:
    rules = () if verdict == "undecided" else ({"tool": "Bash", "verdict": verdict},)
    async with daemon(tmp_path, command=judged_by(tmp_path, *rules)) as caller:
        run = await caller.dispatch(asks_for("ls"))
        ask = await ask_of(run)
        assert run.asks()[0]["payload"]["ruling"] == {
            "verdict": verdict,
            "rule": rule_,
            "file": str(tmp_path / "rules.json") if rule_ else "",
            "line": line,
            "reason": "a test says so" if rule_ else "no rule answers",
        }
        await caller.ask(r.Decide(ask, "allow"))
        await run.until_fact("TurnEnded")
        (row,) = run.decisions()
        assert (row["authority"], row["rule"], row["line"]) == ("person", None, None)


async def test_g25_a_rule_that_finds_no_one_time_grant_says_so_to_the_person(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path, LIST)) as caller:
        run = await caller.dispatch(scripted("always-first", "only"))
        await ask_of(run)
        ruling = run.asks()[0]["payload"]["ruling"]
        assert (ruling["verdict"], ruling["rule"]) == ("allow", "Bash(ls)")
        assert "offers no such option" in ruling["reason"]


async def test_rules_are_read_again_for_every_request_and_broken_ones_lose_none(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path, LIST)) as caller:
        run = await caller.dispatch(asks_for("ls"), SCRIPTED_LOG=str(heard))
        assert await noted(heard, "chosen") == [{"chosen": "allow"}]

        (tmp_path / "rules.json").write_text("[{")
        await run.say("again")
        ask = await ask_of(run, 1)
        ruling = run.asks()[0]["payload"]["ruling"]
        assert ruling["verdict"] == "ask"
        assert ruling["reason"].startswith("the rules could not be read: ")
        await caller.ask(r.Decide(ask, "deny"))

        rule(tmp_path, {**LIST, "verdict": "deny"})
        await run.say("again")
        assert await noted(heard, "chosen", 3) == [{"chosen": each} for each in ("allow", "reject", "reject")]
        assert [each["authority"] for each in run.decisions()] == ["rule", "person", "rule"]
        assert "the rules could not be read" in caller.home.log.read_text()


async def test_a_run_without_a_judge_asks_a_person_until_there_is_one(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path, LIST)) as caller:
        (tmp_path / "no-judge").touch()
        run = await caller.dispatch(asks_for("ls"))
        ask = await ask_of(run)
        assert f"no judge for {caller.folder}" in run.asks()[0]["payload"]["ruling"]["reason"]
        await caller.ask(r.Decide(ask, "deny"))
        (tmp_path / "no-judge").unlink()
        await run.say("again")
        await run.until_fact("AskAnswered", authority="rule")


async def test_every_request_can_be_put_to_other_rules_later(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path, LIST)) as caller:
        first = await caller.dispatch(asks_for("ls", timeout=5, nested={"a": 1}))
        await first.until_fact("TurnEnded")
        second = await caller.dispatch(asks_for("make"))
        ask = await ask_of(second)
        with Reader.open(caller.home.database) as reader:
            waiting, answered = reader.calls()
        assert (waiting["run"], waiting["ask"], waiting["verdict"]) == (second.id, ask, None)
        assert (answered["run"], answered["verdict"], answered["authority"]) == (first.id, "allow", "rule")
        (call,) = answered["calls"]
        assert (call["tool"], call["subject"], call["cwd"]) == ("Bash", "ls", str(caller.folder))
        assert "nested" not in call["input"]


async def test_a_repository_that_keeps_no_transcript_keeps_no_arguments(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path, LIST)) as caller:
        (caller.folder / "devplane.toml").write_text("[transcripts]\nkeep = false\n")
        run = await caller.dispatch(asks_for("ls", secret="s3cret"))
        await run.until_fact("TurnEnded")
        (asked,) = run.events("PermissionAsked")
        assert [(each["subject"], each["input"]) for each in asked["calls"]] == [("ls", {})]


# The first answer wins


async def refused(caller: Caller, ask: str) -> str:
    with pytest.raises(Refused) as caught:
        await caller.ask(r.Decide(ask, "allow"))
    assert caught.value.hint == "What is open: devplane inbox."
    return re.sub(r"\d+ s ago", "just now", str(caught.value))


async def test_a_second_answer_is_told_who_was_first_when_and_with_what(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        run = await caller.dispatch(scripted("parallel-permissions", 2))
        first, second = await ask_of(run), await ask_of(run, 1)
        await caller.ask(r.Decide(first, "deny"))
        assert await refused(caller, first) == f"{first} was answered already by a person, just now: deny"
        option = next(each["options"][1]["id"] for each in [run.asks()[0]["payload"]])
        await caller.ask(r.Decide(second, option=option))
        assert await refused(caller, second) == f"{second} was answered already by a person, just now: allow"
        await run.until_fact("TurnEnded")
        await run.stop()
        assert "by a person, just now: deny" in await refused(caller, first), "also when its run is gone"
        assert [each["authority"] for each in run.decisions()] == ["person", "person"]


async def test_an_answer_after_a_rule_answered_is_told_of_the_rule(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path, LIST)) as caller:
        run, _ = await heard_from(caller, tmp_path, "ls")
        ask = run.decisions()[0]["ask"]
        rules = tmp_path / "rules.json"
        wanted = f"{ask} was answered already by the rule Bash(ls) ({rules}:1), just now: allow"
        assert await refused(caller, ask) == wanted
        await run.stop()
        assert await refused(caller, ask) == wanted


async def test_of_two_answers_that_race_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        for number in range(5):
            heard = tmp_path / f"raced-{number}"
            run = await caller.dispatch(asks_for("ls"), SCRIPTED_LOG=str(heard))
            ask = await ask_of(run)
            outcomes = await caller.ask_at_once(
                r.Decide(ask, "allow"), r.Decide(ask, "deny"), r.Decide(ask, "deny")
            )
            won = [each["outcome"] for each in outcomes if isinstance(each, dict)]
            lost = [str(each).split(", ")[0] for each in outcomes if isinstance(each, Refused)]
            assert (len(won), len(lost)) == (1, 2)
            assert lost == [f"{ask} was answered already by a person"] * 2
            assert [each["verdict"] for each in run.decisions()] == won
            assert await noted(heard, "chosen") == [{"chosen": {"allow": "allow", "deny": "reject"}[won[0]]}]


async def test_a_second_answer_to_a_question_is_told_of_the_first(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("form"))
        ask = (await run.until_fact("QuestionAsked"))["fact"]["ask"]
        await caller.ask(r.Reply(ask, "decline"))
        with pytest.raises(Refused, match=rf"{ask} was answered already by a person, \d+ s ago: decline"):
            await caller.ask(r.Reply(ask, "accept", {"name": "Ada"}))


async def test_an_answer_after_a_stop_is_told_of_the_stop(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(asks_for("ls"))
        ask = await ask_of(run)
        await run.stop()
        assert await refused(caller, ask) == (
            f"{ask} was answered already by the end of its turn or run, just now: cancelled"
        )
