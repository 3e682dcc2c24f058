"""Permission requests, from the agent's question to the answer that it hears."""

from __future__ import annotations

from pathlib import Path

import pytest

from devplane.control import requests as r
from devplane.errors import NotFound, Refused, UsageError
from tests.daemon.agents import answers, ask_of, heard_answers, noted, scripted
from tests.daemon.harness import daemon
from tests.daemon.judged import ruled_by
from tests.scripted import log
from tests.scripted.permissions import ODD_IDS

CANCELLED = {"outcome": {"outcome": "cancelled"}}


async def test_g20_a_cancel_answers_every_open_request_once_and_ends_the_turn(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("two-permissions"), SCRIPTED_LOG=str(heard))
        first, second = await ask_of(run, 0), await ask_of(run, 1)
        await caller.ask(r.Cancel(run.id))
        await run.until_fact("TurnEnded")
        assert sorted((each["id"], str(each["result"])) for each in heard_answers(heard)) == [
            (11, str(CANCELLED)),
            (12, str(CANCELLED)),
        ]
        heard_last = [each.get("method", each.get("id")) for each in log.messages(heard)][-3:]
        assert heard_last == [11, 12, "session/cancel"], "what is open is answered first"
        assert run.asks() == []
        assert run.row()["asks"] == []
        assert run.row()["last_stop_reason"] == "cancelled"
        assert [each["verdict"] for each in run.decisions()] == ["cancelled", "cancelled"]
        assert {each["authority"] for each in run.decisions()} == {"stopped"}
        for ask in (first, second):
            with pytest.raises(Refused, match="answered already"):
                await caller.ask(r.Decide(ask, "allow"))


async def test_g23_an_answer_goes_by_an_options_kind_and_never_by_its_id(tmp_path: Path) -> None:
    cases = (("own", (), "approved", "abort"), ("mislead", ("mislead",), "reject_once", "allow_once"))
    async with daemon(tmp_path) as caller:
        for name, arguments, yes, no in cases:
            heard = tmp_path / name
            run = await caller.dispatch(scripted("option-ids", *arguments), SCRIPTED_LOG=str(heard))
            await caller.ask(r.Decide(await ask_of(run), "allow"))
            await run.until_fact("TurnEnded")
            await run.say("again")
            await caller.ask(r.Decide(await ask_of(run, 1), "deny"))
            assert await noted(heard, "chosen", 2) == [{"chosen": yes}, {"chosen": no}]
            assert [each["verdict"] for each in run.decisions()] == ["deny", "allow"]


async def test_g24_the_id_of_an_option_comes_back_as_it_was_offered(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("odd-option-ids"), SCRIPTED_LOG=str(heard))
        for number, option in enumerate(ODD_IDS):
            ask = await ask_of(run, number)
            with pytest.raises(Refused, match="has no option"):
                await caller.ask(r.Decide(ask, option=option + " "))
            await caller.ask(r.Decide(ask, option=option))
            assert (await noted(heard, "chosen", number + 1))[-1] == {"chosen": option}
            await run.say("again")
        assert [each["option_id"] for each in reversed(run.decisions())] == list(ODD_IDS)


async def test_g25_a_rule_grants_once_and_is_asked_again(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        run = await caller.dispatch(scripted("always-first"), SCRIPTED_LOG=str(heard))
        await run.until_fact("TurnEnded")
        assert await noted(heard, "chosen", 2) == [{"chosen": "once"}, {"chosen": "once"}]
        rows = run.decisions()
        assert [(each["verdict"], each["authority"], each["rule"]) for each in rows] == [
            ("allow", "rule", "Bash(*)")
        ] * 2
        assert run.asks(None) == [], "nobody was asked"


async def test_g25_where_only_a_standing_grant_is_offered_a_person_is_asked(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        run = await caller.dispatch(scripted("always-first", "only"), SCRIPTED_LOG=str(heard))
        ask = await ask_of(run)
        with pytest.raises(Refused, match="no one-time allow"):
            await caller.ask(r.Decide(ask, "allow"))
        await caller.ask(r.Decide(ask, option="always"))
        assert await noted(heard, "chosen") == [{"chosen": "always"}]
        assert [(each["verdict"], each["authority"]) for each in run.decisions()] == [
            ("allow_always", "person")
        ]


async def test_a_rule_denies_by_the_agents_own_reject_option(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "deny")) as caller:
        run = await caller.dispatch(scripted("option-ids"), SCRIPTED_LOG=str(heard))
        await run.until_fact("TurnEnded")
        assert await noted(heard, "chosen") == [{"chosen": "abort"}]
        assert [(each["verdict"], each["authority"]) for each in run.decisions()] == [("deny", "rule")]


async def test_g26_a_request_may_be_the_first_that_is_heard_of_a_call(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for arguments in ((), ("late",), ("update-first",), ("bare",)):
            run = await caller.dispatch(scripted("unannounced", *arguments))
            ask = await ask_of(run)
            assert run.asks()[0]["title"] == "mcp: get code"
            await caller.ask(r.Decide(ask, "allow"))
            await run.until_fact("TurnEnded")
            tools = [(each["call"], each["title"], each["status"]) for each in run.row()["tools"]]
            assert tools == [("t9", "mcp: get code", "completed")]
            assert [e["content"] for e in run.events("ToolChanged") if e["content"]] == ["the code"]
            assert run.row()["errors"] == 0


async def test_requests_in_parallel_are_answered_in_any_order_each_with_its_own(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("parallel-permissions", 4), SCRIPTED_LOG=str(heard))
        asks = [await ask_of(run, number) for number in range(4)]
        titles = {each["id"]: each["title"] for each in run.asks()}
        for number in (2, 0, 3, 1):
            ask = asks[number]
            option = f"{'no' if number % 2 else 'yes'}-{titles[ask]}"
            await caller.ask(r.Decide(ask, "deny" if number % 2 else "allow"))
            chosen = await noted(heard, titles[ask])
            assert chosen == [{titles[ask]: option}]
            assert ask not in [each["id"] for each in run.asks()]
        await run.until_fact("TurnEnded")
        assert run.row()["last_stop_reason"] == "end_turn"


async def test_a_request_that_the_agent_takes_back_waits_for_nobody(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("withdraws"), SCRIPTED_LOG=str(heard))
        assert await noted(heard, "error") == [{"error": -32800}]
        await run.until_fact("TurnEnded")
        assert run.asks() == []
        assert run.row()["asks"] == []
        assert [each["state"] for each in run.asks(None)] in ([], ["withdrawn"])


async def test_a_request_that_is_taken_back_later_is_closed_as_nobodys(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("withdraws", tmp_path / "go"), SCRIPTED_LOG=str(heard))
        ask = await ask_of(run)
        (tmp_path / "go").touch()
        await run.until_fact("TurnEnded")
        assert [(each["id"], each["state"], each["closed_by"]) for each in run.asks(None)] == [
            (ask, "withdrawn", "nobody")
        ]
        assert [each["authority"] for each in run.decisions()] == ["nobody"]
        with pytest.raises(Refused, match="withdrawn already"):
            await caller.ask(r.Decide(ask, "allow"))


async def test_a_request_after_a_cancel_is_answered_at_once(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("asks-when-cancelled"), SCRIPTED_LOG=str(heard))
        await run.until(lambda f: f["kind"] == "text")
        await caller.ask(r.Cancel(run.id))
        assert (await noted(heard, "result"))[0]["result"] == CANCELLED
        await run.until_fact("TurnEnded")
        assert run.row()["last_stop_reason"] == "cancelled"
        assert run.asks(None) == []


async def test_the_decision_is_stored_before_the_agent_hears_of_it(tmp_path: Path) -> None:
    """The agent looks into the store at the moment when it hears an answer."""
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        store = caller.home.database
        run = await caller.dispatch(scripted("reads-decisions", store, 10), SCRIPTED_LOG=str(heard))
        for number in range(10):
            await caller.ask(r.Decide(await ask_of(run, number), "allow" if number % 2 else "deny"))
        found = await noted(heard, "decisions", 10)
        wanted = [["deny", "allow"][n % 2] for n in range(10)]
        assert [note["decisions"] for note in found] == [[each] for each in wanted]


async def test_what_a_rule_decides_is_stored_before_the_agent_hears_of_it(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        agent = scripted("reads-decisions", caller.home.database, 10)
        await caller.dispatch(agent, SCRIPTED_LOG=str(heard))
        found = await noted(heard, "decisions", 10)
        assert [note["decisions"] for note in found] == [["allow"]] * 10


async def test_an_ask_ends_with_its_run(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "hold")
        await ask_of(run)
        await run.stop()
        assert run.asks() == []
        assert [each["authority"] for each in run.decisions()] == ["stopped"]


async def test_a_run_that_asks_several_things_is_answered_by_name(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("two-permissions"), SCRIPTED_LOG=str(heard))
        await ask_of(run, 1)
        with pytest.raises(Exception, match="asks 2 things"):
            await caller.ask(r.Decide(run.id, "allow"))
        assert heard_answers(heard) == []
        for ask in run.asks():
            await caller.ask(r.Decide(ask["id"], "allow"))
        assert {each["id"] for each in await answers(heard, 2)} == {11, 12}


async def test_l66_what_is_said_now_ends_a_request_that_waits_and_reaches_the_agent(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("option-ids"), SCRIPTED_LOG=str(heard))
        first = await ask_of(run)
        await run.say("something else", now=True)
        assert (await answers(heard, 1))[0]["result"] == CANCELLED
        second = await ask_of(run, 1)
        assert [each["id"] for each in run.asks()] == [second]
        said = [each["params"]["prompt"][0]["text"] for each in log.messages(heard, "session/prompt")]
        assert said == ["hello", "something else"]
        assert [(each["ask"], each["authority"]) for each in run.decisions()] == [(first, "stopped")]


async def test_l67_an_answer_that_comes_too_late_takes_nothing_from_what_waits_now(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("option-ids"), SCRIPTED_LOG=str(heard))
        old = await ask_of(run)
        await caller.ask(r.Decide(old, "deny"))
        await run.until_fact("TurnEnded")
        await run.say("again")
        live = await ask_of(run, 1)
        with pytest.raises(Refused, match=f"{old} was answered already"):
            await caller.ask(r.Decide(old, "allow"))
        assert [each["id"] for each in run.asks()] == [live]
        await caller.ask(r.Decide(live, "allow"))
        assert await noted(heard, "chosen", 2) == [{"chosen": "abort"}, {"chosen": "approved"}]


async def test_l72_an_answer_that_says_two_things_is_none(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("option-ids"))
        ask = await ask_of(run)
        with pytest.raises(UsageError, match="not both"):
            await caller.ask(r.Decide(ask, "deny", "approved"))
        assert [each["id"] for each in run.asks()] == [ask], "validated before anything is closed (lesson 71)"
        assert run.decisions() == []


async def test_l82_a_misspelt_ask_names_the_command_that_lists_them(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for name in ("a-nosuchask1", "r-nosuchrun1"):
            with pytest.raises(NotFound) as caught:
                await caller.ask(r.Decide(name, "allow"))
            assert "devplane " in (caught.value.hint or "")
