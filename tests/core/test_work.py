"""The life of a work: every pair of phase and fact, and what any order of facts leaves true."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core import work as w
from devplane.core.gates import CommandReport, GateReport, Outcome, SetupReport
from devplane.core.run import ImpossibleFact
from devplane.core.work import NEXT, Basis, Phase, Why, Work, basis_of, reduce

CREATED = w.WorkCreated(
    title="fix it",
    agent="demo",
    project="/p",
    worktree="/h/worktrees/p/fix-it",
    in_place=False,
    branch="devplane/fix-it",
    base_branch="main",
    base_ref="refs/heads/main",
    base_commit="b0",
    brief="fix it",
    by="person",
)


def gate(code: int, commit: str = "c1") -> GateReport:
    return GateReport((CommandReport("make test", Outcome.EXITED, code),), 1, 2, commit, 60.0)


def setup(code: int) -> SetupReport:
    return SetupReport((CommandReport("npm ci", Outcome.EXITED, code),), 1, 2, 60.0)


FACTS: dict[type, w.WorkFact] = {
    type(each): each
    for each in (
        CREATED,
        w.WorktreeMade(),
        w.SetupEnded(setup(0)),
        w.RunJoined("r-1"),
        w.CheckBegan("c1", 0, ("make test",)),
        w.CheckEnded(gate(1)),
        w.Verified(gate(0), 0),
        w.Unchecked(),
        w.FedBack("t-1"),
        w.WorkStopped(Why.BROKEN, "it broke", "Mend it."),
        w.WorkTakenUp("resume", "person"),
        w.WorkFinished(Basis.CHECKED, "c1", 0, "person"),
        w.WorktreeRemoved(True),
    )
}


def after(*facts: w.WorkFact) -> Work:
    work: Work | None = None
    for pos, fact in enumerate((CREATED, *facts)):
        work = reduce(work, w.WorkEvent("w-1", pos, 1000 + pos, fact))
    assert work is not None
    return work


WORKING = (w.WorktreeMade(), w.RunJoined("r-1"))
CHECKING = (*WORKING, w.CheckBegan("c1", 0, ("make test",)))


def test_every_fact_has_an_example_here() -> None:
    assert set(FACTS) == set(get_args(w.WorkFact))


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("kind", list(FACTS), ids=lambda kind: kind.__name__)
def test_what_is_not_in_the_table_is_refused_and_changes_nothing(phase: Phase, kind: type) -> None:
    work = replace(after(*WORKING), phase=phase)
    event = w.WorkEvent("w-1", 9, 9999, FACTS[kind])
    if kind in NEXT[phase]:
        assert reduce(work, event).pos == 9
    else:
        before = replace(work)
        with pytest.raises(ImpossibleFact):
            reduce(work, event)
        assert work == before


def test_a_record_begins_with_its_creation() -> None:
    with pytest.raises(ImpossibleFact, match="no beginning"):
        reduce(None, w.WorkEvent("w-1", 0, 0, w.Unchecked()))


def test_a_gate_that_passes_leads_to_review_and_one_that_fails_decides_nothing_yet() -> None:
    assert after(*CHECKING, w.CheckEnded(gate(0))).phase is Phase.REVIEW
    failed = after(*CHECKING, w.CheckEnded(gate(1)))
    assert (failed.phase, failed.checks) == (Phase.CHECKING, 1)


def test_a_person_s_word_gives_the_agent_its_rounds_back_and_a_resumption_does_not() -> None:
    stopped = (*CHECKING, w.CheckEnded(gate(1)), w.FedBack("t"), w.WorkStopped(Why.GATE_FAILED, "no"))
    assert after(*stopped, w.WorkTakenUp("resume", "person")).rounds == 1
    assert after(*stopped, w.WorkTakenUp("retry", "person")).rounds == 0


@pytest.mark.parametrize(
    ("facts", "phase"),
    [
        ((), Phase.PREPARING),
        ((w.WorktreeMade(), w.SetupEnded(setup(1))), Phase.PREPARING),
        ((w.WorktreeMade(), w.SetupEnded(setup(0))), Phase.PREPARING),
        (WORKING, Phase.WORKING),
    ],
)
def test_what_was_not_prepared_is_prepared_first_when_it_is_taken_up(
    facts: tuple[w.WorkFact, ...], phase: Phase
) -> None:
    stopped = w.WorkStopped(Why.INTERRUPTED, "the daemon stopped", "Go on.")
    taken = after(*facts, stopped, w.WorkTakenUp("resume", "person"))
    assert (taken.phase, taken.why, taken.text, taken.hint) == (phase, None, "", "")


@pytest.mark.parametrize(
    ("facts", "commit", "changed", "has_gate", "basis"),
    [
        ((w.Unchecked(),), "c1", 0, False, Basis.UNCHECKED),
        ((w.Unchecked(),), "c1", 0, True, Basis.NOT_CHECKED),
        ((*CHECKING[2:], w.CheckEnded(gate(0))), "c1", 0, True, Basis.CHECKED),
        ((*CHECKING[2:], w.CheckEnded(gate(0))), "c2", 0, True, Basis.CHECKED_BEFORE),
        ((*CHECKING[2:], w.CheckEnded(gate(0))), "c1", 1, True, Basis.CHECKED_BEFORE),
        ((w.CheckBegan("c1", 3, ()), w.CheckEnded(gate(0))), "c1", 0, True, Basis.CHECKED_BEFORE),
        ((*CHECKING[2:], w.CheckEnded(gate(1))), "c1", 0, True, Basis.DESPITE),
    ],
)
def test_the_ground_on_which_a_work_is_finished(
    facts: tuple[w.WorkFact, ...], commit: str, changed: int, has_gate: bool, basis: Basis
) -> None:
    assert basis_of(after(*WORKING, *facts), commit, changed, has_gate=has_gate) is basis


@given(st.lists(st.sampled_from(sorted(FACTS, key=lambda kind: kind.__name__)), max_size=40))
def test_any_order_of_facts_leaves_a_work_that_says_what_it_is(kinds: list[type]) -> None:
    work = after()
    for pos, kind in enumerate(kinds, 1):
        try:
            work = reduce(work, w.WorkEvent("w-1", pos, pos, FACTS[kind]))
        except ImpossibleFact:
            continue
        assert (work.why is not None) == (work.phase is Phase.STOPPED)
        assert (work.basis is not None) == (work.phase is Phase.FINISHED)
        assert work.run or work.phase not in (Phase.WORKING, Phase.CHECKING, Phase.REVIEW)
        assert work.is_open == (work.phase is not Phase.FINISHED)
