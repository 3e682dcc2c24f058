"""One run's life: its process, its connection, its turns, and the wishes that its facts bring."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from devplane.acp.framing import LineTooLong
from devplane.acp.jsonrpc import Disconnected, PeerError
from devplane.agents import process as agent_process
from devplane.agents import tree
from devplane.agents.agent import Agent
from devplane.agents.link import (
    AUTH_REQUIRED,
    Link,
    NotAnAgent,
    NotContinued,
    SessionRefused,
    StartTooSlow,
    said,
)
from devplane.agents.node import major, with_node
from devplane.agents.translate import ToolBook
from devplane.core import effects
from devplane.core import events as e
from devplane.core.permission import Authority
from devplane.core.run import NEXT, ImpossibleFact, Phase, Run
from devplane.core.text import one_line
from devplane.core.wishes import conclude, not_resumed
from devplane.daemon.asking import Asking
from devplane.daemon.asks import Ask, cancelled
from devplane.daemon.board import Board
from devplane.daemon.client_files import ClientFiles
from devplane.daemon.client_terminals import ClientTerminals, client_terminals
from devplane.daemon.continuing import Continuation
from devplane.daemon.hearing import NOISE_QUOTED, Hearing
from devplane.daemon.ledger import Ledger
from devplane.daemon.limits import Limits
from devplane.daemon.opening import Opening
from devplane.daemon.permits import Permits
from devplane.daemon.rulings import JudgeIn, Rules
from devplane.daemon.settings import Settings, Wanted
from devplane.errors import DevplaneError, innermost
from devplane.paths import Home
from devplane.store.failure import StoreFailed
from devplane.store.log import Commit
from devplane.store.rows import QueuedPrompt
from devplane.transport import Connection, Handlers

_log = logging.getLogger(__name__)

EXIT_DRAIN_S = 0.5
"""How long what an agent wrote before its exit may take to come out of the pipe."""


class Driver:
    """Drives one run from its spawn to its last fact."""

    def __init__(
        self,
        board: Board,
        run_id: str,
        agent: Agent,
        *,
        home: Home,
        environ: Mapping[str, str],
        judge_in: JudgeIn,
        limits: Limits,
        wanted: Wanted,
        again: Continuation | None = None,
        queued: Mapping[str, str] | None = None,
        may_start: Callable[[Driver], bool] = lambda driver: True,
    ) -> None:
        """`again` is what a session that is taken up goes on with; `queued` are unsent prompts, by turn.

        `may_start` is asked before each turn; a no has said on the record why.
        """
        self._ledger = Ledger(board, run_id, agent)
        self._ledger.entry.performer = self
        self._id = run_id
        self._agent = agent
        self._home = home
        self.environ = environ
        """Of whoever dispatched or resumed it."""
        self._limits = limits
        self._book = ToolBook()
        self._log = agent_process.AgentLog(home.agent_logs / f"{run_id}.log")
        self._settings = Settings(self._ledger, wanted)
        self._again = again
        self._may_start = may_start
        self._hearing = Hearing(self._ledger, self._book, self._settings, limits, self._log)
        rules = Rules(judge_in, self.run.cwd, run_id)
        self.asking = Asking(self._ledger, self._book, rules, board.on_ask)
        self._permits = Permits(self._ledger, self.asking)
        self._prompts = dict(queued or {})
        if again is not None:
            self._prompts[again.turn] = again.text
            for calls, decision in again.granted:
                self.asking.late.add(calls, decision)
        self._wishes_in, self._wishes_out = anyio.create_memory_object_stream[
            tuple[Commit, tuple[effects.Wish, ...]]
        ](math.inf)
        self._over = anyio.Event()
        self.ended = anyio.Event()
        self._failure: DevplaneError | None = None
        self._stop_by: str | None = None
        self._link: Link | None = None
        self._tasks: TaskGroup | None = None

    # ---- what the daemon asks of a run

    @property
    def run(self) -> Run:
        return self._ledger.run

    def prompt(self, turn: str, text: str, by: str, *, is_next: bool = False) -> Commit:
        """Queue a prompt: what was said is stored before it is sent, or it is lost in a crash (G-21)."""
        if e.PromptQueued not in NEXT[self.run.phase]:
            # Before anything is kept of it: what was refused was not said.
            raise ImpossibleFact(f"{self.run.id} is {self.run.state}")
        at_ms = self._ledger.now_ms()
        self._prompts[turn] = text
        keeps = self.run.keeps_transcript
        self._ledger.transcript.whole("user", text, turn, at_ms)
        queued = (QueuedPrompt(self._id, turn, text, at_ms),) if keeps else ()
        return self._ledger.record(e.PromptQueued(turn, len(text), by, is_next), queued=queued)

    def note(self, fact: e.Fact) -> Commit:
        """Record what was noticed of the run from outside (see `devplane.daemon.bounds`)."""
        return self._ledger.record(fact)

    @property
    def heard(self) -> int:
        """How often the agent has said or done something: grows while it is at work."""
        return self._hearing.heard

    def cancel(self, by: str) -> Commit:
        return self._ledger.record(e.CancelAsked(by))

    def stop(self, by: str) -> Commit | None:
        """Ask for the end; `ended` is set when the agent is gone. Asking again changes nothing."""
        if self.run.phase in (Phase.CLOSING, Phase.ENDED):
            return None
        self._stop_by = by
        was_starting = self.run.phase is Phase.STARTING
        commit = self._ledger.record(e.StopAsked(by))
        if was_starting:
            self._over.set()
        return commit

    def interrupt(self) -> None:
        """End for a shutdown: the session is closed, asks stay open, the run can be resumed."""
        if self._ledger.is_shutdown:
            return
        # What a person has stopped already stays stopped.
        self._ledger.is_shutdown = self._stop_by is None
        if self._tasks is not None and self.run.phase is Phase.READY:
            self._tasks.start_soon(self._close_and_end)
        else:
            self._over.set()

    # ---- its life

    async def live(self) -> None:
        """Run the agent until it is gone; never raises for what an agent does."""
        died = "it was never started"
        try:
            died = await self._live()
        except DevplaneError as error:
            self._failure = self._failure or error
        except BaseExceptionGroup as group:
            first = innermost(group)
            if not isinstance(first, DevplaneError):
                raise
            self._failure = self._failure or first
        self._finish(died)
        await self._written()
        self._ledger.board.remove(self._id)
        self.ended.set()

    async def _live(self) -> str:
        agent = self._agent
        if agent.node is not None:
            agent = with_node(agent, await anyio.to_thread.run_sync(major))
        env = agent.environment(self.environ)
        env[tree.RUN_VARIABLE] = self._id
        env[tree.HOME_VARIABLE] = str(self._home.root)
        env["PWD"] = self.run.cwd
        async with (
            client_terminals(self.run.cwd, env, self._permits) as terminals,
            agent_process.start(
                agent.command, cwd=Path(self.run.cwd), env=env, log=self._log, eof_grace_s=agent.close_grace_s
            ) as running,
        ):
            try:
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    begins_anew = self._agent.cost_begins_anew
                    self._ledger.record(e.ProcessStarted(running.pid, running.started_s, begins_anew))
                    connection = self._connect(running, terminals)
                    self._link = Link(
                        connection,
                        self._agent.name,
                        offers_fs=agent.client_fs,
                        offers_terminal=agent.client_terminal,
                    )
                    tasks.start_soon(self._read, connection)
                    tasks.start_soon(self._perform_wishes)
                    tasks.start_soon(self._notice_exit, running)
                    tasks.start_soon(self._set_up)
                    await self._over.wait()
                    await self._wait_for_exit_status(running)
                    tasks.cancel_scope.cancel()
            finally:
                self._tasks = None
        return running.describe_end()

    def _connect(self, running: agent_process.AgentProcess, terminals: ClientTerminals) -> Connection:
        handlers = Handlers()
        handlers.on_request("session/request_permission", self.asking.on_permission)
        handlers.on_request("elicitation/create", self.asking.on_question)
        if self._agent.client_fs:
            is_empty = self._agent.missing_file_is_empty
            ClientFiles(self.run.cwd, self._permits, missing_is_empty=is_empty).serve(handlers)
        if self._agent.client_terminal:
            terminals.serve(handlers)
        handlers.on_notice = self._hearing.on_notice
        handlers.on_noise = self._hearing.on_noise
        handlers.after_batch = self._hearing.after_batch
        return Connection(running.stream, label=self._agent.name, handlers=handlers)

    async def _read(self, connection: Connection) -> None:
        try:
            await connection.run()
        except LineTooLong as error:
            self._fail(error)
        except Disconnected:
            pass
        self._over.set()

    async def _notice_exit(self, running: agent_process.AgentProcess) -> None:
        await running.exited.wait()
        # What it wrote last may still be in the pipe; a child that holds the pipe must not keep the run.
        await anyio.sleep(EXIT_DRAIN_S)
        while self._hearing.is_holding:  # noqa: ASYNC110 - the store frees the reading, bit by bit
            await anyio.sleep(EXIT_DRAIN_S)
        self._over.set()

    async def _wait_for_exit_status(self, running: agent_process.AgentProcess) -> None:
        # It closed its output: mostly it is about to exit, and its status says why.
        if self._stop_by is None and not self._ledger.is_shutdown and self._failure is None:
            with anyio.move_on_after(1.0):
                await running.exited.wait()

    async def _set_up(self) -> None:
        link = self._link
        assert link is not None
        opening = Opening(
            self._ledger, link, self._settings, self._hearing, self._limits, self._log, self._again
        )
        try:
            await opening.open()
        except (Disconnected, ImpossibleFact):
            self._over.set()
        except BaseExceptionGroup as group:
            self._fail(self._start_failure(innermost(group)))
        except DevplaneError as error:
            self._fail(self._start_failure(error))

    def _start_failure(self, error: DevplaneError | BaseException) -> DevplaneError | None:
        if isinstance(error, Disconnected):
            return None
        if isinstance(error, PeerError):
            return SessionRefused(f"{self._agent.name} refused the handshake: {said(error)}")
        if isinstance(error, SessionRefused) and self._agent.sign_in and not error.hint:
            error.hint = self._agent.sign_in
        if isinstance(error, DevplaneError):
            return error
        raise error

    def _finish(self, died: str) -> None:
        if self._failure is not None and not self._ledger.is_shutdown and self._stop_by is None:
            hint = self._failure.hint or ""
            reason = str(self._failure)
            if isinstance(self._failure, NotAnAgent | StartTooSlow):
                reason = self._with_words(reason)
            ending = e.RunEnded("failed", reason, hint)
            if self.run.resumed_from:
                ending = not_resumed(self.run, reason, hint)
        else:
            ending = conclude(
                self.run, died=died, stop_by=self._stop_by, is_shutdown=self._ledger.is_shutdown
            )
            if ending.ending == "failed" and self.run.phase is Phase.STARTING and self._hearing.noise:
                quoted = " / ".join(self._hearing.noise[:NOISE_QUOTED])
                ending = e.RunEnded(
                    "failed", f"not an ACP agent: it wrote {quoted!r}; {died}", "Look at: devplane agents."
                )
        try:
            if ending.ending != "interrupted":
                for ask in list(self.run.asks):
                    self.asking.withdraw(ask.id, "the agent ended")
            unsent = tuple((self._id, each.turn) for each in self.run.queue)
            self._ledger.record(ending, unqueued=unsent if ending.ending != "interrupted" else ())
        except ImpossibleFact:
            _log.exception("%s could not be ended in the record", self._id)

    def _with_words(self, reason: str) -> str:
        words = self._hearing.noise[:NOISE_QUOTED]
        if not words:
            words = self._log.first_and_last()[:NOISE_QUOTED]
        return f"{reason}; it wrote: {' / '.join(words)}" if words else reason

    async def _written(self) -> None:
        with suppress(StoreFailed):
            self._ledger.board.flush(self._ledger.entry)
            await self._ledger.board.log.drain()

    def _fail(self, error: DevplaneError | None) -> None:
        if error is not None and self._failure is None:
            self._failure = error
        self._over.set()

    # ---- wishes

    def wish(self, commit: Commit, wished: tuple[effects.Wish, ...]) -> None:
        self._wishes_in.send_nowait((commit, wished))

    async def _perform_wishes(self) -> None:
        async for commit, wished in self._wishes_out:
            try:
                await commit
            except StoreFailed as error:
                # What is not on record must not go on: the run ends here.
                self._fail(error)
                return
            for each in wished:
                try:
                    await self._perform(each)
                except ImpossibleFact:
                    _log.info("%s: %s no longer applies", self._id, each)

    async def _perform(self, wish: effects.Wish) -> None:
        link, tasks = self._link, self._tasks
        assert link is not None
        assert tasks is not None
        match wish:
            case effects.StartTurn():
                if self._ledger.is_shutdown:
                    return  # it stays queued: a resume sends it (G-21)
                if not self._may_start(self):
                    return
                commit = self._ledger.record(e.TurnStarted(wish.turn), unqueued=((self._id, wish.turn),))
                await commit
                tasks.start_soon(self._take_turn, wish.turn)
            case effects.SendCancel():
                tasks.start_soon(self._send_cancel, wish.turn, tuple(self.asking.open.values()))
            case effects.CancelAsk():
                ask = self.asking.open.get(wish.ask)
                # A turn that ends because the daemon does leaves its asks open: a resume asks again.
                is_ours = self._ledger.is_shutdown and wish.authority == Authority.NOBODY
                if ask is not None and self.run.has_ask(ask.id) and not is_ours:
                    by = self._stop_by or "nobody"
                    self.asking.answer(ask, cancelled(ask.kind), wish.authority, by, "the turn ended")
            case effects.Reply():
                ask = self.asking.open.pop(wish.ask, None)
                if ask is not None:
                    ask.release()
            case effects.EndAgent():
                tasks.start_soon(self._wind_down)

    async def _take_turn(self, turn: str) -> None:
        link = self._link
        assert link is not None
        text = self._prompts.pop(turn, "")
        self._hearing.prompt_goes_out(turn)
        self._book.forget_closed()
        self.asking.grants.clear()
        if self._again is None or turn != self._again.turn:
            self.asking.late.clear()
        heard_before = self._ledger.transcript.next_pos
        try:
            result = await link.prompt(self.run.session, text)
        except PeerError as error:
            self._end_turn(turn, e.TurnFailed(turn, self._prompt_refused(error)))
            self._doubt(heard_before, "" if error.code == AUTH_REQUIRED else said(error))
        except Disconnected:
            return
        else:
            reason = one_line(result.stop_reason or "", 60)
            self._end_turn(turn, e.TurnEnded(turn, reason, _counts(result.usage)))
            self._doubt(heard_before, "it refused" if reason == "refusal" else "")

    def _doubt(self, heard_before: int, wrong: str) -> None:
        """Look at the first turn of a session that was taken up: `wrong` may mean lost (G-13)."""
        is_first, self._again = self._again is not None, None
        # The turn's own end is one place; anything more is something that the agent said or did.
        has_said_nothing = self._ledger.transcript.next_pos <= heard_before + 1
        if not is_first or not wrong or not has_said_nothing or self.run.phase is not Phase.READY:
            return
        why = f"{self._agent.name} said that it continues the session, and does not know it: {wrong}"
        self._ledger.record(e.SessionLost(why))
        hint = f"Begin a conversation that knows this one: devplane dispatch --from {self._id}."
        self._fail(NotContinued(why, hint=hint))

    def _prompt_refused(self, error: PeerError) -> str:
        text = said(error)
        link = self._link
        if error.code == AUTH_REQUIRED and link is not None:
            offers = "; ".join(link.sign_in) or self._agent.sign_in or ""
            return f"{text}. This agent may need signing in first. {offers}".strip()
        return text

    def _end_turn(self, turn: str, fact: e.Fact) -> None:
        if self.run.turn is None or self.run.turn.id != turn:
            _log.info("%s: late answer to %s dropped", self._id, turn)
            return
        self._hearing.turn_ended(turn)
        self._ledger.record(fact)
        if self._tasks is not None:
            self._tasks.start_soon(self._settle, turn)

    async def _settle(self, turn: str) -> None:
        await anyio.sleep(self._limits.settle_s)
        if self._hearing.is_last(turn):
            self._ledger.transcript.close()
            commit = self._ledger.board.flush(self._ledger.entry)
            if commit is not None:
                await commit
        self._ledger.board.announce(self._id, {"kind": "settled", "turn": turn})

    async def _send_cancel(self, turn: str, answering: tuple[Ask, ...]) -> None:
        link = self._link
        assert link is not None
        # First the answers to what is open: they are on their way to the store (G-20).
        with anyio.move_on_after(self._limits.cancel_s):
            for ask in answering:
                await ask.told.wait()
        # Their answers may have ended the turn, and the next one is not to be cancelled.
        if self.run.turn is None or self.run.turn.id != turn:
            return
        if self._tasks is not None:
            # Its bound must not wait for a pipe that the agent does not read.
            self._tasks.start_soon(self._watch_cancel, turn)
        with suppress(Disconnected):
            await link.cancel(self.run.session)

    async def _watch_cancel(self, turn: str) -> None:
        await anyio.sleep(self._limits.cancel_s)
        if self.run.turn is not None and self.run.turn.id == turn:
            self._end_turn(
                turn, e.TurnFailed(turn, "the agent did not acknowledge the cancel", cancelled=True)
            )

    async def _wind_down(self) -> None:
        with anyio.move_on_after(self._limits.cancel_s):
            while self.run.turn is not None or self.run.asks:
                await self._ledger.changed()
        await self._close_and_end()

    async def _close_and_end(self) -> None:
        link = self._link
        if link is not None and self.run.session and self.run.can_close:
            await link.close(self.run.session, self._limits.close_s)
        self._over.set()


def _counts(usage: dict[str, Any] | None) -> dict[str, Any] | None:
    """The plain numbers and words of a usage report: what is nested is no count."""
    if usage is None:
        return None
    return {key: value for key, value in usage.items() if isinstance(value, int | float | str)}
