"""Agents that do not start as they should: silence, slowness, another version, no sign-in."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, NoReturn

from devplane.testing.scripted_agent import SILENCE
from devplane.testing.wire import AUTH_REQUIRED, Message, RpcError
from tests.scripted import log
from tests.scripted.cases import agent, case


@case
def silent(arguments: list[str]) -> NoReturn:
    """G-08a: reads stdin to its end before anything, and then has nothing to say."""
    for line in sys.stdin.buffer:
        log.heard(line)
    log.record(eof=True)
    os._exit(0)


@case
def silent_method(arguments: list[str]) -> None:
    """G-08b: never answers METHOD (``session/new``)."""
    made = agent()
    made.methods[arguments[0] if arguments else "session/new"] = lambda params: SILENCE
    made.run()


@case
def slow_start(arguments: list[str]) -> None:
    """G-08c: COUNT lines of download progress on stderr (45), each PAUSE seconds apart (1), then behaves."""
    count = int(arguments[0]) if arguments else 45
    pause = float(arguments[1]) if len(arguments) > 1 else 1.0
    made = agent()

    def initialize(params: Message) -> Message:
        for n in range(1, count + 1):
            sys.stderr.write(f"downloading {n}/{count}\n")
            sys.stderr.flush()
            time.sleep(pause)
        return made.initialize(params)

    made.methods["initialize"] = initialize
    made.run()


@case
def version(arguments: list[str]) -> None:
    """G-10: answers ``initialize`` with VERSION, given as JSON; ``missing`` leaves the field out."""
    made = agent()

    def initialize(params: Message) -> Message:
        result = made.initialize(params)
        if arguments[0] == "missing":
            del result["protocolVersion"]
        else:
            result["protocolVersion"] = json.loads(arguments[0])
        return result

    made.methods["initialize"] = initialize
    made.run()


@case
def auth(arguments: list[str]) -> None:
    """G-11: ``session/new`` wants a sign-in; METHODS offered by id (``cached_token browser``).

    ``authenticate`` with ``cached_token`` signs in; with any other it never answers,
    as a login that nobody sees.
    """
    offered = arguments or ["cached_token", "browser"]
    made = agent()
    signed_in: list[str] = []

    def initialize(params: Message) -> Message:
        methods = [
            {"id": name, "name": f"Sign in by {name}", "description": f"Run `agent login {name}`"}
            for name in offered
        ]
        return {**made.initialize(params), "authMethods": methods}

    def authenticate(params: Message) -> Any:
        if params.get("methodId") != "cached_token" or "cached_token" not in offered:
            return SILENCE
        signed_in.append("cached_token")
        return {}

    def new_session(params: Message) -> Any:
        if not signed_in:
            raise RpcError(AUTH_REQUIRED, "Authentication required")
        return made.new_session(params)

    made.methods |= {"initialize": initialize, "authenticate": authenticate, "session/new": new_session}
    made.run()


@case
def auth_at_prompt(arguments: list[str]) -> None:
    """Opens sessions without a sign-in and refuses the prompt, as some agents do."""

    def behave(turn: object) -> NoReturn:
        raise RpcError(AUTH_REQUIRED, "Authentication required")

    agent(behave).run()


@case
def exits_at_once(arguments: list[str]) -> NoReturn:
    """Says why on stderr and exits with STATUS (1) before it reads anything."""
    sys.stderr.write("agent: no provider is configured\nagent: run `agent setup` first\n")
    sys.stderr.flush()
    os._exit(int(arguments[0]) if arguments else 1)


@case
def exits_in(arguments: list[str]) -> None:
    """Exits with status 3, saying so on stderr, when METHOD comes (``session/new``)."""
    method = arguments[0] if arguments else "session/new"
    made = agent()

    def leave(params: Message) -> NoReturn:
        sys.stderr.write(f"agent: gave up in {method}\n")
        sys.stderr.flush()
        os._exit(3)

    made.methods[method] = leave
    made.run()


@case
def error_in(arguments: list[str]) -> None:
    """Answers METHOD (``session/new``) with an error that carries details in its data."""
    made = agent()

    def refuse(params: Message) -> NoReturn:
        raise RpcError(-32603, "Internal error", {"details": "the disk is on fire"})

    made.methods[arguments[0] if arguments else "session/new"] = refuse
    made.run()


@case
def silent_mode(arguments: list[str]) -> None:
    """Offers two modes, and never answers when it is put into one."""
    made = agent()
    made.modes = [{"id": "careful", "name": "Careful"}, {"id": "bold", "name": "Bold"}]
    made.methods["session/set_mode"] = lambda params: SILENCE
    made.run()


def _answer(message: Message, result: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
    sys.stdout.flush()


@case
def stops_reading(arguments: list[str]) -> NoReturn:
    """Opens a session, and reads nothing of what comes after it."""
    for line in sys.stdin.buffer:
        log.heard(line)
        message = json.loads(line)
        is_new = message["method"] == "session/new"
        _answer(message, {"sessionId": "deaf"} if is_new else {"protocolVersion": 1})
        if is_new:
            break
    while True:
        time.sleep(60)


@case
def deep_usage(arguments: list[str]) -> None:
    """Ends each turn with a usage report that is nested DEPTH deep (600)."""
    usage: Any = 1
    for _ in range(int(arguments[0]) if arguments else 600):
        usage = {"deeper": usage}
    results: dict[str, Message] = {
        "initialize": {"protocolVersion": 1},
        "session/new": {"sessionId": "deep"},
        "session/prompt": {"stopReason": "end_turn", "usage": usage},
    }
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            _answer(message, results[message["method"]])
