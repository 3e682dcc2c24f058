"""`[questions] deadline`: a request that waited long enough ends, by a clock that the test moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devplane.control import requests as r
from devplane.core.permission import Option
from devplane.daemon.asks import Ask, denied
from devplane.daemon.deadlines import Deadlines
from devplane.errors import Refused
from tests.daemon.agents import answers, ask_of, heard_answers, noted, scripted
from tests.daemon.harness import Caller, Started, daemon
from tests.daemon.judged import judged_by, put_clock_ahead

MINUTE_MS = 60_000


def set_deadline(folder: Path, text: str) -> Path:
    file = folder / "devplane.toml"
    new = folder / "devplane.new"
    new.write_text(text)
    new.replace(file)
    return file


async def waiting(caller: Caller, agent: str, heard: Path) -> tuple[Started, str]:
    run = await caller.dispatch(agent, SCRIPTED_LOG=str(heard))
    return run, await ask_of(run)


async def swept(caller: Caller, tmp_path: Path) -> None:
    """Wait until the clock was looked at: another project has something that is over for long."""
    folder = tmp_path / "marker"
    folder.mkdir(exist_ok=True)
    set_deadline(folder, "[questions]\ndeadline = '1s'\n")
    await caller.ask(r.Trust(str(folder)))
    run = await caller.dispatch(scripted("ask"), cwd=folder)
    await ask_of(run)
    put_clock_ahead(tmp_path, int((tmp_path / "clock").read_text()) + 1_000)
    await run.until_fact("AskAnswered", authority="timer")


async def test_l62_a_deadline_ends_a_request_with_the_agents_own_no(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        file = set_deadline(caller.folder, "[questions]\ndeadline = '30m'\n")
        run, ask = await waiting(caller, scripted("option-ids"), heard)
        put_clock_ahead(tmp_path, 30 * MINUTE_MS)
        assert await noted(heard, "chosen") == [{"chosen": "abort"}]
        await run.until_fact("TurnEnded")
        (row,) = run.decisions()
        assert (row["verdict"], row["authority"], row["option_id"]) == ("deny", "timer", "abort")
        assert row["reason"] == f"nobody answered in 30m (deadline in {file})"
        assert run.asks() == []
        with pytest.raises(Refused, match=f"{ask} was answered already by the deadline, .* ago: deny"):
            await caller.ask(r.Decide(ask, "allow"))


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("no=reject_always", "yes=allow_once"), {"outcome": "selected", "optionId": "no"}),
        (("yes=allow_once", "ever=allow_always"), {"outcome": "cancelled"}),
    ],
)
async def test_l62_where_no_single_no_is_offered_the_next_best_is_sent(
    tmp_path: Path, options: tuple[str, ...], answer: dict[str, Any]
) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        set_deadline(caller.folder, "[questions]\ndeadline = '90s'\n")
        await waiting(caller, scripted("option-ids", *options), heard)
        put_clock_ahead(tmp_path, 90_000)
        assert (await answers(heard, 1))[0]["result"] == {"outcome": answer}


async def test_l75_a_question_that_is_over_is_cancelled_and_not_declined(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        set_deadline(caller.folder, "[questions]\ndeadline = '4h'\n")
        run = await caller.dispatch(scripted("form"), SCRIPTED_LOG=str(heard))
        await ask_of(run)
        put_clock_ahead(tmp_path, 240 * MINUTE_MS)
        assert await noted(heard, "action") == [{"action": "cancel", "content": {}}]
        await run.until_fact("TurnEnded")
        assert [(each["verdict"], each["authority"]) for each in run.decisions()] == [("cancelled", "timer")]


async def test_a_deadline_is_read_while_it_runs_and_a_broken_file_ends_nothing(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        run, ask = await waiting(caller, scripted("ask"), heard)
        put_clock_ahead(tmp_path, 365 * 24 * 60 * MINUTE_MS)
        await swept(caller, tmp_path)
        assert [each["id"] for each in run.asks()] == [ask], (
            "without a deadline it waits for ever (lesson 59)"
        )
        set_deadline(caller.folder, "[questions]\ndeadline = '5 minutes'\n")
        await swept(caller, tmp_path)
        set_deadline(caller.folder, "[questions]\ndeadline = 'never'\n")
        await swept(caller, tmp_path)
        assert heard_answers(heard) == []
        set_deadline(caller.folder, "[questions]\ndeadline = '1h'\n")
        assert await noted(heard, "chosen") == [{"chosen": "reject"}]


async def test_what_is_answered_in_time_is_left_alone(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        set_deadline(caller.folder, "[questions]\ndeadline = '1h'\n")
        run, ask = await waiting(caller, scripted("parallel-permissions", 2), heard)
        other = await ask_of(run, 1)
        await caller.ask(r.Decide(ask, "allow"))
        put_clock_ahead(tmp_path, 60 * MINUTE_MS)
        await run.until_fact("TurnEnded")
        found = {each["ask"]: (each["verdict"], each["authority"]) for each in run.decisions()}
        assert found == {ask: ("allow", "person"), other: ("deny", "timer")}


class Recording:
    """A run with one request that waits, which notes what it is answered."""

    def __init__(self, cwd: Path, asked_ms: int) -> None:
        option = Option("no", "No", "reject_once")
        self.ask = Ask("a-1", "r-1", "permission", "ls", asked_ms, options=(option,))
        self.asking, self.run, self.cwd = self, self, str(cwd)
        self.open = {self.ask.id: self.ask}
        self.answered: list[tuple[object, str]] = []

    def answer(self, ask: Ask, chosen: object, authority: str, by: str, reason: str) -> None:
        self.answered.append((chosen, authority))
        del self.open[ask.id]


@pytest.mark.parametrize("asked_ms", [0, 1_000_000])
def test_l77_the_time_before_the_daemon_started_does_not_count(tmp_path: Path, asked_ms: int) -> None:
    """Asked long before this daemon's start, or after it: the later of both begins the wait."""
    set_deadline(tmp_path, "[questions]\ndeadline = '10s'\n")
    now_ms = [500_000]
    run: Any = Recording(tmp_path, asked_ms)
    deadlines = Deadlines({"r-1": run}, lambda: now_ms[0])
    now_ms[0] = max(500_000, asked_ms) + 9_999
    deadlines.sweep()
    assert run.answered == []
    now_ms[0] += 1
    deadlines.sweep()
    assert run.answered == [(denied(run.ask.options), "timer")]


def test_a_clock_that_is_set_back_ends_nothing_early(tmp_path: Path) -> None:
    set_deadline(tmp_path, "[questions]\ndeadline = '10s'\n")
    now_ms = [500_000]
    run: Any = Recording(tmp_path, 600_000)
    deadlines = Deadlines({"r-1": run}, lambda: now_ms[0])
    now_ms[0] = 0
    deadlines.sweep()
    assert run.answered == []
