"""One run's place in the record: what its parts share to read it and to add to it."""

from __future__ import annotations

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
        self._changed = anyio.Event()

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
        commit = self.board.record(self.id, *facts, **rows)
        self._changed.set()
        self._changed = anyio.Event()
        return commit

    async def changed(self) -> None:
        """Wait until something is added."""
        await self._changed.wait()
