"""One run's life: its process, its connection, its turns, and the wishes that its facts bring."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from devplane.acp import messages as acp
from devplane.acp.framing import LineTooLong
from devplane.acp.jsonrpc import Disconnected, PeerError
from devplane.agents import process as agent_process
from devplane.agents import tree
from devplane.agents.agent import Agent
from devplane.agents.link import Link, NotAnAgent, SessionRefused, said, within
from devplane.agents.node import major, with_node
from devplane.agents.translate import ToolBook, call_of, facts_of, options_of, settings_of
from devplane.core import effects, ids
from devplane.core import events as e
from devplane.core.permission import Authority, Call, Ruling, Verdict, pick_option
from devplane.core.run import ImpossibleFact, Phase, Run, conclude
from devplane.core.text import one_line
from devplane.daemon.asks import OUTCOMES, Ask, Chosen, cancelled
from devplane.daemon.board import Board, Entry
from devplane.daemon.limits import Limits
from devplane.errors import DevplaneError
from devplane.paths import Home
from devplane.store.failure import StoreFailed
from devplane.store.log import Commit
from devplane.store.rows import Batch, DecisionRow, SeenRow
from devplane.transport import Connection, Handlers

_log = logging.getLogger(__name__)

Policy = Callable[[Call], Ruling]

LATE_UPDATE_METHODS = ("session/update",)
NOISE_QUOTED = 3


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
        policy: Policy,
        limits: Limits,
        model: str | None = None,
        mode: str | None = None,
    ) -> None:
        self._board = board
        self._entry: Entry = board.entries[run_id]
        self._entry.performer = self
        self._id = run_id
        self._agent = agent
        self._home = home
        self._environ = environ
        self._policy = policy
        self._limits = limits
        self._wanted_model = model
        self._wanted_mode = mode
        self._book = ToolBook()
        self._prompts: dict[str, str] = {}
        self.asks: dict[str, Ask] = {}
        self._wishes_in, self._wishes_out = anyio.create_memory_object_stream[
            tuple[Commit, tuple[effects.Wish, ...]]
        ](float("inf"))
        self._over = anyio.Event()
        self.ended = anyio.Event()
        self._changed = anyio.Event()
        self._failure: DevplaneError | None = None
        self._stop_by: str | None = None
        self._is_shutdown = False
        self._link: Link | None = None
        self._process: agent_process.AgentProcess | None = None
        self._tasks: TaskGroup | None = None
        self._prompted = ""
        self._last_turn = ""
        self._last_turn_ended_s = -1e9
        self._noise: list[str] = []
        self._foreign_sessions: set[str] = set()

    # ---- what the daemon asks of a run

    @property
    def run(self) -> Run:
        return self._entry.run

    def prompt(self, turn: str, text: str, by: str) -> Commit:
        """Queue a prompt: what was said is stored before it is sent, or it is lost in a crash (G-21)."""
        from devplane.store.rows import QueuedPrompt

        at_ms = self._board.clock_ms()
        self._prompts[turn] = text
        keeps = self.run.keeps_transcript
        self._entry.transcript.whole("user", text, turn, at_ms)
        queued = (QueuedPrompt(self._id, turn, text, at_ms),) if keeps else ()
        return self._record(e.PromptQueued(turn, len(text), by), queued=queued)

    def cancel(self, by: str) -> Commit:
        return self._record(e.CancelAsked(by))

    def stop(self, by: str) -> Commit | None:
        """Ask for the end; `ended` is set when the agent is gone. Asking again changes nothing."""
        if self.run.phase in (Phase.CLOSING, Phase.ENDED):
            return None
        self._stop_by = by
        was_starting = self.run.phase is Phase.STARTING
        commit = self._record(e.StopAsked(by))
        if was_starting:
            self._over.set()
        return commit

    def interrupt(self) -> None:
        """End for a shutdown: the session is closed, asks stay open, the run can be resumed."""
        if self._is_shutdown:
            return
        # What a person has stopped already stays stopped.
        self._is_shutdown = self._stop_by is None
        if self._tasks is not None and self.run.phase is Phase.READY:
            self._tasks.start_soon(self._close_and_end)
        else:
            self._over.set()

    def answer(self, ask: Ask, chosen: Chosen, authority: str, by: str, reason: str = "") -> Commit:
        """Record an answer; the agent hears of it when the record is committed (invariant 2).

        Raises:
            ImpossibleFact: It is no longer open.
        """
        commit = self._record(
            e.AskAnswered(ask.id, chosen.outcome, chosen.option, authority, by),
            asks=(ask.row("answered", self._board.clock_ms(), by),),
            decisions=(self._decision(ask, chosen, authority, by, reason),),
        )
        # Only now: an answer that came too late must not replace the one that is being stored.
        ask.pending = chosen.result
        return commit

    # ---- its life

    async def live(self) -> None:
        """Run the agent until it is gone; never raises for what an agent does."""
        died = "it was never started"
        try:
            died = await self._live()
        except DevplaneError as error:
            self._failure = self._failure or error
        except BaseExceptionGroup as group:
            first = _first(group)
            if not isinstance(first, DevplaneError):
                raise
            self._failure = self._failure or first
        self._finish(died)
        await self._written()
        self._board.remove(self._id)
        self.ended.set()

    async def _live(self) -> str:
        agent = self._agent
        if agent.node is not None:
            agent = with_node(agent, await anyio.to_thread.run_sync(major))
        env = agent.environment(self._environ)
        env[tree.RUN_VARIABLE] = self._id
        env[tree.HOME_VARIABLE] = str(self._home.root)
        env["PWD"] = self.run.cwd
        log = agent_process.AgentLog(self._home.agent_logs / f"{self._id}.log")
        async with agent_process.start(
            agent.command, cwd=Path(self.run.cwd), env=env, log=log, eof_grace_s=agent.close_grace_s
        ) as running:
            self._process = running
            try:
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    self._record(e.ProcessStarted(running.pid, running.started_s))
                    connection = self._connect(running)
                    self._link = Link(connection, self._agent.name)
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

    def _connect(self, running: agent_process.AgentProcess) -> Connection:
        handlers = Handlers()
        handlers.on_request("session/request_permission", self._on_permission)
        handlers.on_request("elicitation/create", self._on_question)
        handlers.on_notice = self._on_notice
        handlers.on_noise = self._on_noise
        handlers.after_batch = self._after_batch
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
        await anyio.sleep(0.5)
        self._over.set()

    async def _wait_for_exit_status(self, running: agent_process.AgentProcess) -> None:
        # It closed its output: mostly it is about to exit, and its status says why.
        if self._stop_by is None and not self._is_shutdown and self._failure is None:
            with anyio.move_on_after(1.0):
                await running.exited.wait()

    async def _set_up(self) -> None:
        link, running = self._link, self._process
        assert link is not None
        assert running is not None
        name = self._agent.name

        def is_busy() -> bool:
            now = anyio.current_time()
            quiet_s = now - running.log.last_line_at_s
            return self._agent.fetches or (running.log.lines > 0 and quiet_s < self._limits.fetch_quiet_s)

        limits = self._limits
        try:
            introduced, raw = await within(
                "initialize", name, limits.start_s, is_busy, limits.fetch_s, link.initialize()
            )
            self._record(introduced)
            self._remember(introduced, raw)
            self._compare_version(introduced)
            session, result = await within(
                "session/new",
                name,
                limits.start_s,
                is_busy,
                limits.fetch_s,
                link.open_session(self.run.cwd, self._settings_told),
            )
            await self._settle_settings(session, result)
            # Only now: the first prompt goes out with this fact, and the mode must be in force before.
            self._record(e.SessionOpened(session, "new"))
        except (Disconnected, ImpossibleFact):
            self._over.set()
        except BaseExceptionGroup as group:
            self._fail(self._start_failure(_first(group)))
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

    def _remember(self, introduced: e.AgentIntroduced, raw: dict[str, Any]) -> None:
        command = shlex.join(self._agent.command)
        seen = SeenRow(self._agent.id, command, introduced.version or None, self._board.clock_ms(), raw)
        self._board.log.submit(Batch(seen=(seen,)))

    def _compare_version(self, introduced: e.AgentIntroduced) -> None:
        wanted = self._agent.expected_version
        if wanted and introduced.version and introduced.version != wanted:
            self._record(
                e.Noted(
                    "warning",
                    f"{self._agent.id} reports version {introduced.version}, its pin is {wanted}",
                )
            )

    async def _settle_settings(self, session: str, result: dict[str, Any]) -> None:
        """Put the session in the mode and model that were wanted, and say what cannot be had."""
        link = self._link
        assert link is not None
        mode = self._wanted_mode or self._agent.asking.set_mode
        if mode is not None and self.run.mode != mode:
            await self._set_mode(session, result, mode)
        if self._wanted_model is not None:
            await self._set_model(session, result, self._wanted_model)
        if self.run.asks_first is False:
            shown = self.run.mode_name or self.run.mode
            self._record(e.Noted("warning", f"decides without asking (mode {shown})"))

    async def _set_mode(self, session: str, result: dict[str, Any], mode: str) -> None:
        link = self._link
        assert link is not None
        modes = result.get("modes")
        has_modes = isinstance(modes, dict) and bool(modes.get("availableModes"))
        option = _option(result, "mode")
        if not has_modes and option is None:
            if self._wanted_mode is not None:
                raise SessionRefused(
                    f"{self._agent.name} has no modes; {mode!r} cannot be set", hint="Leave out --mode."
                )
            return

        def told(answer: Any) -> None:
            if not any(isinstance(fact, e.ModeSeen) for fact in self._settings_told(answer)):
                # An answer that says nothing means that the mode is as asked.
                self._settings_told({"modes": _with_current(modes, mode)})

        try:
            if has_modes:
                await link.set_mode(session, mode, told)
            else:
                assert option is not None
                await link.set_option(session, option, mode, told)
        except PeerError as error:
            known = ", ".join(_mode_names(result))
            raise SessionRefused(
                f"{self._agent.name} refused mode {mode!r}: {said(error)}", hint=f"Its modes: {known}."
            ) from None

    async def _set_model(self, session: str, result: dict[str, Any], model: str) -> None:
        link = self._link
        assert link is not None
        option = _option(result, "model")
        if option is None:
            raise SessionRefused(
                f"{self._agent.name} offers no choice of model; {model!r} cannot be set",
                hint="Leave out --model.",
            )

        def told(answer: Any) -> None:
            if not self._settings_told(answer):
                self._setting_changed(e.OptionSeen(option, "model", model))

        try:
            await link.set_option(session, option, model, told)
        except PeerError as error:
            raise SessionRefused(f"{self._agent.name} refused model {model!r}: {said(error)}") from None

    def _finish(self, died: str) -> None:
        if self._failure is not None and not self._is_shutdown and self._stop_by is None:
            hint = self._failure.hint or ""
            reason = str(self._failure)
            if isinstance(self._failure, NotAnAgent) or "gave no answer" in reason:
                reason = self._with_words(reason)
            ending = e.RunEnded("failed", reason, hint)
        else:
            ending = conclude(self.run, died=died, stop_by=self._stop_by, is_shutdown=self._is_shutdown)
            if ending.ending == "failed" and self.run.phase is Phase.STARTING and self._noise:
                quoted = " / ".join(self._noise[:NOISE_QUOTED])
                ending = e.RunEnded(
                    "failed", f"not an ACP agent: it wrote {quoted!r}; {died}", "Look at: devplane agents."
                )
        try:
            if ending.ending != "interrupted":
                for ask in list(self.run.asks):
                    self._withdraw(ask.id, "the agent ended")
            unsent = tuple((self._id, each.turn) for each in self.run.queue)
            self._record(ending, unqueued=unsent if ending.ending != "interrupted" else ())
        except ImpossibleFact:
            _log.exception("%s could not be ended in the record", self._id)

    def _with_words(self, reason: str) -> str:
        words = self._noise[:NOISE_QUOTED]
        if self._process is not None and not words:
            words = self._process.log.first_and_last()[:NOISE_QUOTED]
        return f"{reason}; it wrote: {' / '.join(words)}" if words else reason

    async def _written(self) -> None:
        with suppress(StoreFailed):
            self._board.flush(self._entry)
            await self._board.log.drain()

    def _fail(self, error: DevplaneError | None) -> None:
        if error is not None and self._failure is None:
            self._failure = error
        self._over.set()

    def _record(self, *facts: e.Fact, **rows: Any) -> Commit:
        commit = self._board.record(self._id, *facts, **rows)
        self._changed.set()
        self._changed = anyio.Event()
        return commit

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
                if self._is_shutdown:
                    return  # it stays queued: a resume sends it (G-21)
                commit = self._record(e.TurnStarted(wish.turn), unqueued=((self._id, wish.turn),))
                await commit
                tasks.start_soon(self._take_turn, wish.turn)
            case effects.SendCancel():
                tasks.start_soon(self._send_cancel, wish.turn, tuple(self.asks.values()))
            case effects.CancelAsk():
                ask = self.asks.get(wish.ask)
                # A turn that ends because the daemon does leaves its asks open: a resume asks again.
                is_ours = self._is_shutdown and wish.authority == Authority.NOBODY
                if ask is not None and self.run.has_ask(ask.id) and not is_ours:
                    by = self._stop_by or "nobody"
                    self.answer(ask, cancelled(ask.kind), wish.authority, by, "the turn ended")
            case effects.Reply():
                ask = self.asks.pop(wish.ask, None)
                if ask is not None:
                    ask.release()
            case effects.EndAgent():
                tasks.start_soon(self._wind_down)

    async def _take_turn(self, turn: str) -> None:
        link = self._link
        assert link is not None
        text = self._prompts.pop(turn, "")
        self._prompted = turn
        self._book.forget_closed()
        try:
            result = await link.prompt(self.run.session, text)
        except PeerError as error:
            self._end_turn(turn, e.TurnFailed(turn, self._prompt_refused(error)))
        except Disconnected:
            return
        else:
            reason = one_line(result.stop_reason or "", 60)
            self._end_turn(turn, e.TurnEnded(turn, reason, result.usage))

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
        self._last_turn, self._last_turn_ended_s = turn, anyio.current_time()
        self._record(fact)
        if self._tasks is not None:
            self._tasks.start_soon(self._settle, turn)

    async def _settle(self, turn: str) -> None:
        await anyio.sleep(self._limits.settle_s)
        if self._entry.run.turn is None and self._last_turn == turn:
            self._entry.transcript.close()
            commit = self._board.flush(self._entry)
            if commit is not None:
                await commit
        self._board.announce(self._id, {"kind": "settled", "turn": turn})

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
        with suppress(Disconnected):
            await link.cancel(self.run.session)
        await self._watch_cancel(turn)

    async def _watch_cancel(self, turn: str) -> None:
        await anyio.sleep(self._limits.cancel_s)
        if self.run.turn is not None and self.run.turn.id == turn:
            self._end_turn(
                turn, e.TurnFailed(turn, "the agent did not acknowledge the cancel", cancelled=True)
            )

    async def _wind_down(self) -> None:
        with anyio.move_on_after(self._limits.cancel_s):
            while self.run.turn is not None or self.run.asks:
                await self._changed.wait()
        await self._close_and_end()

    async def _close_and_end(self) -> None:
        link = self._link
        if link is not None and self.run.session and self.run.can_close:
            await link.close(self.run.session, self._limits.close_s)
        self._over.set()

    # ---- what the agent says

    def _on_notice(self, method: str, params: dict[str, Any] | None) -> None:
        if method != "session/update" or not isinstance(params, dict):
            return
        update = params.get("update")
        if not isinstance(update, dict):
            return
        session = params.get("sessionId")
        if self.run.session and session != self.run.session and isinstance(session, str):
            if session not in self._foreign_sessions and len(self._foreign_sessions) < 100:
                self._foreign_sessions.add(session)
                _log.warning("%s: updates for a session it does not have: %r", self._id, session[:100])
            return
        chunk = acp.chunk_of(update)
        if chunk is not None:
            role, message, text = chunk
            if role != "user":
                self._entry.transcript.chunk(role, message, text, self._turn_now(), self._board.clock_ms())
            return
        try:
            for fact in facts_of(update, self._book):
                if not self._is_known(fact):
                    self._record(fact)
            for fact in settings_of(update, self._agent.asking):
                self._setting_changed(fact)
        except ImpossibleFact:
            _log.info("%s: late update dropped", self._id)

    def _settings_told(self, result: Any) -> list[e.Fact]:
        """Record what an answer says of mode and options, in the order of the wire: an update that
        came after it is newer."""
        facts = settings_of(result, self._agent.asking) if isinstance(result, dict) else []
        for fact in facts:
            self._setting_changed(fact)
        return facts

    def _setting_changed(self, fact: e.Fact) -> None:
        if self._is_known(fact):
            return
        self._record(fact)
        # While starting the mode is still being set; what it ends in is said then.
        is_loose = isinstance(fact, e.ModeSeen) and fact.asks_first is False
        if is_loose and self.run.phase is not Phase.STARTING:
            self._record(e.Noted("warning", f"now decides without asking (mode {self.run.mode})"))

    def _is_known(self, fact: e.Fact) -> bool:
        """Whether the run says as much already: agents repeat their settings with every turn."""
        run = self.run
        match fact:
            case e.ModeSeen():
                return fact.mode == run.mode
            case e.OptionSeen():
                return (fact.option, fact.category, fact.value) in run.options
            case e.CommandsSeen():
                return fact.names == run.commands
            case e.TitleGiven():
                return fact.title == run.title
            case e.PlanChanged():
                return fact.entries == run.plan
            case _:
                return False

    def _turn_now(self) -> str | None:
        turn = self._entry.run.turn
        # What comes before the prompt has gone out is not an answer to it (G-14).
        if turn is not None and turn.id == self._prompted:
            return turn.id
        is_settling = anyio.current_time() - self._last_turn_ended_s < self._limits.settle_s
        return self._last_turn if is_settling else None

    async def _after_batch(self) -> None:
        self._board.spread(self._entry)
        if self._entry.transcript.has_news:
            self._board.on_news()
        # The disk sets the pace of an agent that says more than can be stored.
        if self._board.log.backlog_bytes > BACKLOG_LIMIT_BYTES:
            await self._board.log.drain()

    def _on_noise(self, text: str) -> None:
        if self._process is not None:
            self._process.log.write("stdout", text[:4000].encode("utf-8", "replace"))
        line = one_line(text, 200)
        if len(self._noise) < NOISE_QUOTED and line.strip():
            self._noise.append(line)

    # ---- what the agent asks

    async def _on_permission(self, params: dict[str, Any], call: Any) -> dict[str, Any]:
        request = acp.PermissionRequest.model_validate(params)
        options = options_of(request)
        if self._answers_nothing_more():
            return cancelled("permission").result
        call_id = request.call.id
        changed = self._book.merge(call_id, params["toolCall"], is_asked=True)
        if changed is not None:
            self._record(changed)
        record = self._book.get(call_id)
        wanted = call_of(record, self._agent, self.run.cwd)
        ask = Ask(
            id=ids.make("a", os.urandom(ids.ID_BYTES)),
            run=self._id,
            kind="permission",
            title=one_line(record.title or wanted.subject or call_id, 500),
            asked_ms=self._board.clock_ms(),
            tool=wanted.tool,
            subject=wanted.subject,
            options=options,
            payload={
                "call": call_id,
                "tool": wanted.tool,
                "tool_kind": record.kind,
                "subject": wanted.subject,
                "content": record.content,
                "options": [{"id": each.id, "name": each.name, "kind": each.kind} for each in options],
            },
        )
        asked = e.PermissionAsked(ask.id, call_id, ask.title, ask.tool, ask.subject[:2000], options)
        ruling = self._policy(wanted)
        ruled = _ruled(ruling, options)
        self.asks[ask.id] = ask
        if ruled is None:
            commit = self._record(asked, asks=(ask.row(),))
        else:
            ask.pending = ruled.result
            commit = self._record(
                asked,
                e.AskAnswered(ask.id, ruled.outcome, ruled.option, Authority.RULE, ruling.rule),
                decisions=(self._decision(ask, ruled, Authority.RULE, ruling.rule, ruling.reason, ruling),),
            )
        return await self._answer_to(ask, call, commit)

    async def _on_question(self, params: dict[str, Any], call: Any) -> dict[str, Any]:
        request = acp.FormRequest.model_validate(params)
        if self._answers_nothing_more():
            return cancelled("question").result
        ask = Ask(
            id=ids.make("a", os.urandom(ids.ID_BYTES)),
            run=self._id,
            kind="question",
            title=one_line(request.message or "a question", 500),
            asked_ms=self._board.clock_ms(),
            payload={"message": request.message, "form": request.form},
        )
        self.asks[ask.id] = ask
        commit = self._record(e.QuestionAsked(ask.id, ask.title, request.form), asks=(ask.row(),))
        return await self._answer_to(ask, call, commit)

    def _answers_nothing_more(self) -> bool:
        turn = self.run.turn
        is_ending = self._is_shutdown or self.run.phase in (Phase.CLOSING, Phase.ENDED)
        return is_ending or (turn is not None and turn.is_cancelling)

    async def _answer_to(self, ask: Ask, call: Any, commit: Commit) -> dict[str, Any]:
        """Wait for the answer; whatever ends the wait from the agent's side withdraws the ask."""
        try:
            await commit
            await ask.answered.wait()
        except anyio.get_cancelled_exc_class():
            if not self._is_shutdown and self.run.has_ask(ask.id):
                is_withdrawn = bool(getattr(call, "withdrawn", False))
                why = "the agent took the request back" if is_withdrawn else "the agent ended"
                self._withdraw(ask.id, why)
            raise
        finally:
            ask.told.set()
        assert ask.answer is not None
        return ask.answer

    def _withdraw(self, ask_id: str, why: str) -> None:
        ask = self.asks.pop(ask_id, None)
        if ask is None:
            self._record(e.AskWithdrawn(ask_id, why))
            return
        chosen = Chosen("withdrawn", "", {})
        self._record(
            e.AskWithdrawn(ask_id, why),
            asks=(ask.row("withdrawn", self._board.clock_ms(), "nobody"),),
            decisions=(self._decision(ask, chosen, Authority.NOBODY, "nobody", why),),
        )

    def _decision(
        self, ask: Ask, chosen: Chosen, authority: str, by: str, reason: str, ruling: Ruling | None = None
    ) -> DecisionRow:
        return DecisionRow(
            at_ms=self._board.clock_ms(),
            run=self._id,
            tool=ask.tool or ask.kind,
            subject=ask.subject or ask.title,
            verdict=chosen.outcome,
            authority=str(authority),
            ask=ask.id,
            rule=(ruling.rule or None) if ruling is not None else None,
            file=(ruling.file or None) if ruling is not None else None,
            option_id=chosen.option or None,
            reason=reason or (f"answered by {by}" if by else None),
        )


AUTH_REQUIRED = -32000
BACKLOG_LIMIT_BYTES = 8 << 20
"""Unwritten bytes at which an agent's output is no longer read."""


def _ruled(ruling: Ruling, options: tuple[Any, ...]) -> Chosen | None:
    """The answer that a ruling gives, or ``None`` when a person must."""
    if ruling.verdict is Verdict.ALLOW:
        option = pick_option(Verdict.ALLOW, options)
        if option is None:
            return None
        return Chosen(OUTCOMES[option.kind], option.id, acp.permission_selected(option.id))
    if ruling.verdict is Verdict.DENY:
        option = pick_option(Verdict.DENY, options)
        if option is None:
            return Chosen("deny", "", acp.permission_cancelled())
        return Chosen(OUTCOMES[option.kind], option.id, acp.permission_selected(option.id))
    return None


def _option(result: dict[str, Any], category: str) -> str | None:
    """The id of the config option of `category`, if the session offers one."""
    options = result.get("configOptions")
    for each in options if isinstance(options, list) else ():
        if isinstance(each, dict) and category in (each.get("category"), each.get("id")):
            option = each.get("id")
            return option if isinstance(option, str) else None
    return None


def _mode_names(result: dict[str, Any]) -> list[str]:
    modes = result.get("modes")
    available = modes.get("availableModes") if isinstance(modes, dict) else None
    listed = available if isinstance(available, list) else ()
    found = [each.get("id") for each in listed if isinstance(each, dict)]
    return [each for each in found if isinstance(each, str)]


def _with_current(modes: Any, mode: str) -> dict[str, Any]:
    return {**(modes if isinstance(modes, dict) else {}), "currentModeId": mode}


def _first(group: BaseExceptionGroup[Any]) -> Any:
    error: Any = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
