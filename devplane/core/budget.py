"""When a bound of ``[budget]`` is met, by a run or by all the runs of a work together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from devplane.core import events as e
from devplane.core.run import Run

CURRENCY = "USD"
"""The one that a ceiling is in; nothing is converted."""


@dataclass(frozen=True, slots=True)
class Used:
    """What was used up so far. `usd` is ``None`` while no agent reported a cost."""

    usd: float | None = None
    turns: int = 0
    worked_ms: int = 0


def used_by(runs: Iterable[Run], now_ms: int) -> Used:
    """Add up what `runs` used until now, the turn that is running included in the time only."""
    usd, turns, worked_ms = None, 0, 0
    for run in runs:
        for each in run.spending:
            if each.currency == CURRENCY:
                usd = (usd or 0.0) + each.spent
        turns += run.turns
        worked_ms += run.worked_ms
        if run.at_work_since_ms is not None:
            worked_ms += max(0, now_ms - run.at_work_since_ms)
    return Used(usd, turns, worked_ms)


def reached(
    used: Used, *, usd: float | None, max_turns: int | None, max_runtime_s: int | None
) -> e.BudgetReached | None:
    """Return the first bound that `used` meets; each may be ``None`` for no bound."""
    if usd is not None and used.usd is not None and used.usd >= usd:
        return e.BudgetReached("usd", f"${used.usd:.2f}", f"${usd:.2f}")
    if max_turns is not None and used.turns >= max_turns:
        return e.BudgetReached("max_turns", str(used.turns), str(max_turns))
    if max_runtime_s is not None and used.worked_ms >= max_runtime_s * 1000:
        return e.BudgetReached("max_runtime", duration(used.worked_ms // 1000), duration(max_runtime_s))
    return None


def duration(seconds: int) -> str:
    """Return a time as ``[budget]`` has it, in the two largest units: ``1h 30m``, ``90s`` as ``1m 30s``."""
    parts = [(seconds // 3600, "h"), (seconds % 3600 // 60, "m"), (seconds % 60, "s")]
    shown = [f"{number}{unit}" for number, unit in parts if number]
    return " ".join(shown[:2]) or "0s"
