"""Running totals become what was spent, whole and by turn (G-40)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core.spending import Spending, baseline, begin_process, begin_turn, report

CENTS = st.integers(min_value=0, max_value=10_000_00)


def reported(*totals: float) -> tuple[Spending, ...]:
    entries: tuple[Spending, ...] = ()
    for total in totals:
        entries = report(entries, total, "USD")
    return entries


def test_g40_the_last_total_is_what_a_session_cost_and_turns_share_it() -> None:
    entries: tuple[Spending, ...] = ()
    shares = []
    for totals in ((0.10,), (0.25, 0.25), (), (0.40, 0.60)):
        entries = begin_turn(entries)
        for total in totals:
            entries = report(entries, total, "USD")
        shares.append(entries[0].in_turn)
    assert entries[0].spent == 0.60
    assert shares == [0.10, 0.15, 0, 0.35]


def test_a_total_that_falls_is_a_new_baseline_and_no_refund() -> None:
    assert reported(0.50, 0.10, 0.15)[0].spent == 0.55


def test_a_process_that_counts_from_zero_again_adds_all_of_it() -> None:
    entries = report(begin_process(reported(0.50)), 0.10, "USD")
    assert entries[0].spent == 0.60
    assert report(entries, 0.05, "USD")[0].spent == 0.60, "only its first report may begin at zero"


def test_a_process_that_remembers_its_total_adds_what_is_new() -> None:
    assert report(begin_process(reported(0.50)), 0.75, "USD")[0].spent == 0.75


def test_a_process_that_is_known_to_begin_at_zero_adds_all_of_it_also_when_that_is_more() -> None:
    entries = report(begin_process(reported(0.50), from_zero=True), 0.75, "USD")
    assert entries[0].spent == 1.25


def test_g12_a_replayed_total_was_spent_before() -> None:
    entries = baseline(begin_process(reported(0.50)), 0.60, "USD")
    assert entries[0].spent == 0.50
    assert report(entries, 0.70, "USD")[0].spent == 0.60


def test_currencies_are_counted_apart() -> None:
    entries = report(report(reported(0.50), 3.0, "EUR"), 0.75, "USD")
    assert {each.currency: each.spent for each in entries} == {"USD": 0.75, "EUR": 3.0}


@given(st.lists(CENTS, min_size=1))
def test_totals_that_only_rise_add_up_to_the_last_one(cents: list[int]) -> None:
    totals = [each / 100 for each in sorted(cents)]
    assert reported(*totals)[0].spent == pytest.approx(totals[-1], abs=1e-6)


@given(st.lists(st.one_of(CENTS, st.just("turn"), st.just("process"))))
def test_spending_never_falls_and_turns_add_up_to_it(steps: list[int | str]) -> None:
    entries: tuple[Spending, ...] = ()
    shares = 0.0
    for step in steps:
        before = entries[0] if entries else Spending("USD")
        if step == "turn":
            shares += before.in_turn
            entries = begin_turn(entries)
        elif step == "process":
            entries = begin_process(entries)
        else:
            entries = report(entries, int(step) / 100, "USD")
        if entries:
            assert entries[0].spent >= before.spent
    last = entries[0] if entries else Spending("USD")
    assert last.spent == pytest.approx(shares + last.in_turn, abs=1e-6)


@given(st.lists(CENTS, min_size=1), st.integers(min_value=1, max_value=5))
def test_a_repeated_report_costs_nothing(cents: list[int], times: int) -> None:
    once = reported(*(each / 100 for each in cents))
    again = reported(*(each / 100 for each in cents for _ in range(times)))
    assert again[0].spent == once[0].spent
