"""The kit: a behaviour is a function, and the rest of the agent is honest."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import pytest

from devplane.testing.shelf import MemoryShelf, Session
from devplane.testing.turn import Turn
from devplane.testing.wire import Wire, encode
from tests.wire import Refused, WireClient, leave_open

Start = Callable[[str], WireClient]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start an agent whose behaviour is the given body of ``def behave(turn)``."""
    with ExitStack() as stack:

        def start_one(body: str) -> WireClient:
            lines = "\n".join("    " + line for line in dedent(body).strip().splitlines())
            script = (
                "import os, sys, threading\n"
                "from devplane.testing.scripted_agent import *\n"
                "from devplane.testing.wire import RpcError\n"
                f"def behave(turn):\n{lines}\n"
                "ScriptedAgent(behave).run()\n"
            )
            client = stack.enter_context(WireClient([sys.executable, "-c", script]))
            client.initialize()
            return client

        yield start_one


def test_a_behaviour_that_returns_nothing_ends_its_turn(start: Start, tmp_path: Path) -> None:
    agent = start("turn.say('You said: ' + turn.text)")
    assert agent.prompt(agent.new_session(tmp_path), "ho") == {"stopReason": "end_turn"}
    assert agent.said() == "You said: ho"


def test_a_behaviour_may_return_a_reason_or_a_whole_result(start: Start, tmp_path: Path) -> None:
    agent = start("return 'max_tokens' if turn.number == 1 else {'odd': [1]}")
    session = agent.new_session(tmp_path)
    assert agent.prompt(session, "") == {"stopReason": "max_tokens"}
    assert agent.prompt(session, "") == {"odd": [1]}


def test_an_error_it_raises_is_the_answer(start: Start, tmp_path: Path) -> None:
    agent = start("raise RpcError(-32099, 'odd', {'why': 1})")
    with pytest.raises(Refused) as refused:
        agent.prompt(agent.new_session(tmp_path), "")
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32099, "odd", {"why": 1})


def test_a_bug_in_it_is_an_internal_error_and_a_traceback_on_stderr(start: Start, tmp_path: Path) -> None:
    agent = start("1 / 0")
    with pytest.raises(Refused, match="-32603"):
        agent.prompt(agent.new_session(tmp_path), "")
    agent.end_input()
    assert "ZeroDivisionError" in agent.ended_stderr()


def test_what_it_prints_by_mistake_does_not_reach_the_wire(start: Start, tmp_path: Path) -> None:
    agent = start("print('oops', flush=True); os.system('echo from a child')")
    agent.prompt(agent.new_session(tmp_path), "")
    agent.end_input()
    assert agent.noise == []
    assert agent.ended_stderr() == "oops\nfrom a child\n"


def test_two_requests_may_be_open_at_once_and_be_answered_in_any_order(start: Start, tmp_path: Path) -> None:
    agent = start(
        """
        asked = [turn.start_permission({"toolCallId": str(n)}) for n in range(2)]
        turn.say(" ".join(turn.wait_for(one)["outcome"]["optionId"] for one in asked))
        """
    )
    agent.answering = leave_open
    turn = agent.start_prompt(agent.new_session(tmp_path), "")
    asked = [agent.until_request("session/request_permission") for _ in range(2)]
    assert [request["id"] for request in asked] == [0, 1]
    for request in reversed(asked):
        chosen = "for-" + request["params"]["toolCall"]["toolCallId"]
        agent.answer(request, {"outcome": {"outcome": "selected", "optionId": chosen}})
    agent.response(turn)
    assert agent.said() == "for-0 for-1"


def test_a_client_that_refuses_a_request_is_heard(start: Start, tmp_path: Path) -> None:
    agent = start(
        """
        try:
            turn.wait_for(turn.call("fs/read_text_file", {"path": "/x"}))
        except RpcError as error:
            turn.say(str(error.code))
        """
    )
    agent.answering = leave_open
    turn = agent.start_prompt(agent.new_session(tmp_path), "")
    request = agent.until_request("fs/read_text_file")
    agent.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
    agent.response(turn)
    assert agent.said() == "-32601"


@pytest.mark.parametrize(
    "waiting", ["turn.wait(None)", "turn.ask_permission({'toolCallId': 't'})", "turn.ask_form('?', {})"]
)
def test_a_cancel_reaches_a_behaviour_wherever_it_waits(start: Start, tmp_path: Path, waiting: str) -> None:
    agent = start(f"turn.say('now'); {waiting}")
    agent.answering = leave_open
    session = agent.new_session(tmp_path)
    turn = agent.start_prompt(session, "")
    agent.until_update("agent_message_chunk")
    agent.cancel(session)
    assert agent.response(turn) == {"stopReason": "cancelled"}


def test_what_is_said_after_the_end_comes_after_the_response(start: Start, tmp_path: Path) -> None:
    agent = start("turn.say('a'); turn.end('end_turn'); turn.say('b')")
    agent.prompt(agent.new_session(tmp_path), "")
    assert agent.said() == "a"
    agent.until_update("agent_message_chunk")
    assert agent.said() == "ab"


def test_a_load_replays_chunks_in_a_row_as_one(start: Start, tmp_path: Path) -> None:
    agent = start(
        "[turn.think(c) for c in 'abc']; [turn.say(c) for c in 'def']; turn.plan([('x', 'pending')])"
    )
    session = agent.new_session(tmp_path)
    agent.prompt(session, "ho")
    agent.forget()
    agent.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
    shown = [(u["sessionUpdate"], u.get("content", {}).get("text")) for u in agent.updates]
    assert shown == [
        ("user_message_chunk", "ho"),
        ("agent_thought_chunk", "abc"),
        ("agent_message_chunk", "def"),
        ("plan", None),
    ]


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert encode({"text": "\ud83d"}) == b'{"text":"\\ud83d"}\n'
    assert json.loads(encode({"text": "漢"}).decode()) == {"text": "漢"}
    assert "漢".encode() in encode({"text": "漢"})


def test_what_is_registered_after_a_cancel_is_called_at_once() -> None:
    shelf, session, called = MemoryShelf(), Session("/"), []
    turn = Turn(Wire(-1, -1), shelf, session, 0, "")
    turn.cancel()
    turn.on_cancel(lambda: called.append(1))
    assert called == [1]


def test_a_cancel_right_behind_its_prompt_is_not_lost(start: Start, tmp_path: Path) -> None:
    agent = start("turn.wait(None)")
    session = agent.new_session(tmp_path)
    for number in range(50):
        prompt = {"sessionId": session, "prompt": []}
        lines = [
            {"jsonrpc": "2.0", "id": f"p{number}", "method": "session/prompt", "params": prompt},
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}},
        ]
        agent.send_bytes(b"".join(encode(line) for line in lines))
        agent.until(lambda message, wanted=f"p{number}": message.get("id") == wanted)
    assert {m["result"]["stopReason"] for m in agent.heard[2:]} == {"cancelled"}
