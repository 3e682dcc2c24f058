"""What a followed turn comes to, and which exit status says so."""

from __future__ import annotations

from typing import Any

import pytest

from devplane.cli.outcome import Outcome
from devplane.errors import AgentFailed, DevplaneError

MINE, LATER = "t-mine", "t-later"


def fact(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "fact", "name": name, "fact": fields}


def queued(turn: str) -> dict[str, Any]:
    return fact("PromptQueued", turn=turn)


def started(turn: str) -> dict[str, Any]:
    return fact("TurnStarted", turn=turn)


def ended(turn: str, reason: str = "end_turn") -> dict[str, Any]:
    return fact("TurnEnded", turn=turn, stop_reason=reason)


def settled(turn: str) -> dict[str, Any]:
    return {"kind": "settled", "turn": turn}


def run_ended(ending: str, hint: str = "") -> dict[str, Any]:
    return fact("RunEnded", ending=ending, reason="it fell over", hint=hint)


GONE = {"kind": "gone", "state": "failed"}


def after(*frames: dict[str, Any]) -> Outcome:
    outcome = Outcome("r-1", MINE)
    for frame in frames:
        outcome.take(frame)
    return outcome


def test_a_turn_is_over_when_its_late_words_are_in() -> None:
    assert not after(queued(MINE), started(MINE), ended(MINE)).is_over
    assert after(queued(MINE), started(MINE), ended(MINE), settled(MINE)).is_over


def test_a_run_is_over_when_nothing_more_is_written_and_not_when_its_end_is_announced() -> None:
    assert not after(started(MINE), run_ended("failed")).is_over
    assert after(started(MINE), run_ended("failed"), GONE).is_over
    assert Outcome("r-1", MINE, is_live=False).is_over


def test_what_was_queued_behind_it_is_waited_for_and_its_end_is_the_end() -> None:
    frames = [queued(MINE), started(MINE), queued(LATER), ended(MINE), settled(MINE)]
    assert not after(*frames).is_over
    outcome = after(*frames, started(LATER), settled(MINE))
    assert not outcome.is_over
    for frame in (ended(LATER, "refusal"), settled(LATER)):
        outcome.take(frame)
    assert outcome.is_over
    assert outcome.turn == LATER
    with pytest.raises(AgentFailed):
        outcome.check()


def test_an_earlier_turn_of_somebody_else_is_not_mistaken_for_it() -> None:
    outcome = after(started("t-before"), queued(MINE), ended("t-before", "refusal"), settled("t-before"))
    assert (outcome.turn, outcome.is_open, outcome.has_ended) == (MINE, False, False)


def test_the_agents_own_end_is_success() -> None:
    after(started(MINE), ended(MINE)).check()


@pytest.mark.parametrize(
    ("frames", "error", "said"),
    [
        ([ended(MINE, "refusal")], AgentFailed, "refused"),
        ([fact("TurnFailed", turn=MINE, error="no model", cancelled=False)], AgentFailed, "no model"),
        ([run_ended("failed"), GONE], AgentFailed, "it fell over"),
        ([ended(MINE, "cancelled")], DevplaneError, "cancelled"),
        ([fact("TurnFailed", turn=MINE, error="late", cancelled=True)], DevplaneError, "cancelled"),
        ([ended(MINE, "max_tokens")], DevplaneError, "max_tokens"),
        ([ended(MINE, "")], DevplaneError, "no reason given"),
        ([run_ended("stopped"), GONE], DevplaneError, "stopped"),
    ],
)
def test_every_other_end_is_told_with_what_to_do(
    frames: list[dict[str, Any]], error: type[DevplaneError], said: str
) -> None:
    with pytest.raises(DevplaneError, match=said) as raised:
        after(started(MINE), *frames).check()
    assert type(raised.value) is error
    assert raised.value.hint == "See: devplane show r-1"


def test_the_agents_own_hint_comes_before_ours() -> None:
    with pytest.raises(AgentFailed) as raised:
        after(run_ended("failed", "Sign in first."), GONE).check()
    assert raised.value.hint == "Sign in first."
