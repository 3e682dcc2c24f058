"""A tiny honest ACP agent on stdin and stdout, in which a behaviour is a Python function.

    from devplane.testing.scripted_agent import ScriptedAgent

    def behave(turn):
        turn.say("You said: " + turn.text)
        if turn.ask_permission(turn.tool("ls", "execute", rawInput={"command": "ls"})) == "allow":
            turn.say("Thank you.")

    ScriptedAgent(behave).run()

What a behaviour does not do, the agent does as the protocol asks: sessions, modes, options,
cancel, close, load with replay, resume, list. To misbehave outside a turn, put another
function in `ScriptedAgent.methods`.

Three kinds of thread: the main one only reads, so that answers, cancels, signals and EOF are
seen whatever else hangs; one answers requests in order; each prompt has its own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from queue import SimpleQueue
from typing import Any, NamedTuple, NoReturn

from devplane.testing.shelf import MemoryShelf, Session, Shelf
from devplane.testing.turn import Turn, TurnCancelled
from devplane.testing.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Message,
    RpcError,
    Wire,
)

END_GRACE_S = 0.5
"""How long requests that came before EOF may still take to be answered."""

CLOSE_GRACE_S = 5.0
"""How long ``session/close`` waits for the turn that it cancels."""

Behaviour = Callable[[Turn], "Message | str | None"]
Method = Callable[[Message], Any]


class Later(NamedTuple):
    """A result, and what to do once it is sent."""

    result: Message
    then: Callable[[], object]


class Silence:
    """What a method returns that never answers."""


SILENCE = Silence()


class ScriptedAgent:
    """One agent process. `run` never returns."""

    one_prompt_at_a_time = True
    """Whether a prompt during a prompt is refused, as an honest agent without a queue does."""

    def __init__(
        self,
        behave: Behaviour,
        *,
        name: str = "scripted",
        version: str = "0",
        modes: Iterable[tuple[str, str, str]] = (),
        options: Mapping[str, Message] | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        """Args:
        modes: Id, name and description of each; the first is the default.
        options: Each ``select`` config option by id, without ``id`` and ``currentValue``;
            its first choice is the default. An option ``mode`` follows the mode.
        """
        self.behave = behave
        self.info = {"name": name, "version": version}
        self.modes = [{"id": m, "name": label, "description": text} for m, label, text in modes]
        self.options = dict(options or {})
        self.shelf: Shelf = shelf or MemoryShelf()
        # The protocol keeps fd 1; whatever prints by mistake, a child included, goes to stderr.
        self.wire = Wire(0, os.dup(1))
        os.dup2(2, 1)
        self.at_end: list[Callable[[], object]] = []
        """Called when the process ends by EOF or signal: stop children here."""
        self.at_eof: Callable[[], object] | None = None
        """Called instead of ending when stdin ends, by an agent that will not go."""
        self.capabilities: Message = {
            "loadSession": True,
            "promptCapabilities": {"embeddedContext": True},
            "sessionCapabilities": {"resume": {}, "close": {}, "list": {}},
        }
        self.methods: dict[str, Method] = {
            "initialize": self.initialize,
            "session/new": self.new_session,
            "session/load": self.load_session,
            "session/resume": self.resume_session,
            "session/list": self.list_sessions,
            "session/close": self.close_session,
            "session/set_mode": self.set_mode,
            "session/set_config_option": self.set_config_option,
        }
        self.sessions: dict[str, Session] = {}
        """Sessions open in this process."""
        self.turns: dict[str, tuple[Turn, threading.Thread]] = {}
        """The turn that runs, by session."""
        self._calls: SimpleQueue[Message | None] = SimpleQueue()

    # The life of the process

    def run(self) -> NoReturn:
        """Serve until EOF or a signal, then end the process."""
        self._end_on_signals()
        worker = threading.Thread(target=self._serve, daemon=True)
        worker.start()
        for message in self.wire.messages():
            # A cancel takes effect before the answers that follow it, which the wire hands out by
            # itself. One whose prompt still stands in the queue has to stand behind it.
            if not self._cancel(message):
                self._calls.put(message)
        if self.at_eof:
            self.at_eof()
        self._calls.put(None)
        worker.join(END_GRACE_S)
        self.end(0)

    def _end_on_signals(self) -> None:
        """End on SIGTERM and its like at once, whatever the main thread waits for.

        A handler in Python runs when the main thread next runs: a signal that comes just before
        it blocks in a read would wait for the next line, maybe for ever. The byte that the
        interpreter writes in the system's own handler is read by a thread that does nothing else.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        ending = threading.Thread(target=lambda: self.end(128 + os.read(reader, 1)[0]), daemon=True)
        ending.start()

    def end(self, status: int) -> NoReturn:
        """End the process now, whatever its threads are waiting for."""
        for stop in self.at_end:
            stop()
        os._exit(status)

    def _serve(self) -> None:
        while (message := self._calls.get()) is not None:
            try:
                self._take(message)
            except BrokenPipeError:
                return  # nobody reads any more; stdin's end will follow
            except Exception:  # noqa: BLE001 - a bug in a behaviour must show, and stop nothing
                traceback.print_exc()

    def _take(self, message: Message) -> None:
        method, params = message["method"], message.get("params") or {}
        if "id" not in message:
            self._cancel(message)  # and every other notification is ignored, as the protocol asks
        elif method == "session/prompt":
            self._guard(message["id"], lambda: self._start_turn(message["id"], params))
        elif method in self.methods:
            self._guard(message["id"], lambda: self.methods[method](params))
        else:
            self.wire.refuse(message["id"], METHOD_NOT_FOUND, "Method not found", {"method": method})

    def _guard(self, request_id: object, work: Callable[[], Any]) -> None:
        try:
            result = work()
        except RpcError as error:
            self.wire.refuse(request_id, error.code, error.message, error.data)
            return
        if isinstance(result, Later):
            self.wire.answer(request_id, result.result)
            result.then()
        elif not isinstance(result, Silence):
            self.wire.answer(request_id, result)

    def _cancel(self, message: Message) -> bool:
        """Cancel the turn that `message` names; return whether there was one."""
        if message["method"] != "session/cancel":
            return False
        turn, _ = self.turns.get(str((message.get("params") or {}).get("sessionId")), (None, None))
        if turn:
            turn.cancel()
        return turn is not None

    # Methods

    def initialize(self, params: Message) -> Message:
        return {
            "protocolVersion": 1,
            "agentCapabilities": self.capabilities,
            "agentInfo": self.info,
            "authMethods": [],
        }

    def new_session(self, params: Message) -> Any:
        session = Session(self._folder(params))
        self.shelf.add(session)
        self.open(session)
        return {"sessionId": session.id, **self.state(session)}

    def resume_session(self, params: Message) -> Any:
        session = self._found(params)
        self.open(session)
        return self.state(session)

    def load_session(self, params: Message) -> Any:
        session = self._found(params)
        for update in list(session.updates):
            self.notify(session, update)
        self.open(session)
        return self.state(session)

    def list_sessions(self, params: Message) -> Message:
        cwd = params.get("cwd")
        return {"sessions": [s for s in self.shelf.listing() if cwd in (None, s["cwd"])]}

    def close_session(self, params: Message) -> Message:
        session = self.session(params)
        turn, thread = self.turns.get(session.id, (None, None))
        if turn and thread:
            turn.cancel()
            thread.join(CLOSE_GRACE_S)
        self.sessions.pop(session.id, None)
        return {}

    def set_mode(self, params: Message) -> Any:
        session, mode = self.session(params), params.get("modeId")
        if mode not in [known["id"] for known in self.modes]:
            raise RpcError(INVALID_PARAMS, f"Unknown mode: {mode}")
        session.mode = str(mode)
        changed = {"sessionUpdate": "config_option_update", "configOptions": self.option_state(session)}
        if "mode" not in self.options:
            return {}
        return Later({}, lambda: self.notify(session, changed))

    def set_config_option(self, params: Message) -> Any:
        session, name, value = self.session(params), params.get("configId"), params.get("value")
        option = self.options.get(str(name))
        if option is None or value not in [choice["value"] for choice in option["options"]]:
            raise RpcError(INVALID_PARAMS, f"Unknown option or value: {name} = {value}")
        if name != "mode":
            session.options[str(name)] = str(value)
            return {"configOptions": self.option_state(session)}
        session.mode = str(value)
        changed = {"sessionUpdate": "current_mode_update", "currentModeId": value}
        return Later({"configOptions": self.option_state(session)}, lambda: self.notify(session, changed))

    # Sessions

    def open(self, session: Session) -> None:
        """Hold the session in this process, with the mode and options that a process starts with."""
        session.mode = self.modes[0]["id"] if self.modes else ""
        session.options = {name: option["options"][0]["value"] for name, option in self.options.items()}
        session.grants = set()
        self.sessions[session.id] = session

    def state(self, session: Session) -> Message:
        """Return the modes and options part of a new, load or resume result."""
        state: Message = {}
        if self.modes:
            state["modes"] = {"currentModeId": session.mode, "availableModes": self.modes}
        if self.options:
            state["configOptions"] = self.option_state(session)
        return state

    def option_state(self, session: Session) -> list[Message]:
        values = {**session.options, "mode": session.mode}
        return [
            {"id": name, "type": "select", "currentValue": values[name], **option}
            for name, option in self.options.items()
        ]

    def session(self, params: Message) -> Session:
        """Return the open session that `params` name, or refuse."""
        session = self.sessions.get(str(params.get("sessionId")))
        if session is None:
            raise RpcError(INVALID_PARAMS, f"Session not found: {params.get('sessionId')}")
        return session

    def notify(self, session: Session, update: Message) -> None:
        """Send an update outside any turn; it is not kept."""
        self.wire.notify("session/update", {"sessionId": session.id, "update": update})

    def _found(self, params: Message) -> Session:
        cwd, session_id = self._folder({"mcpServers": [], **params}), str(params.get("sessionId"))
        session = self.shelf.find(session_id)
        if session is None:
            raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"sessionId": session_id})
        if session_id in self.turns:
            raise RpcError(INVALID_REQUEST, "A prompt is running in this session")
        session.cwd = cwd
        return session

    def _folder(self, params: Message) -> str:
        cwd = params.get("cwd")
        if not isinstance(cwd, str) or not os.path.isabs(cwd) or not os.path.isdir(cwd):
            raise RpcError(INVALID_PARAMS, f"cwd is not an absolute path of a folder: {cwd}")
        if not isinstance(params.get("mcpServers"), list):
            raise RpcError(INVALID_PARAMS, "mcpServers is missing")
        return cwd

    # Turns

    def _start_turn(self, request_id: object, params: Message) -> Silence:
        session, blocks = self.session(params), params.get("prompt")
        if not isinstance(blocks, list):
            raise RpcError(INVALID_PARAMS, "prompt is missing")
        if self.one_prompt_at_a_time and session.id in self.turns:
            raise RpcError(INVALID_REQUEST, "A prompt is already running in this session")
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        self.shelf.keep(session, {"prompt": text})
        turn = Turn(self.wire, self.shelf, session, request_id, text)
        # Before the response goes out: the client may prompt again the moment it has it.
        turn.before_end = lambda: self._forget(turn)
        thread = threading.Thread(target=self._play, args=(turn,), daemon=True)
        self.turns[session.id] = (turn, thread)
        thread.start()
        return SILENCE

    def _forget(self, turn: Turn) -> None:
        if self.turns.get(turn.session.id, (None,))[0] is turn:
            del self.turns[turn.session.id]

    def _play(self, turn: Turn) -> None:
        error = RpcError(INTERNAL_ERROR, "Internal error")
        result: Message | str | None = None
        is_error = False
        try:
            result = self.behave(turn)
        except TurnCancelled:
            result = "cancelled"
        except RpcError as refused:
            error, is_error = refused, True
        except BrokenPipeError:
            return
        except Exception:  # noqa: BLE001 - becomes the error reply, as with any agent
            traceback.print_exc(file=sys.stderr)
            is_error = True
        if turn.has_ended:
            return
        if is_error:
            turn.refuse(error.code, error.message, error.data)
        else:
            turn.end(result)
