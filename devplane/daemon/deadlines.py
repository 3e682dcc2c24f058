"""Ends requests that waited longer for a person than their project lets them.

The clock is the wall's, so that the time in which a laptop slept counts, and it starts no
earlier than the daemon: nobody could answer before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio

from devplane import config
from devplane.core.permission import Authority
from devplane.core.run import ImpossibleFact
from devplane.daemon.asks import Ask, cancelled, denied
from devplane.daemon.drive import Driver
from devplane.worktrees.checkout import root_of

SWEEP_S = 1.0
"""How often the clock is looked at while anything waits."""
BY = "the deadline"


class Deadlines:
    """Looks at what waits in all runs. Files are read at every look, so that a change holds at the next."""

    def __init__(self, drivers: Mapping[str, Driver], clock_ms: Callable[[], int]) -> None:
        self._drivers = drivers
        self._clock_ms = clock_ms
        self._started_ms = clock_ms()
        self._waiting = anyio.Event()

    def something_waits(self) -> None:
        self._waiting.set()

    async def keep(self) -> None:
        """Sweep again and again while anything waits; sleep while nothing does."""
        while True:
            await self._waiting.wait()
            self._waiting = anyio.Event()
            while any(driver.asking.open for driver in self._drivers.values()):
                await anyio.sleep(SWEEP_S)
                self.sweep()

    def sweep(self) -> None:
        """End what waited too long by now."""
        for driver in list(self._drivers.values()):
            asks = list(driver.asking.open.values())
            settings = _settings_in(Path(driver.run.cwd)) if asks else None
            for ask in asks:
                if settings is not None and self._is_over(ask, settings.deadline_s):
                    self._end(driver, ask, settings)

    def _is_over(self, ask: Ask, deadline_s: int | None) -> bool:
        if deadline_s is None:
            return False
        return self._clock_ms() >= max(ask.asked_ms, self._started_ms) + deadline_s * 1000

    def _end(self, driver: Driver, ask: Ask, settings: config.Config) -> None:
        # The agent's own no: it takes the protocol's "cancelled" for the end of its turn.
        chosen = denied(ask.options) if ask.kind == "permission" else cancelled(ask.kind)
        reason = f"nobody answered in {settings.deadline} (deadline in {settings.file})"
        # One that is answered already waits only for its record.
        with suppress(ImpossibleFact):
            driver.asking.answer(ask, chosen, Authority.TIMER, BY, reason)


def _settings_in(cwd: Path) -> config.Config | None:
    """The settings that hold in `cwd`, or ``None`` while their file cannot be taken at its word."""
    try:
        return config.load(root_of(cwd))
    except config.ConfigBroken:
        return None
