"""Turns that end oddly, late, or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time

from devplane.testing.shelf import text_block
from devplane.testing.turn import Turn, TurnCancelled, content
from devplane.testing.wire import Message, encode
from tests.scripted import log
from tests.scripted.cases import agent, case
from tests.scripted.framing import chunk_line, update_line


@case
def tail(arguments: list[str]) -> None:
    """G-17: "42." and the end of a tool call come DELAY seconds after the response (0: in the same write)."""
    delay = float(arguments[0]) if arguments else 0.0

    def behave(turn: Turn) -> None:
        tool = turn.tool("count", "other")
        turn.say("The answer is ")
        closing: Message = {"sessionUpdate": "tool_call_update", **tool.call, "status": "completed"}
        late = chunk_line(turn, "42.") + update_line(turn, closing)
        if not delay:
            turn.raw(encode(turn.response()) + late)
            return
        turn.end()
        time.sleep(delay)
        turn.raw(late)

    agent(behave).run()


@case
def exit_mid_turn(arguments: list[str]) -> None:
    """G-18: leaves in mid-turn with a permission open: ``0``, ``1``, ``kill``, ``stdout`` (lives on)."""
    how = arguments[0] if arguments else "1"

    def behave(turn: Turn) -> None:
        turn.say("I was about to say")
        turn.start_permission(turn.tool("ls", "execute", rawInput={"command": "ls"}))
        sys.stderr.write("agent: something broke\n")
        sys.stderr.flush()
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "stdout":
            turn.wire.close_output()
            threading.Event().wait()
        os._exit(int(how))

    agent(behave).run()


@case
def ignores_cancel(arguments: list[str]) -> None:
    """G-19: the first turn takes no notice of a cancel.

    With ``late`` its response comes once the second prompt has come, before that one's own.
    """
    second = threading.Event()
    first_answered = threading.Event()

    def behave(turn: Turn) -> str:
        if turn.number > 1:
            second.set()
            if arguments == ["late"]:
                first_answered.wait()
            turn.say("This is the second answer.")
            return "end_turn"
        turn.say("Going on for ever.")
        second.wait()
        if arguments != ["late"]:
            threading.Event().wait()
        turn.end("cancelled")
        first_answered.set()
        return "cancelled"

    made = agent(behave)
    made.one_prompt_at_a_time = False
    made.run()


@case
def rejects_second(arguments: list[str]) -> None:
    """G-21: answers a prompt during a prompt with -32600; each turn lasts until the file GATE exists.

    Without GATE a turn lasts until it is cancelled, when the prompt says ``wait``.
    """

    def behave(turn: Turn) -> None:
        turn.say(f"heard: {turn.text}")
        if arguments:
            while not os.path.exists(arguments[0]):
                turn.wait(0.02)
        elif "wait" in turn.text:
            turn.wait(None)

    agent(behave).run()


@case
def stop_reason(arguments: list[str]) -> None:
    """G-22: says a closing "done" and ends with REASON as JSON; ``missing`` sends an empty result."""
    given = arguments[0] if arguments else '"refusal"'

    def behave(turn: Turn) -> Message:
        turn.say("All of it is done.\n\n@move done")
        return {} if given == "missing" else {"stopReason": json.loads(given)}

    agent(behave).run()


@case
def error_as_text(arguments: list[str]) -> None:
    """Reports a failure of its model as a chunk and ends with ``end_turn``, as real agents do."""

    def behave(turn: Turn) -> None:
        turn.say("Error: 429 Too Many Requests")

    agent(behave).run()


@case
def slow_cancel(arguments: list[str]) -> None:
    """Acknowledges a cancel after one more chunk; the cancel is in the log."""

    def behave(turn: Turn) -> str:
        turn.say("working ")
        while not turn.is_cancelled:
            time.sleep(0.01)
        log.record(note="cancelled")
        turn.say("one more")
        return "cancelled"

    agent(behave).run()


@case
def stalls(arguments: list[str]) -> None:
    """Says one thing and then nothing, for ever; a cancel works."""

    def behave(turn: Turn) -> None:
        turn.say("Thinking about it")
        turn.wait(None)

    agent(behave).run()


@case
def echo(arguments: list[str]) -> None:
    """Says the prompt again: for tests that want to see what reached the agent."""

    def behave(turn: Turn) -> None:
        turn.update({"sessionUpdate": "agent_message_chunk", "content": text_block(turn.text)})

    agent(behave).run()


@case
def ticker(arguments: list[str]) -> None:
    """Writes a numbered chunk every few ms until cancelled, and asks for permission all the while.

    Each line is noted as ``tick`` with the clock's reading at the moment when it had been written, each
    request as ``asking`` with its id and subject, so that a test knows what was said at any moment.
    """

    def ask(turn: Turn, n: int) -> None:
        command = f"echo {n}"
        call = {"toolCallId": f"c{n}", "title": command, "kind": "execute", "rawInput": {"command": command}}
        waiting = turn.start_permission(call, request_id=f"p{n}")
        log.record(note={"asking": waiting.id, "subject": command})
        turn.wait_for(waiting)
        done = {"toolCallId": f"c{n}", "status": "completed", "content": [content(f"output {n}")]}
        turn.update({"sessionUpdate": "tool_call_update", **done}, keep=False)

    def ask_on(turn: Turn) -> None:
        n = 0
        with contextlib.suppress(TurnCancelled, BrokenPipeError):
            while True:
                n += 1
                ask(turn, n)
                # A fact has what was said before it written at once; here the prose is on its own.
                turn.wait(0.5 if n % 8 == 0 else 0)

    def behave(turn: Turn) -> None:
        threading.Thread(target=ask_on, args=(turn,), daemon=True).start()
        n = 0
        while True:
            n += 1
            line = chunk_line(turn, f"<{n}>")
            turn.raw(line)
            log.record(note={"tick": n, "at_ns": time.monotonic_ns()})
            turn.wait(0.004)

    agent(behave).run()
