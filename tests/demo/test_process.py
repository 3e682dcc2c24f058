"""The demo as a program: what it imports, and how it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.wire import WireClient

ENTRY = "import sys; import devplane.demo.agent; print('\\n'.join(sys.modules))"


def test_starting_it_imports_the_standard_library_and_no_other_part_of_devplane() -> None:
    listed = subprocess.run([sys.executable, "-c", ENTRY], capture_output=True, text=True, check=True)
    loaded = {name for name in listed.stdout.split() if name.partition(".")[0] == "devplane"}
    assert {name.split(".")[1] for name in loaded if "." in name} == {"demo", "testing"}
    heavy = {"subprocess", "dataclasses", "inspect", "pydantic", "anyio", "asyncio", "typer"}
    assert heavy.isdisjoint(listed.stdout.split())


def test_what_was_asked_before_the_end_of_input_is_still_answered() -> None:
    request = b'{"jsonrpc":"2.0","id":"one","method":"initialize","params":{"protocolVersion":1}}'
    ended = subprocess.run(
        [sys.executable, "-m", "devplane.demo"], input=request, capture_output=True, check=True
    )
    assert ended.stdout.startswith(b'{"jsonrpc":"2.0","id":"one","result":')
    assert ended.stderr == b""


@pytest.mark.parametrize("line", [b"not json\n", b'{"jsonrpc":"2.0","id":\n'])
def test_g06_a_line_that_is_not_json_is_answered_without_an_id(demo: WireClient, line: bytes) -> None:
    demo.send_bytes(line)
    error = demo.until(lambda message: "error" in message)
    assert (error["id"], error["error"]["code"]) == (None, -32700)
    demo.call("session/list", {})


def test_g07_an_unknown_method_is_refused_and_an_unknown_notification_ignored(demo: WireClient) -> None:
    demo.notify("vendor/hello", {})
    demo.send({"jsonrpc": "2.0", "id": "x", "method": "vendor/do", "params": {}})
    error = demo.until(lambda message: "error" in message)
    assert (error["id"], error["error"]["code"]) == ("x", -32601)


def test_a_cancel_when_nothing_runs_is_harmless(demo: WireClient, session: str) -> None:
    demo.cancel(session)
    demo.cancel("nobody")
    assert demo.prompt(session, "quick")["stopReason"] == "end_turn"
