"""Watches what runs use up: silence, money, turns and time, by the bounds of their project.

A sweep charges each run at most the time between two sweeps, so that a machine that slept, or a
daemon that stood still, is nobody's silence and nobody's time (G-39).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from devplane import config
from devplane.core import budget
from devplane.core import events as e
from devplane.core.run import ImpossibleFact, Phase, Run
from devplane.daemon.drive import Driver
from devplane.errors import Refused
from devplane.worktrees.checkout import root_of

SWEEP_MS = 5_000
SLEPT_MS = 30_000
"""A sweep that comes later than this by the wall's clock means that everything stood still."""

SPENDS = (e.UsageSeen, e.TurnEnded, e.TurnFailed)


class OverBudget(Refused):
    """A bound of ``[budget]`` is met; the message names it and its file."""


@dataclass(slots=True)
class _Silence:
    """What was heard of an agent by the last sweep, and for how long nothing new was."""

    heard: int = 0
    quiet_ms: int = 0


class Bounds:
    """The bounds of all runs in play. Files are read when they are needed: a change holds at once."""

    def __init__(self, drivers: Mapping[str, Driver], clock_ms: Callable[[], int]) -> None:
        self._drivers = drivers
        self._clock_ms = clock_ms
        self._swept_ms = clock_ms()
        self._silences: dict[str, _Silence] = {}
        self._begun = anyio.Event()
        self.together: Callable[[Run], Iterable[Run]] = lambda run: (run,)
        """Returns the runs that share a budget with one: those of its work."""

    def something_runs(self) -> None:
        self._begun.set()

    async def keep(self) -> None:
        """Sweep again and again while anything runs; sleep while nothing does."""
        while True:
            await self._begun.wait()
            self._begun = anyio.Event()
            self._swept_ms = self._clock_ms()
            while self._drivers:
                await anyio.sleep(SWEEP_MS / 1000)
                self.sweep()

    def sweep(self) -> None:
        now_ms = self._clock_ms()
        elapsed_ms, self._swept_ms = max(0, now_ms - self._swept_ms), now_ms
        slept_ms = elapsed_ms - SWEEP_MS if elapsed_ms > SLEPT_MS else 0
        self._silences = {run: each for run, each in self._silences.items() if run in self._drivers}
        for driver in list(self._drivers.values()):
            # One that is just ending takes no more facts.
            with suppress(ImpossibleFact):
                if slept_ms:
                    driver.note(e.Slept(slept_ms))
                self._listen(driver, elapsed_ms - slept_ms)
                self.check(driver)

    def _listen(self, driver: Driver, charged_ms: int) -> None:
        """Notice an agent at work that says nothing any more. One that never said anything is starting."""
        silence = self._silences.setdefault(driver.run.id, _Silence())
        heard, is_at_work = driver.heard, driver.run.state == "working"
        if heard != silence.heard or not is_at_work or not heard:
            silence.heard, silence.quiet_ms = heard, 0
            return
        silence.quiet_ms += charged_ms
        limit_s = bounds_in(driver.run.cwd).stall_timeout_s
        if driver.run.stalled_ms is None and limit_s is not None and silence.quiet_ms >= limit_s * 1000:
            driver.note(e.Stalled(silence.quiet_ms // 1000))

    def heard_of(self, run: Run, fact: e.Fact) -> None:
        """Look at the budget after a fact that may have used some of it."""
        driver = self._drivers.get(run.id)
        if isinstance(fact, SPENDS) and driver is not None:
            with suppress(ImpossibleFact):
                self.check(driver)

    def check(self, driver: Driver) -> bool:
        """Record a bound that is met, once, which ends the turn; return whether one is."""
        run = driver.run
        if run.over is not None:
            return True
        met = self.met_by(run)
        # The last turn that the bound allows may end by itself.
        if met is None or (met.bound == "max_turns" and not (run.turn is None and run.queue)):
            return False
        if run.phase is Phase.READY and (run.turn is not None or run.queue):
            driver.note(met)
        return True

    def met_by(self, run: Run) -> e.BudgetReached | None:
        """Return the bound that a run, or its work, meets by now."""
        bounds = bounds_in(run.cwd)
        used = budget.used_by(self.together(run), self._clock_ms())
        return budget.reached(
            used, usd=bounds.usd, max_turns=bounds.max_turns, max_runtime_s=bounds.max_runtime_s
        )

    def refuse_if_met(self, run: Run) -> None:
        """Raise `OverBudget` when nothing more may be said to `run`."""
        met = self.met_by(run)
        if met is not None:
            raise OverBudget(
                f"{run.id} is over its budget: {met.spent} of {met.limit} ({met.bound})",
                hint=f"Raise {met.bound} in [budget] of {root_of(Path(run.cwd)) / config.CONFIG_NAME}.",
            )

    def refuse_if_full(self, project: str, cwd: str, own: Iterable[str] = ()) -> None:
        """Raise `Refused` when a project has as many runs in play as it may; `own` are not counted."""
        most = bounds_in(cwd).max_parallel_runs
        mine = set(own)
        count = sum(
            1
            for driver in self._drivers.values()
            if driver.run.project == project and driver.run.id not in mine
        )
        if most is not None and count >= most:
            raise Refused(
                f"{count} runs of {project} are in play, and it may have {most} (max_parallel_runs)",
                hint="Stop one: devplane ls, devplane stop RUN.",
            )


def bounds_in(cwd: str) -> config.Budget:
    """Return the bounds that hold in `cwd`; none while their file cannot be taken at its word."""
    try:
        return config.load(root_of(Path(cwd))).budget
    except config.ConfigBroken:
        return config.Budget()
