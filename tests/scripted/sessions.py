"""Sessions that do not come back as they were: replays, lies, lost modes, updates out of turn."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from devplane.demo.disk import DiskShelf
from devplane.testing.scripted_agent import Later, ScriptedAgent
from devplane.testing.shelf import Session, text_block
from devplane.testing.turn import Turn, content
from devplane.testing.wire import INVALID_PARAMS, Message, RpcError
from tests.scripted.cases import agent, case

PAST: tuple[Message, ...] = (
    {"sessionUpdate": "user_message_chunk", "content": text_block("an old ")},
    {"sessionUpdate": "user_message_chunk", "content": text_block("question")},
    {"sessionUpdate": "agent_message_chunk", "content": text_block("an ")},
    {"sessionUpdate": "agent_message_chunk", "content": text_block("old ")},
    {"sessionUpdate": "agent_message_chunk", "content": text_block("answer")},
    {
        "sessionUpdate": "tool_call",
        "toolCallId": "old-1",
        "title": "an old call",
        "kind": "read",
        "status": "pending",
    },
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "old-1",
        "status": "completed",
        "content": [content("old output")],
    },
)

MODES = (
    ("default", "Default", "Asks first"),
    ("plan", "Plan", "Reads only"),
    ("yolo", "Yolo", "Never asks"),
)


def take_any(made: ScriptedAgent, params: Message) -> Session:
    """Open a session under whatever id was asked for."""
    session = Session(params["cwd"], params["sessionId"])
    made.open(session)
    return session


@case
def replay(arguments: list[str]) -> None:
    """G-12: a load replays two user chunks, three agent chunks and a tool call, then answers.

    ``late`` sends the answer first and the past after it; ``resume`` offers resume as well.
    """

    def behave(turn: Turn) -> None:
        turn.say("a live answer")

    made = agent(behave)
    if "resume" not in arguments:
        made.capabilities["sessionCapabilities"] = {}
        del made.methods["session/resume"]

    def load(params: Message) -> Any:
        session = take_any(made, params)

        def tell() -> None:
            for update in PAST:
                made.notify(session, update)

        if "late" in arguments:
            return Later({}, tell)
        tell()
        return {}

    made.methods["session/load"] = load
    if "resume" in arguments:
        made.methods["session/resume"] = lambda params: (take_any(made, params), {})[1]
    made.run()


@case
def load_lies(arguments: list[str]) -> None:
    """G-13: any load "succeeds" and replays nothing; prompts are refused, with ``error`` by a -32602.

    Sessions that this process made itself behave.
    """
    mine: set[str] = set()

    def behave(turn: Turn) -> str | None:
        if turn.session.id in mine:
            turn.say("Hello.")
            return None
        if arguments == ["error"]:
            raise RpcError(INVALID_PARAMS, f"Session not found: {turn.session.id}")
        return "refusal"

    made = agent(behave)
    made.capabilities["sessionCapabilities"] = {}

    def new_session(params: Message) -> Any:
        result = made.new_session(params)
        mine.add(result["sessionId"])
        return result

    def load(params: Message) -> Any:
        take_any(made, params)
        return {}

    made.methods |= {"session/new": new_session, "session/load": load}
    made.run()


@case
def resume_other_id(arguments: list[str]) -> None:
    """A resume that answers with another session's id: it opened a fresh one."""
    made = agent()

    def resume(params: Message) -> Any:
        take_any(made, params)
        return {"sessionId": "somebody-else"}

    made.methods |= {"session/resume": resume, "session/load": resume}
    made.run()


@case
def no_resume(arguments: list[str]) -> None:
    """Neither load nor resume is advertised or known."""
    made = agent()
    made.capabilities = {}
    for method in ("session/load", "session/resume", "session/close", "session/list"):
        del made.methods[method]
    made.run()


@case
def outside_turns(arguments: list[str]) -> None:
    """G-14: commands, mode and a text right after ``session/new``; a text DELAY seconds after turn 1 (2).

    ``early`` instead of a delay sends the first three before the answer to ``session/new``.
    """
    delay = float(arguments[0]) if arguments and arguments[0] != "early" else 2.0

    def behave(turn: Turn) -> None:
        turn.say(f"answer {turn.number}")
        if turn.number == 1:
            turn.end()
            time.sleep(delay)
            background(turn.session, "later background job finished")

    made = agent(behave)
    made.modes = [{"id": m, "name": n, "description": d} for m, n, d in MODES]

    def background(session: Session, text: str) -> None:
        made.notify(session, {"sessionUpdate": "agent_message_chunk", "content": text_block(text)})

    def announce(session: Session) -> None:
        commands = [{"name": "review", "description": "Review the changes"}]
        made.notify(session, {"sessionUpdate": "available_commands_update", "availableCommands": commands})
        made.notify(session, {"sessionUpdate": "current_mode_update", "currentModeId": "plan"})
        background(session, "background job finished")

    def new_session(params: Message) -> Any:
        result = made.new_session(params)
        session = made.sessions[result["sessionId"]]
        if arguments == ["early"]:
            announce(session)
            return result
        return Later(result, lambda: announce(session))

    made.methods["session/new"] = new_session
    made.run()


@case
def modes(arguments: list[str]) -> None:
    """G-15: has modes that start over with every load; FOLDER keeps its sessions. Calls are in the log.

    Says in each turn which mode holds. ``refuse`` after the folder refuses every set_mode.
    """

    def behave(turn: Turn) -> None:
        turn.say(f"mode: {turn.session.mode}")

    made = agent(behave)
    made.modes = [{"id": m, "name": n, "description": d} for m, n, d in MODES]
    if arguments:
        made.shelf = DiskShelf(Path(arguments[0]))
    if "refuse" in arguments:
        made.methods["session/set_mode"] = _refuse_mode
    made.run()


def _refuse_mode(params: Message) -> Any:
    raise RpcError(INVALID_PARAMS, "This mode cannot be set here")


@case
def interleaved(arguments: list[str]) -> None:
    """G-16: holds two turns until one is cancelled, then ends both, mixing their updates with a ghost's."""
    both = threading.Barrier(2)

    def behave(turn: Turn) -> str:
        both.wait()  # two turns are running
        turn.say(f"first of {turn.text} ")
        while not any(t.is_cancelled for t, _ in made.turns.values()):
            time.sleep(0.01)
        both.wait()
        for _ in range(5):
            turn.say(f"more of {turn.text} ")
            ghost = {"sessionUpdate": "agent_message_chunk", "content": text_block("boo")}
            turn.update(ghost, session_id="ghost", keep=False)
        both.wait()
        return "cancelled" if turn.is_cancelled else "end_turn"

    made = agent(behave)
    made.run()


@case
def ghost(arguments: list[str]) -> None:
    """G-16: mixes its answer with updates for a session that it never opened."""

    def behave(turn: Turn) -> None:
        for word in ("one ", "two ", "three"):
            turn.say(word)
            boo = {"sessionUpdate": "agent_message_chunk", "content": text_block("boo")}
            turn.update(boo, session_id="ghost", keep=False)
            plan = {"sessionUpdate": "plan", "entries": [{"content": "haunt", "status": "pending"}]}
            turn.update(plan, session_id="ghost", keep=False)

    agent(behave).run()
