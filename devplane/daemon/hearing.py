"""What one agent tells: streamed speech to the transcript, everything else to facts."""

from __future__ import annotations

import logging
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.agents.process import AgentLog
from devplane.agents.translate import ToolBook, facts_of
from devplane.core import events as e
from devplane.core.run import ImpossibleFact
from devplane.core.text import one_line
from devplane.daemon.ledger import Ledger
from devplane.daemon.limits import Limits
from devplane.daemon.replaying import Replay
from devplane.daemon.settings import Settings

_log = logging.getLogger(__name__)

NOISE_QUOTED = 3
"""Lines of noise that are kept for a failure message."""
FOREIGN_NAMED = 100
"""Unknown sessions that are named in the log, once each."""
SIGNS_OF_WORK = (e.ToolChanged, e.PlanChanged, e.UsageSeen)
BACKLOG_LIMIT_BYTES = 8 << 20
"""Unwritten bytes at which an agent's output is no longer read."""


class Hearing:
    """Takes in an agent's notifications in wire order. The hot path: a streamed chunk ends in an append."""

    def __init__(
        self, ledger: Ledger, book: ToolBook, settings: Settings, limits: Limits, log: AgentLog
    ) -> None:
        self._ledger = ledger
        self._book = book
        self._settings = settings
        self._settle_s = limits.settle_s
        self._agent_log = log
        self._prompted = ""
        self._last_turn = ""
        self._last_turn_ended_s = -1e9
        self._foreign_sessions: set[str] = set()
        self.heard = 0
        """How often the agent said or did something."""
        self.replay: Replay | None = None
        """What an old session's replay has brought, while there is one."""
        self.is_holding = False
        """Whether reading waits for the store: there may be more in the pipe."""
        self.noise: list[str] = []
        """The first lines on stdout that were no messages."""

    def prompt_goes_out(self, turn: str) -> None:
        """What is said from now on answers the prompt of `turn`."""
        self._prompted = turn

    def turn_ended(self, turn: str) -> None:
        """What is said within the settling time still belongs to `turn` (G-17)."""
        self._last_turn, self._last_turn_ended_s = turn, anyio.current_time()

    def is_last(self, turn: str) -> bool:
        """Whether `turn` is the latest that ended, and no other runs."""
        return self._ledger.run.turn is None and self._last_turn == turn

    def on_notice(self, method: str, params: dict[str, Any] | None) -> None:
        """Take in one notification."""
        if method != "session/update" or not isinstance(params, dict):
            return
        update = params.get("update")
        if not isinstance(update, dict):
            return
        session = params.get("sessionId")
        if self._ledger.run.session and session != self._ledger.run.session and isinstance(session, str):
            if session not in self._foreign_sessions and len(self._foreign_sessions) < FOREIGN_NAMED:
                self._foreign_sessions.add(session)
                _log.warning("%s: updates for a session it does not have: %r", self._ledger.id, session[:100])
            return
        if self.replay is not None:
            self.replay.take(update)
            return
        chunk = acp.chunk_of(update)
        if chunk is not None:
            role, message, text = chunk
            if role != "user":
                self._stir()
                self._ledger.transcript.chunk(role, message, text, self._turn_now(), self._ledger.now_ms())
            return
        try:
            for fact in facts_of(update, self._book):
                if isinstance(fact, SIGNS_OF_WORK):
                    self._stir()
                if not self._settings.is_known(fact):
                    self._ledger.record(fact)
            self._settings.told(update)
        except ImpossibleFact:
            _log.info("%s: late update dropped", self._ledger.id)

    def _stir(self) -> None:
        self.heard += 1
        if self._ledger.run.stalled_ms is not None:
            self._ledger.record(e.Stirred())

    def _turn_now(self) -> str | None:
        turn = self._ledger.run.turn
        # What comes before the prompt has gone out is not an answer to it (G-14).
        if turn is not None and turn.id == self._prompted:
            return turn.id
        is_settling = anyio.current_time() - self._last_turn_ended_s < self._settle_s
        return self._last_turn if is_settling else None

    async def after_batch(self) -> None:
        """Pass on what one read brought, and hold the reading while the store is behind."""
        self._ledger.board.spread(self._ledger.entry)
        if self._ledger.transcript.has_news:
            self._ledger.board.on_news()
        # The disk sets the pace of an agent that says more than can be stored.
        if self._ledger.board.log.backlog_bytes > BACKLOG_LIMIT_BYTES:
            self.is_holding = True
            await self._ledger.board.log.drain()
            self.is_holding = False

    def on_noise(self, text: str) -> None:
        """Keep a line that is no message (G-01)."""
        self._agent_log.write("stdout", text[:4000].encode("utf-8", "replace"))
        line = one_line(text, 200)
        if len(self.noise) < NOISE_QUOTED and line.strip():
            self.noise.append(line)
