"""Permission requests and forms with odd ids, in odd orders, at odd times."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from typing import Any

from devplane.testing.turn import OPTIONS, Turn, TurnCancelled, content
from devplane.testing.wire import Message, RpcError, Waiting
from tests.scripted import log
from tests.scripted.cases import agent, case

ODD_IDS = ("approve_for_session", "deny_always", " allow ", "允许", 'a/b"c', "long" * 500)
"""G-24: each must come back as it went out."""

COMMAND: Message = {
    "toolCallId": "t1",
    "title": "ls",
    "kind": "execute",
    "rawInput": {"command": "ls"},
    "status": "pending",
}


def option(option_id: str, kind: str, name: str | None = None) -> Message:
    return {"optionId": option_id, "name": name or kind, "kind": kind}


@case
def two_permissions(arguments: list[str]) -> None:
    """G-20: asks twice (ids 11, 12) and waits for both answers, whatever else comes; they are in the log."""

    def behave(turn: Turn) -> str:
        waiting, heard = [], threading.Event()
        for n in (11, 12):
            tool = turn.tool(f"echo {n}", "execute", rawInput={"command": f"echo {n}"})
            waiting.append(turn.wire.call(*_request(turn, tool.call), request_id=n))
        results = [(one.id, one.result()) for one in waiting]
        for request_id, result in results:
            log.record(note={"answer": request_id, "result": result})
        is_refused = any(result["outcome"]["outcome"] == "cancelled" for _, result in results)
        if is_refused:
            turn.on_cancel(heard.set)
            heard.wait()
        return "cancelled" if is_refused else "end_turn"

    agent(behave).run()


def _request(turn: Turn, call: Message) -> tuple[str, Message]:
    params = {"sessionId": turn.session.id, "toolCall": call, "options": list(OPTIONS)}
    return "session/request_permission", params


@case
def option_ids(arguments: list[str]) -> None:
    """G-23: options ``approved``/``abort``; ``mislead`` swaps them against their kinds.

    Any other arguments are the options to offer: pairs ``id=kind``.
    """
    options = [option("approved", "allow_once", "Yes"), option("abort", "reject_once", "No")]
    if arguments == ["mislead"]:
        options = [option("reject_once", "allow_once"), option("allow_once", "reject_once")]
    elif arguments:
        options = [option(*pair.rsplit("=", 1)) for pair in arguments]
    agent(lambda turn: _say_choice(turn, options)).run()


@case
def odd_option_ids(arguments: list[str]) -> None:
    """G-24: six options whose ids must come back byte for byte: `ODD_IDS`."""
    kinds = ["allow_once", "reject_always", "allow_always", "allow_once", "reject_once", "allow_once"]
    options = [option(i, kind, f"choice {n}") for n, (i, kind) in enumerate(zip(ODD_IDS, kinds, strict=True))]
    agent(lambda turn: _say_choice(turn, options)).run()


def _say_choice(turn: Turn, options: list[Message], call: Message = COMMAND) -> None:
    chosen = turn.ask_permission(call, options)
    log.record(note={"chosen": chosen})
    turn.say(f"chosen: {chosen}")


@case
def always_first(arguments: list[str]) -> None:
    """G-25: offers allow_always first and asks again only when it got allow_once.

    ``only`` leaves allow_once out.
    """
    options = [option("always", "allow_always"), option("once", "allow_once"), option("no", "reject_once")]
    if arguments == ["only"]:
        del options[1]

    def behave(turn: Turn) -> None:
        for n in (1, 2):
            chosen = turn.ask_permission({**COMMAND, "toolCallId": f"t{n}"}, options)
            log.record(note={"chosen": chosen})
            turn.say(f"chosen: {chosen}\n")
            if chosen != "once":
                return

    agent(behave).run()


@case
def unannounced(arguments: list[str]) -> None:
    """G-26: asks for a call that no ``tool_call`` announced, then completes it.

    ``late`` announces it at the end; ``update-first`` sends an update before ``tool_call`` and asks after.
    ``bare`` asks with nothing but the id of a call announced before.
    """
    call = {"toolCallId": "t9", "title": "mcp: get code", "kind": "other", "rawInput": {"name": "code"}}
    done = {"toolCallId": "t9", "status": "completed", "content": [content("the code")]}

    def update(turn: Turn, kind: str, fields: Message) -> None:
        turn.update({"sessionUpdate": kind, **fields})

    def behave(turn: Turn) -> None:
        if arguments == ["update-first"]:
            update(turn, "tool_call_update", {"toolCallId": "t9", "status": "in_progress"})
            update(turn, "tool_call", {**call, "status": "pending"})
        elif arguments == ["bare"]:
            update(turn, "tool_call", {**call, "status": "pending"})
        turn.ask_permission({"toolCallId": "t9"} if arguments == ["bare"] else call)
        update(turn, "tool_call_update", done)
        if arguments == ["late"]:
            update(turn, "tool_call", {**call, "status": "completed"})
        turn.say("done")

    agent(behave).run()


@case
def ask(arguments: list[str]) -> None:
    """Asks for the tool call given as JSON, with the options of the kit, and says what was chosen."""
    call = {"toolCallId": "t1", **json.loads(arguments[0])} if arguments else COMMAND
    agent(lambda turn: _say_choice(turn, list(OPTIONS), call)).run()


@case
def withdraws(arguments: list[str]) -> None:
    """Asks for permission and takes it back with ``$/cancel_request``; what came of it is logged.

    At once, or when the file GATE exists.
    """

    def behave(turn: Turn) -> None:
        waiting = turn.call(*_request(turn, turn.tool("ls", "execute", rawInput={"command": "ls"}).call))
        while arguments and not os.path.exists(arguments[0]):
            turn.wait(0.02)
        turn.wire.notify("$/cancel_request", {"requestId": waiting.id})
        try:
            log.record(note={"result": waiting.result()})
        except RpcError as error:
            log.record(note={"error": error.code})
        turn.say("I took it back.")

    agent(behave).run()


@case
def form(arguments: list[str]) -> None:
    """G-51: a form of string, number, enum and boolean, one required; the answer is said and logged.

    ``end`` ends the turn with the form still open.
    """
    properties: dict[str, Message] = {
        "name": {"type": "string", "title": "Name", "minLength": 1},
        "count": {"type": "number", "title": "Count", "minimum": 0},
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "green"]},
        "sure": {"type": "boolean", "title": "Sure"},
    }

    def behave(turn: Turn) -> None:
        if arguments == ["end"]:
            schema = {"type": "object", "properties": properties, "required": ["name"]}
            params: dict[str, Any] = {"mode": "form", "message": "Unanswered?", "requestedSchema": schema}
            turn.call("elicitation/create", {"sessionId": turn.session.id, **params})
            return
        try:
            action, answers = turn.ask_form("Tell me more", properties, ["name"])
        except TurnCancelled:
            log.record(note={"action": "turn cancelled"})
            raise
        log.record(note={"action": action, "content": answers})
        turn.say(f"{action}: {json.dumps(answers, sort_keys=True)}")

    agent(behave).run()


@case
def parallel_permissions(arguments: list[str]) -> None:
    """COUNT requests at once (4), each with option ids of its own; each answer is noted as it comes."""
    count = int(arguments[0]) if arguments else 4

    def behave(turn: Turn) -> None:
        def wait(title: str, waiting: Waiting) -> None:
            log.record(note={title: turn.wait_for(waiting)["outcome"].get("optionId")})

        threads = []
        for n in range(count):
            title = f"echo {n}"
            tool = turn.tool(title, "execute", rawInput={"command": title})
            options = [option(f"no-{title}", "reject_once"), option(f"yes-{title}", "allow_once")]
            waiting = turn.start_permission(tool, options)
            threads.append(threading.Thread(target=wait, args=(title, waiting)))
            threads[-1].start()
        for thread in threads:
            thread.join()

    agent(behave).run()


@case
def asks_when_cancelled(arguments: list[str]) -> None:
    """Says one thing, and asks for permission only after it heard of a cancel; what it hears is noted."""

    def behave(turn: Turn) -> str:
        turn.say("working")
        heard = threading.Event()
        turn.on_cancel(heard.set)
        heard.wait()
        params = {"sessionId": turn.session.id, "toolCall": COMMAND, "options": list(OPTIONS)}
        log.record(note={"result": turn.wire.call("session/request_permission", params).result()})
        return "cancelled"

    agent(behave).run()


@case
def reads_decisions(arguments: list[str]) -> None:
    """Asks COUNT times (10) and, as it hears each answer, notes what the STORE's decisions say of it."""
    store, count = arguments[0], int(arguments[1]) if len(arguments) > 1 else 10

    def behave(turn: Turn) -> None:
        for n in range(count):
            command = f"echo {turn.session.id} {n}"
            tool = turn.tool(command, "execute", rawInput={"command": command})
            turn.ask_permission(tool)
            with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)) as db:
                found = db.execute("SELECT verdict FROM decisions WHERE subject = ?", (command,)).fetchall()
            log.record(note={"decisions": [row[0] for row in found]})

    agent(behave).run()
