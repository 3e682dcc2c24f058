"""Bytes that are hard to read: noise, long lines, split characters, cut frames, a flood on stderr."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, NoReturn

from devplane.testing.scripted_agent import Later
from devplane.testing.turn import Turn
from devplane.testing.wire import Message, encode
from tests.scripted.cases import agent, case

TRICKY = "a€b漢😀"


def update_line(turn: Turn, update: Message) -> bytes:
    params = {"sessionId": turn.session.id, "update": update}
    return encode({"jsonrpc": "2.0", "method": "session/update", "params": params})


def chunk_line(turn: Turn, text: str) -> bytes:
    return update_line(
        turn, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    )


@case
def banner(arguments: list[str]) -> None:
    """G-01: a banner before the first frame, a log line between two frames of a turn."""

    def behave(turn: Turn) -> None:
        turn.say("before ")
        turn.raw(b"warn: slow disk\n")
        turn.say("after")

    made = agent(behave)
    made.wire.send_bytes(b"[agent] adapter ready\n\n\x1b[?25l\x1b[2J\n")
    made.run()


@case
def noise_only(arguments: list[str]) -> NoReturn:
    """G-01: prints log lines and no frame, then waits for EOF, or exits when given a status."""
    for n in range(5):
        os.write(1, f"INFO starting part {n}\n".encode())
    if arguments:
        os._exit(int(arguments[0]))
    sys.stdin.buffer.read()
    os._exit(0)


@case
def json_log(arguments: list[str]) -> None:
    """G-01: log lines that are JSON objects, but no messages."""
    made = agent()
    made.wire.send_bytes(b'{"level":"info","msg":"ready"}\n[1,2]\n"text"\n42\n')
    made.run()


@case
def long_line(arguments: list[str]) -> None:
    """G-02: a tool result with SIZE bytes of text (1500000); ``line:N`` is the size of the whole line."""
    wanted = arguments[0] if arguments else "1500000"

    def behave(turn: Turn) -> None:
        tool = turn.tool("Read a file", "read")
        size = int(wanted.removeprefix("line:"))
        if wanted.startswith("line:"):  # count the newline too
            size -= len(update_line(turn, _result(tool.call["toolCallId"], "")))
        turn.update(_result(tool.call["toolCallId"], "x" * size), keep=False)
        turn.say("done")

    agent(behave).run()


def _result(tool_id: str, text: str) -> Message:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": tool_id,
        "status": "completed",
        "content": content,
    }


@case
def byte_by_byte(arguments: list[str]) -> None:
    """G-03: a chunk written one byte at a time; with ``cut`` only inside the three bytes of the euro sign."""

    def behave(turn: Turn) -> None:
        line = chunk_line(turn, TRICKY)
        cut = line.index("€".encode())
        pieces = [line[i : i + 1] for i in range(len(line))]
        if arguments == ["cut"]:
            pieces = [line[: cut + 1], line[cut + 1 : cut + 2], line[cut + 2 :]]
        for piece in pieces:
            turn.raw(piece)
            time.sleep(0.005)  # apart, so that the reader sees each by itself

    agent(behave).run()


@case
def crlf(arguments: list[str]) -> None:
    """Frames that end in CR LF."""

    def behave(turn: Turn) -> None:
        turn.raw(chunk_line(turn, TRICKY).replace(b"\n", b"\r\n"))

    agent(behave).run()


@case
def no_last_newline(arguments: list[str]) -> None:
    """G-04: the response to the prompt without a newline, then exit 0; with ``cut`` only half of it."""

    def behave(turn: Turn) -> NoReturn:
        turn.say("The answer.")
        last = encode(turn.response("end_turn")).rstrip(b"\n")
        turn.raw(last[: len(last) // 2] if arguments == ["cut"] else last)
        os._exit(0)

    agent(behave).run()


@case
def stderr_flood(arguments: list[str]) -> None:
    """G-05: 5 MiB on stderr before ``initialize`` is answered and again in mid-turn."""

    def behave(turn: Turn) -> None:
        _flood()
        turn.say("Hello.")

    made = agent(behave)
    made.methods["initialize"] = lambda params: (_flood(), made.initialize(params))[1]
    made.run()


def _flood() -> None:
    lines = b"".join(b"debug: line %07d of many\n" % n for n in range(120_000))
    for data in (lines, b"y" * (2 << 20), b"\xff\xfe\xc3\x28" * 1000, b"\nthe last words\n"):
        view = memoryview(data)
        while view:
            view = view[os.write(2, view) :]


@case
def malformed(arguments: list[str]) -> None:
    """G-06: half a frame while ``initialize`` is pending, then its right answer; in a turn the same."""
    bad = b'{"jsonrpc":"2.0","id":\n'

    def behave(turn: Turn) -> None:
        turn.raw(bad)
        turn.say("Hello.")

    made = agent(behave)

    def initialize(params: Message) -> Any:
        made.wire.send_bytes(bad)
        return made.initialize(params)

    made.methods["initialize"] = initialize
    made.run()


@case
def batch(arguments: list[str]) -> None:
    """A batch, and objects that are neither request nor answer, after ``initialize``."""
    made = agent()
    odd = b'[{"jsonrpc":"2.0","method":"session/update","params":{}}]\n{"jsonrpc":"2.0","id":99}\n'
    made.methods["initialize"] = lambda params: Later(
        made.initialize(params), lambda: made.wire.send_bytes(odd)
    )
    made.run()


@case
def unknown_method(arguments: list[str]) -> None:
    """G-07: a vendor notification, and a request 7 of a vendor method; the turn waits for its answer."""

    def behave(turn: Turn) -> None:
        turn.wire.notify("_vendor/servers_changed", {"servers": []})
        waiting = turn.call("vendor/drain_messages", {}, request_id=7)
        try:
            waiting.result()
            turn.say("It was answered.")
        except Exception as error:  # noqa: BLE001 - whatever the answer is, the test wants to see it
            turn.say(f"It was refused: {getattr(error, 'code', error)}")

    agent(behave).run()
