"""Agents that have the client read, write and run for them (``fs/*`` and ``terminal/*``)."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from devplane.testing.turn import OPTIONS, Turn
from devplane.testing.wire import Message, RpcError
from tests.scripted import log
from tests.scripted.cases import agent, case


@case
def client_calls(arguments: list[str]) -> None:
    """Each prompt is a JSON list of [METHOD, params] to call in order; what comes of each is noted.

    ``$t`` in params is the id of the terminal that was made last. The method ``permission`` asks for a
    tool call, ``together`` takes a list of calls and sends them all before it waits, ``script`` the path of
    a file with more calls; ``leave`` ends the agent.
    """
    made: dict[str, str] = {"$t": ""}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        return made.get(value, value) if isinstance(value, str) else value

    def call(turn: Turn, method: str, params: Message) -> None:
        try:
            if method == "permission":
                log.record(note={"chosen": turn.ask_permission({"toolCallId": "t1", **params}, OPTIONS)})
                return
            result = turn.wait_for(turn.call(method, {"sessionId": turn.session.id, **filled(params)}))
            made["$t"] = result.get("terminalId", made["$t"])
            log.record(note={"did": method, "result": result})
        except RpcError as error:
            log.record(note={"did": method, "error": error.code, "message": error.message})

    def behave(turn: Turn) -> None:
        do(turn, json.loads(turn.text))

    def do(turn: Turn, calls: list[Any]) -> None:
        for method, params in calls:
            if method == "leave":
                os._exit(0)
            if method == "script":
                do(turn, json.loads(Path(params).read_text()))
            elif method == "together":
                threads = [threading.Thread(target=call, args=(turn, *each)) for each in params]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            else:
                call(turn, method, params)

    agent(behave).run()
