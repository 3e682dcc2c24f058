"""Money that an agent reports, as a running total per currency."""

from __future__ import annotations

from dataclasses import dataclass, replace

_DIGITS = 9
"""Decimal places kept: far below any price, far above float noise."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a run spent in one currency.

    `last_total` is the agent's latest running total, the baseline for the next
    report; `in_turn` is the share since the current or last turn began.
    """

    currency: str
    spent: float = 0.0
    last_total: float = 0.0
    in_turn: float = 0.0
    counts_anew: bool = False
    """A new agent process was started since the last report: its counter may begin at zero."""


def report(entries: tuple[Spending, ...], amount: float, currency: str) -> tuple[Spending, ...]:
    """Add the report "`amount` in all so far" (case G-40).

    A total that falls is a new baseline and adds nothing, save in a new process,
    where a lower total means that its counter began at zero and all of it is new.
    """
    before = next((entry for entry in entries if entry.currency == currency), Spending(currency))
    grown = amount - before.last_total
    if grown < 0:
        grown = amount if before.counts_anew else 0.0
    after = replace(
        before,
        spent=round(before.spent + grown, _DIGITS),
        in_turn=round(before.in_turn + grown, _DIGITS),
        last_total=amount,
        counts_anew=False,
    )
    others = tuple(entry for entry in entries if entry.currency != currency)
    return (*others, after)


def begin_turn(entries: tuple[Spending, ...]) -> tuple[Spending, ...]:
    """Start counting a new turn's share."""
    return tuple(replace(entry, in_turn=0.0) for entry in entries)


def begin_process(entries: tuple[Spending, ...], *, from_zero: bool = False) -> tuple[Spending, ...]:
    """Note that the agent was started again; `from_zero`: its totals are known to begin anew then."""
    if from_zero:
        return tuple(replace(entry, last_total=0.0) for entry in entries)
    return tuple(replace(entry, counts_anew=True) for entry in entries)


def baseline(entries: tuple[Spending, ...], amount: float, currency: str) -> tuple[Spending, ...]:
    """Take "`amount` in all so far" as where the next report counts from: it was spent before (G-12)."""
    before = next((entry for entry in entries if entry.currency == currency), Spending(currency))
    after = replace(before, last_total=amount, counts_anew=False)
    return (*(entry for entry in entries if entry.currency != currency), after)
