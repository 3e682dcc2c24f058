"""How a session comes about: the handshake, then a new one, or the recorded one taken up again."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import anyio

from devplane.agents.agent import Agent
from devplane.agents.link import Link, NotContinued, Reopen, within
from devplane.agents.process import AgentLog
from devplane.core import events as e
from devplane.daemon.continuing import Continuation
from devplane.daemon.hearing import Hearing
from devplane.daemon.ledger import Ledger
from devplane.daemon.limits import Limits
from devplane.daemon.replaying import Replay
from devplane.daemon.settings import Settings
from devplane.daemon.withdrawn import withdrawn
from devplane.store.rows import Batch, QueuedPrompt, SeenRow

_log = logging.getLogger(__name__)

MINUTE_MS = 60_000


@dataclass(slots=True)
class Opening:
    """The start of one run's session, once its agent's process is there."""

    ledger: Ledger
    link: Link
    settings: Settings
    hearing: Hearing
    limits: Limits
    log: AgentLog
    again: Continuation | None = None
    """What a session that is taken up again goes on with; ``None``: a new session is wanted."""

    @property
    def agent(self) -> Agent:
        return self.ledger.agent

    async def open(self) -> None:
        """Shake hands, open the session, and put it in the mode that is wanted.

        The fact that it is open comes last: the first prompt goes out with it, and the mode must be
        in force before.

        Raises:
            DevplaneError: The agent cannot be had, or not this session; the message says why.
        """
        introduced, raw = await self._within("initialize", self.link.initialize())
        self.ledger.record(introduced)
        self._remember(introduced, raw)
        self._compare_version(introduced)
        if self.again is None:
            session, result = await self._within(
                "session/new", self.link.open_session(self.ledger.run.cwd, self.settings.told)
            )
            await self._settle(session, result)
            self.ledger.record(e.SessionOpened(session, "new"))
        else:
            await self._reopen(introduced, self.again)

    async def _reopen(self, introduced: e.AgentIntroduced, again: Continuation) -> None:
        session, how = self.ledger.run.session, self._way(introduced)
        if how == "load":
            await self._wait_for_the_next_minute()
            self.hearing.replay = Replay()
        reopened = self.link.reopen(how, session, self.ledger.run.cwd, self.settings.told)
        result = await self._within(f"session/{how}", reopened)
        await self._settle(session, result)
        if self.hearing.replay is not None:
            await self._end_replay(self.hearing.replay, again)
        facts: list[e.Fact] = [e.AskWithdrawn(ask.id, AGAIN) for ask in self.ledger.run.asks]
        queued: tuple[QueuedPrompt, ...] = ()
        if again.text:
            turn, now_ms = again.turn, self.ledger.now_ms()
            self.ledger.transcript.whole("user", again.text, turn, now_ms)
            facts.append(e.PromptQueued(turn, len(again.text), "devplane", is_next=True))
            if self.ledger.run.keeps_transcript:
                queued = (QueuedPrompt(self.ledger.id, turn, again.text, now_ms),)
        closed = withdrawn(again.unanswered, self.ledger.now_ms(), AGAIN)
        self.ledger.record(*facts, e.SessionOpened(session, how), queued=queued, **closed)

    def _way(self, introduced: e.AgentIntroduced) -> Reopen:
        if introduced.can_resume:
            return "resume"
        if introduced.can_load:
            return "load"
        raise NotContinued(
            f"{self.agent.name} offers neither session/resume nor session/load",
            hint=f"Begin a conversation that knows this one: devplane dispatch --from {self.ledger.id}.",
        )

    async def _wait_for_the_next_minute(self) -> None:
        """Keep an agent from destroying the session that it is to load (real-agents quirk 1)."""
        if self.agent.load_warning:
            self.ledger.record(e.Noted("warning", self.agent.load_warning))
        opened_minute = self.ledger.run.opened_ms // MINUTE_MS
        now_ms = self.ledger.now_ms()
        if not self.agent.one_opening_a_minute or now_ms // MINUTE_MS != opened_minute:
            return
        left_s = MINUTE_MS / 1000 - now_ms % MINUTE_MS / 1000
        self.ledger.record(
            e.Noted(
                "info",
                f"waits {left_s:.0f} s: {self.agent.name} destroys a session that is loaded within the"
                " minute in which it was opened",
            )
        )
        while self.ledger.now_ms() // MINUTE_MS == opened_minute:  # noqa: ASYNC110 - the wall's clock tells nobody
            await anyio.sleep(min(1.0, left_s))

    async def _end_replay(self, replay: Replay, again: Continuation) -> None:
        await replay.quiet(self.limits.replay_quiet_s, self.limits.replay_s)
        self.hearing.replay = None
        facts = [each for each in replay.facts(self.ledger.run) if not self.settings.is_known(each)]
        if unknown := replay.unknown_calls(again.known_calls):
            text = f"the session has {unknown} tool calls that were not made under Devplane"
            facts.append(e.Noted("info", text))
        self.ledger.record(*facts)

    async def _settle(self, session: str, result: dict[str, Any]) -> None:
        settle = self.settings.settle(self.link, session, result)
        limit_s = self.limits.start_s
        step = "the setting of its mode and model"
        await within(step, self.agent.name, limit_s, lambda: False, limit_s, settle)

    async def _within(self, step: str, wait: Awaitable[Any]) -> Any:
        limits = self.limits
        return await within(step, self.agent.name, limits.start_s, self._is_busy, limits.fetch_s, wait)

    def _is_busy(self) -> bool:
        quiet_s = anyio.current_time() - self.log.last_line_at_s
        return self.agent.fetches or (self.log.lines > 0 and quiet_s < self.limits.fetch_quiet_s)

    def _remember(self, introduced: e.AgentIntroduced, raw: dict[str, Any]) -> None:
        command = shlex.join(self.agent.command)
        seen = SeenRow(self.agent.id, command, introduced.version or None, self.ledger.now_ms(), raw)
        self.ledger.board.log.submit(Batch(seen=(seen,)))

    def _compare_version(self, introduced: e.AgentIntroduced) -> None:
        wanted = self.agent.expected_version
        if wanted and introduced.version and introduced.version != wanted:
            text = f"{self.agent.id} reports version {introduced.version}, its pin is {wanted}"
            self.ledger.record(e.Noted("warning", text))


AGAIN = "its session was taken up again: what the agent still wants it asks again"
