"""Silence and `[budget]`: what ends a turn, what is only said, and what a sleeping machine costs nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devplane.control import requests as r
from devplane.core import budget
from devplane.core import events as e
from devplane.core.run import Run, reduce
from devplane.daemon.bounds import SLEPT_MS, SWEEP_MS, Bounds
from devplane.errors import Refused
from tests.daemon.agents import scripted
from tests.daemon.harness import daemon

MINUTE_MS = 60_000


class Driven:
    """What the bounds look at of a run in play, at work from the start; the clock is the test's."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = 1_000_000
        self.heard = 1
        self.noted: list[e.Fact] = []
        self.pos = 0
        created = e.RunCreated("demo", "Demo", ("demo",), str(folder), str(folder), "", None, True, "person")
        self.run: Run = reduce(None, self._event(created))
        for fact in (e.SessionOpened("s", "new"), e.PromptQueued("t-1", 1, "person"), e.TurnStarted("t-1")):
            self.note(fact)
        self.noted.clear()
        self.bounds = Bounds({"r-1": self}, lambda: self.now_ms)  # type: ignore[dict-item]

    def _event(self, fact: e.Fact) -> e.Event:
        self.pos += 1
        return e.Event("r-1", self.pos, self.now_ms, fact)

    def note(self, fact: e.Fact) -> None:
        self.run = reduce(self.run, self._event(fact))
        self.noted.append(fact)

    def sweep_for(self, ms: int, each: Callable[[], None] = lambda: None) -> None:
        for _ in range(ms // SWEEP_MS):
            self.now_ms += SWEEP_MS
            each()
            self.bounds.sweep()


def a_project(tmp_path: Path, text: str) -> Path:
    (tmp_path / "devplane.toml").write_text(text)
    return tmp_path


def test_an_agent_that_fell_silent_at_work_is_called_stalled_once(tmp_path: Path) -> None:
    driven = Driven(a_project(tmp_path, "[budget]\nstall_timeout = '2m'\n"))
    driven.sweep_for(2 * MINUTE_MS)
    assert driven.noted == []
    driven.sweep_for(20 * MINUTE_MS)
    assert driven.noted == [e.Stalled(120)]
    driven.heard += 1
    driven.note(e.Stirred())
    driven.sweep_for(3 * MINUTE_MS)
    assert driven.noted[2:] == [e.Stalled(120)], "another silence is another"


def test_ten_minutes_is_the_limit_where_nothing_is_said(tmp_path: Path) -> None:
    driven = Driven(tmp_path)
    driven.sweep_for(11 * MINUTE_MS)
    assert driven.noted == [e.Stalled(600)]


@pytest.mark.parametrize("why", ["says things", "waits for a person", "never said anything", "never"])
def test_what_is_no_silence(tmp_path: Path, why: str) -> None:
    text = "[budget]\nstall_timeout = 'never'\n" if why == "never" else "[budget]\nstall_timeout = '1m'\n"
    driven = Driven(a_project(tmp_path, text))
    if why == "waits for a person":
        driven.note(e.PermissionAsked("a-1", "c", "t", "Bash", "ls", ()))
        driven.noted.clear()
    if why == "never said anything":
        driven.heard = 0

    def speak() -> None:
        driven.heard += why == "says things"

    driven.sweep_for(20 * MINUTE_MS, speak)
    assert driven.noted == []


def test_g39_a_machine_that_slept_is_no_silence_and_costs_no_time(tmp_path: Path) -> None:
    driven = Driven(a_project(tmp_path, "[budget]\nstall_timeout = '1m'\nmax_runtime = '10m'\n"))
    driven.sweep_for(30_000)
    driven.now_ms += 8 * 60 * MINUTE_MS
    driven.bounds.sweep()
    (slept,) = driven.noted
    assert isinstance(slept, e.Slept)
    assert slept.gap_ms == 8 * 60 * MINUTE_MS - SWEEP_MS
    assert budget.used_by([driven.run], driven.now_ms).worked_ms == 30_000 + SWEEP_MS
    driven.sweep_for(20_000)
    assert len(driven.noted) == 1
    assert SLEPT_MS > SWEEP_MS


def test_a_clock_that_was_set_back_is_nothing(tmp_path: Path) -> None:
    driven = Driven(tmp_path)
    driven.now_ms -= 60 * MINUTE_MS
    driven.bounds.sweep()
    assert driven.noted == []


def test_time_at_work_is_bounded(tmp_path: Path) -> None:
    driven = Driven(a_project(tmp_path, "[budget]\nmax_runtime = '5m'\n"))
    driven.sweep_for(10 * MINUTE_MS, lambda: setattr(driven, "heard", driven.heard + 1))
    assert driven.noted == [e.BudgetReached("max_runtime", "5m", "5m")], "once"


@pytest.mark.parametrize(
    ("used", "met"),
    [
        (budget.Used(), None),
        (budget.Used(usd=4.99, turns=9, worked_ms=59_999), None),
        (budget.Used(usd=5.0), e.BudgetReached("usd", "$5.00", "$5.00")),
        (budget.Used(turns=10), e.BudgetReached("max_turns", "10", "10")),
        (budget.Used(worked_ms=60_000), e.BudgetReached("max_runtime", "1m", "1m")),
    ],
)
def test_a_bound_is_met_when_it_is_reached(used: budget.Used, met: e.BudgetReached | None) -> None:
    assert budget.reached(used, usd=5.0, max_turns=10, max_runtime_s=60) == met
    assert budget.reached(used, usd=None, max_turns=None, max_runtime_s=None) is None


def test_what_is_not_reported_is_not_nothing() -> None:
    assert budget.reached(budget.Used(usd=None), usd=0.01, max_turns=None, max_runtime_s=None) is None


def test_runs_of_one_work_are_added_up(tmp_path: Path) -> None:
    driven = Driven(tmp_path)
    driven.note(e.UsageSeen(None, None, 0.25, "USD"))
    driven.note(e.UsageSeen(None, None, 3.0, "EUR"))
    used = budget.used_by([driven.run, driven.run], driven.now_ms)
    assert (used.usd, used.turns) == (0.5, 0)


# ---- by a real daemon


async def test_g40_money_ends_a_turn_and_the_next_word_says_so_until_the_bound_is_raised(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path) as caller:
        config = caller.folder / "devplane.toml"
        config.write_text("[budget]\nusd = 0.0003\n")
        run = await caller.dispatch("demo", "quick")
        await run.until_fact("BudgetReached", bound="usd")
        await run.until(lambda f: f["kind"] == "fact" and f["name"] in ("TurnEnded", "TurnFailed"))
        with pytest.raises(Refused, match=r"is over its budget: \$0.00 of \$0.00 \(usd\)") as refused:
            await run.say("and more")
        assert str(config) in (refused.value.hint or "")
        config.write_text("[budget]\nusd = 5\n")
        turn = await run.say("quick")
        await run.until_settled(turn)


async def test_turns_are_bounded_and_the_last_one_may_end_by_itself(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        (caller.folder / "devplane.toml").write_text("[budget]\nmax_turns = 2\n")
        run = await caller.dispatch("demo", "quick")
        second, third = await run.say("quick"), await run.say("quick")
        await run.until_fact("BudgetReached", bound="max_turns")
        assert [each["turn"] for each in run.events("TurnEnded")] == [run.turn, second]
        assert [each["turn"] for each in run.row()["queue"]] == [third]


async def test_a_project_has_no_more_runs_in_play_than_it_may(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        (caller.folder / "devplane.toml").write_text("[budget]\nmax_parallel_runs = 1\n")
        first = await caller.dispatch("demo", "quick")
        with pytest.raises(Refused, match=r"1 runs of .*max_parallel_runs"):
            await caller.dispatch("demo", "quick")
        await first.until_settled(first.turn)
        await first.stop()
        again = await caller.resume(first.id)
        with pytest.raises(Refused, match="max_parallel_runs"):
            await caller.ask(r.Dispatch("demo", str(caller.folder), "quick"))
        await again.until_fact("SessionOpened", how="resume")


async def test_an_agent_that_reports_no_cost_is_not_stopped_by_a_ceiling(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        (caller.folder / "devplane.toml").write_text("[budget]\nusd = 0.01\n")
        run = await caller.dispatch(scripted("echo"), "hello")
        await run.until_settled(run.turn)
        assert run.events("BudgetReached") == []
