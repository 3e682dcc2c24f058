"""One run's place in the record: what its parts share to read it and to add to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio

from devplane.agents.agent import Agent
from devplane.core import events as e
from devplane.core.run import Run
from devplane.daemon.board import Board, Entry
from devplane.daemon.transcript import Transcript
from devplane.store.log import Commit


class Ledger:
    """Reads and adds to one run's record. Knows nothing of processes or the wire."""

    def __init__(self, board: Board, run_id: str, agent: Agent) -> None:
        self.board = board
        self.entry: Entry = board.entries[run_id]
        self.id = run_id
        self.agent = agent
        self.is_shutdown = False
        """Whether the run is being ended for the daemon's sake: it is to be resumable."""
        self._awaited: anyio.Event | None = None
        """Made when somebody waits for a change: most are awaited by nobody."""

    @property
    def run(self) -> Run:
        return self.entry.run

    @property
    def transcript(self) -> Transcript:
        return self.entry.transcript

    def now_ms(self) -> int:
        return self.board.clock_ms()

    def record(self, *facts: e.Fact, **rows: Any) -> Commit:
        """Add facts, with the rows that belong to them, in one batch (see `Board.record`)."""
        kept = facts if self.run.keeps_transcript else tuple(map(_unspoken, facts))
        commit = self.board.record(self.id, *kept, **rows)
        if self._awaited is not None:
            self._awaited.set()
            self._awaited = None
        return commit

    async def changed(self) -> None:
        """Wait until something is added."""
        if self._awaited is None:
            self._awaited = anyio.Event()
        await self._awaited.wait()


def _unspoken(fact: e.Fact) -> e.Fact:
    """Return `fact` without an agent's or a person's words, for a repository that keeps no transcript."""
    match fact:
        case e.TitleGiven():
            return replace(fact, title="")
        case e.UpdateKept():
            return replace(fact, raw="")
        case e.ToolChanged():
            return replace(fact, content=None)
        case e.PermissionAsked():
            return replace(fact, calls=tuple(replace(call, input={}) for call in fact.calls))
        case _:
            return fact
