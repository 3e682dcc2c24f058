"""The daemon's working parts, joined: the board, the drivers, and what was seen at the start."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from devplane import children
from devplane.agents import tree
from devplane.agents.agent import Agent
from devplane.core import events as e
from devplane.core import ids
from devplane.core.run import Run
from devplane.daemon.answered import AnsweredAlready, already, from_store
from devplane.daemon.asks import Ask
from devplane.daemon.board import Board
from devplane.daemon.bounds import Bounds
from devplane.daemon.continuing import Continuation
from devplane.daemon.drive import Driver
from devplane.daemon.limits import Limits
from devplane.daemon.rulings import JudgeIn
from devplane.daemon.settings import Wanted
from devplane.daemon.steps import Steps
from devplane.daemon.works import Works
from devplane.errors import DevplaneError, NotFound, Refused
from devplane.paths import Home
from devplane.store.failure import StoreFailed
from devplane.store.queries import Reader

_log = logging.getLogger(__name__)

REAP_PAUSE_S = 0.2


@dataclass(slots=True)
class Service:
    """What verbs act on."""

    home: Home
    board: Board
    tasks: TaskGroup
    judge_in: JudgeIn
    limits: Limits
    drivers: dict[str, Driver]
    bounds: Bounds
    trusted: set[str] = field(default_factory=set)
    """Roots that a person trusts, as the store has them: the rules ask at every call."""
    notes: list[str] = field(default_factory=list)
    stopping: anyio.Event = field(default_factory=anyio.Event)
    news: anyio.Event = field(default_factory=anyio.Event)
    orphans: anyio.Event = field(default_factory=anyio.Event)
    """Set when a child ended or a run did: there may be something to reap."""
    works: Works = field(init=False)
    steps: Steps = field(init=False)

    def __post_init__(self) -> None:
        self.works, self.steps = Works(self), Steps(self)
        self.works.check = self.steps.check
        self.bounds.together = self.works.together
        self.board.on_news = self.has_news
        self.board.on_fact = self._heard_of

    def _heard_of(self, run: Run, fact: e.Fact) -> None:
        self.bounds.heard_of(run, fact)
        self.works.heard_of(run, fact)

    def reader(self) -> Reader:
        return Reader.open(self.home.database)

    async def begin(
        self,
        agent: Agent,
        created: e.RunCreated,
        environ: Mapping[str, str],
        *,
        model: str | None,
        mode: str | None,
    ) -> Driver:
        """Put a run on the board and, once it is on record, let its driver live.

        Raises:
            StoreFailed: It could not be recorded; nothing was started.
        """
        if self.stopping.is_set():
            raise Refused("the daemon is stopping")
        run_id = ids.make("r", os.urandom(ids.ID_BYTES))
        try:
            # A caller that hangs up here must not leave a run that nobody drives.
            with anyio.CancelScope(shield=True):
                await self.board.create(run_id, created)
        except StoreFailed:
            self.board.remove(run_id)
            raise
        if self.stopping.is_set():
            self.board.record(run_id, e.RunEnded("interrupted", "the daemon stopped"))
            self.board.remove(run_id)
            raise Refused("the daemon is stopping")
        return self._drive(run_id, agent, environ, Wanted(model=model, mode=mode))

    async def resume(
        self,
        run: Run,
        next_pos: int,
        agent: Agent,
        environ: Mapping[str, str],
        wanted: Wanted,
        again: Continuation,
        queued: Mapping[str, str],
        by: str,
    ) -> Driver:
        """Put an ended run back on the board and, once that is on record, let a driver take up its session.

        Raises:
            Refused: It is on the board already.
            StoreFailed: It could not be recorded; nothing was started.
        """
        if self.stopping.is_set():
            raise Refused("the daemon is stopping")
        if run.id in self.board.entries:
            raise Refused(f"{run.id} is just being taken up", hint=f"See: devplane show {run.id}")
        self.board.restore(run, next_pos)
        resumed = e.RunResumed(agent.name, agent.command, agent.expected_version, by)
        try:
            with anyio.CancelScope(shield=True):
                await self.board.record(run.id, resumed)
        except StoreFailed:
            self.board.remove(run.id)
            raise
        return self._drive(run.id, agent, environ, wanted, again, queued)

    def _drive(
        self,
        run_id: str,
        agent: Agent,
        environ: Mapping[str, str],
        wanted: Wanted,
        again: Continuation | None = None,
        queued: Mapping[str, str] | None = None,
    ) -> Driver:
        driver = Driver(
            self.board,
            run_id,
            agent,
            home=self.home,
            environ=environ,
            judge_in=self.judge_in,
            limits=self.limits,
            wanted=wanted,
            again=again,
            queued=queued,
            may_start=lambda driver: not self.bounds.check(driver),
        )
        self.drivers[run_id] = driver
        self.bounds.something_runs()
        self.tasks.start_soon(self._live, run_id, driver)
        return driver

    async def _live(self, run_id: str, driver: Driver) -> None:
        try:
            await driver.live()
        except Exception:  # noqa: BLE001 - a bug in one run must not end the others
            _log.exception("%s: a bug ended its driver", run_id)
            self._end_by_bug(run_id)
        finally:
            self.drivers.pop(run_id, None)
            self.board.remove(run_id)
            driver.ended.set()
            self.orphans.set()

    def _end_by_bug(self, run_id: str) -> None:
        ending = e.RunEnded("failed", "a bug in Devplane ended this run", "See: devplane daemon logs.")
        with suppress(DevplaneError, KeyError):
            self.board.record(run_id, ending)

    def driver(self, text: str) -> Driver:
        """Return the driver of the run that `text` names.

        Raises:
            NotFound: Nothing is named so, or several are.
            Refused: The run has ended.
        """
        if text in self.drivers:
            return self.drivers[text]
        with self.reader() as reader:
            run_id = reader.resolve(text)
            if run_id in self.drivers:
                return self.drivers[run_id]
            row = reader.run(run_id)
        state = row["state"] if row else "gone"
        raise Refused(
            f"{run_id} is {state}: it has no agent any more",
            hint=f"Take its session up again: devplane resume {run_id}. Start another: devplane dispatch.",
        )

    def ask(self, text: str) -> tuple[Driver, Ask]:
        """Return the open ask that `text` names: its id, or a run with exactly one.

        Raises:
            NotFound: Nothing open is named so, or several are.
            Refused: It was answered already (with who and when), or its agent is gone.
        """
        if text.startswith("a-"):
            return self._open_ask(text) or self._looked_up(text)
        driver = self.driver(text)
        waiting = [each for each in driver.asking.open.values() if driver.run.has_ask(each.id)]
        if not waiting:
            raise NotFound(f"{driver.run.id} asks nothing", hint="What is open: devplane inbox.")
        if len(waiting) > 1:
            listed = ", ".join(f"{each.id} ({each.title})" for each in waiting)
            raise NotFound(
                f"{driver.run.id} asks {len(waiting)} things: {listed}", hint="Name one with --request."
            )
        return driver, waiting[0]

    def _open_ask(self, ask: str) -> tuple[Driver, Ask] | None:
        for driver in self.drivers.values():
            if ask in driver.asking.open:
                return driver, driver.asking.open[ask]
        return None

    def _looked_up(self, text: str) -> tuple[Driver, Ask]:
        if refused := self._closed_by_now(text):
            raise refused
        with self.reader() as reader:
            ask = reader.resolve_ask(text)
        if found := self._open_ask(ask):
            return found
        raise self.closed(ask)

    def closed(self, ask: str) -> Refused:
        """Say how an ask came to be closed, or why nobody hears an answer to it."""
        if refused := self._closed_by_now(ask):
            return refused
        with self.reader() as reader:
            row = reader.ask(ask)
        if row is not None and row["state"] == "open":
            return Refused(
                f"the agent that asked {ask} is gone",
                hint=f"Its run {row['run']} was interrupted; see devplane show {row['run']}.",
            )
        return AnsweredAlready(f"{ask} was closed already")

    def _closed_by_now(self, ask: str) -> Refused | None:
        now_ms = self.board.clock_ms()
        for driver in self.drivers.values():
            # The store may not have it yet.
            if ask in driver.asking.closed:
                return already(ask, driver.asking.closed[ask], now_ms)
        with self.reader() as reader:
            for decision in reader.decisions(ask=ask, limit=1):
                return already(ask, from_store(decision), now_ms)
        return None

    def agent_pids(self) -> list[int]:
        return [each.run.pid for each in self.drivers.values() if each.run.pid is not None]

    def has_news(self) -> None:
        self.news.set()

    async def write_what_is_said(self) -> None:
        """Write open fragments at least every `flush_s` while there are any."""
        while True:
            await self.news.wait()
            await anyio.sleep(self.limits.flush_s)
            self.news = anyio.Event()
            for entry in list(self.board.entries.values()):
                self.board.flush(entry)

    async def reap_orphans(self) -> None:
        """Collect adopted children that ended; end what no run owns any more."""
        while True:
            await self.orphans.wait()
            await anyio.sleep(REAP_PAUSE_S)
            if children.is_spawning():
                continue
            self.orphans = anyio.Event()
            left = tree.adopted()
            if left and not self.drivers:
                await tree.end(left, term_grace_s=1.0, kill_grace_s=1.0)

    async def notice_ended_children(self) -> None:
        """Listen for the system's word that a child ended."""
        with anyio.open_signal_receiver(signal.SIGCHLD) as signals:
            async for _ in signals:
                self.orphans.set()

    async def interrupt_all(self) -> None:
        """End every step and every run for a shutdown, and wait until their processes are gone."""
        await self.works.interrupt()
        while drivers := list(self.drivers.values()):
            for driver in drivers:
                driver.interrupt()
            for driver in drivers:
                await driver.ended.wait()
