"""One function for each word that a prompt may begin with, and the table that finds it.

The words are described in `devplane.demo`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

from devplane.demo.shell import Shell, harmless_command
from devplane.demo.steps import Pace, is_allowed, report_usage, run_command, write_file
from devplane.demo.tour import tour
from devplane.testing.turn import Turn
from devplane.testing.wire import INTERNAL_ERROR, Message, RpcError, encode

Result = Message | str | None
Word = Callable[[Turn, str, Shell], Result]
"""Is given the turn, what stood after the word, and where commands are run."""

SLOW_PAUSE_S = 0.05
MANY_DEFAULT = 1000
BATCH_CHUNKS = 2000
LONG_BYTES = 1_500_000


def behave(turn: Turn, shell: Shell) -> Result:
    """Do what the prompt's first word asks for, then report usage unless the turn went wrong."""
    word, rest = split(_meant(turn))
    if turn.number == 1 and turn.session.title:
        turn.update({"sessionUpdate": "session_info_update", "title": turn.session.title})
    behaviour = WORDS.get(word)
    if behaviour is None:
        tour(turn, shell)
        result: Result = None
    else:
        result = behaviour(turn, rest, shell)
    return result or {"stopReason": "end_turn", "usage": report_usage(turn)}


SAID_AGAIN = ("Go on from where you stopped", "The checks of this project did not pass")
"""What stands in the prompts by which Devplane has a session go on with what it was told before."""


def _meant(turn: Turn) -> str:
    """Return the prompt to behave by: one that says to go on means the one before it."""
    earlier = reversed(turn.session.prompts)
    own = (text for text in earlier if not any(each in text for each in SAID_AGAIN))
    return next(own, turn.text)


def split(text: str) -> tuple[str, str]:
    """Return the prompt's first word, without a leading ``/`` or a colon after it, and the rest."""
    found = re.match(r"\s*/?(\w+)(?::|(?=\s)|$)(.*)", text, re.DOTALL)
    return (found[1].lower(), found[2].strip()) if found else ("", text)


def _number(rest: str, default: int) -> int:
    found = re.match(r"\d+", rest)
    return int(found[0]) if found else default


def quick(turn: Turn, rest: str, shell: Shell) -> Result:
    turn.say(f"This is turn {turn.number}, and that is all I have to say.")
    return None


def think(turn: Turn, rest: str, shell: Shell) -> Result:
    pace = Pace(turn)
    pace.think("Let me think about that for a moment. It is scripted, but it streams like a real thought.")
    pace.say("I have thought about it.")
    return None


def plan(turn: Turn, rest: str, shell: Shell) -> Result:
    pace, steps = Pace(turn), ("Read the code", "Write the test", "Run it")
    for done in range(len(steps) + 1):
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
        turn.plan(zip(steps, states, strict=False))
        pace.pause(0.3)
    turn.say("The plan is done. Nothing was really read, written or run.")
    return None


def edit(turn: Turn, rest: str, shell: Shell) -> Result:
    turn.say("Written." if write_file(turn) else "Nothing was written.")
    return None


def run(turn: Turn, rest: str, shell: Shell) -> Result:
    command = rest or harmless_command(turn.session.cwd)
    turn.say("It ran." if run_command(turn, shell, command) else "It did not run to a good end.")
    return None


def question(turn: Turn, rest: str, shell: Shell) -> Result:
    action, answers = turn.ask_form(
        "How should the demo go on?",
        {
            "name": {"type": "string", "title": "Your name", "minLength": 1, "maxLength": 40},
            "lines": {"type": "number", "title": "How many lines", "minimum": 1, "maximum": 100},
            "colour": {"type": "string", "title": "A colour", "enum": ["red", "green", "blue"]},
            "tests": {"type": "boolean", "title": "With tests", "default": True},
        },
        required=["name"],
    )
    if action == "accept":
        said = ", ".join(f"{name} = {value}" for name, value in sorted(answers.items()))
        turn.say(f"You said: {said}.")
    else:
        turn.say("You would rather not say." if action == "decline" else "The question was put away.")
    return None


def permissions(turn: Turn, rest: str, shell: Shell) -> Result:
    count, allowed = _number(rest, 3), 0
    for n in range(1, count + 1):
        tool = turn.tool(f"echo {n}", "execute", rawInput={"command": f"echo {n}"})
        if is_allowed(turn, tool, grant=f"run echo {n}"):
            allowed += 1
            tool.finish(str(n))
    turn.say(f"{allowed} of {count} were allowed.")
    return None


def hold(turn: Turn, rest: str, shell: Shell) -> Result:
    tool = turn.tool("echo held", "execute", rawInput={"command": "echo held"})
    if is_allowed(turn, tool, grant="run echo held"):
        tool.finish("held")
    turn.say("Thank you for the answer.")
    return None


def remember(turn: Turn, rest: str, shell: Shell) -> Result:
    before = turn.session.prompts[-2] if turn.number > 1 else None
    turn.say(f"This is turn {turn.number}. ")
    turn.say("There was no prompt before it." if before is None else f"The prompt before it was: {before}")
    return None


def slow(turn: Turn, rest: str, shell: Shell) -> Result:
    n = 0
    while True:
        n += 1
        turn.say(f"chunk {n} ")
        turn.wait(SLOW_PAUSE_S)


def sleep(turn: Turn, rest: str, shell: Shell) -> Result:
    turn.wait(float(_number(rest, 1)))
    turn.say("I slept well.")
    return None


def many(turn: Turn, rest: str, shell: Shell) -> Result:
    """Write chunks of 20 bytes, many a write. They are not kept: a load replays only the last line."""
    count = _number(rest, MANY_DEFAULT)
    message_id = f"many-{turn.number}"
    head, _, tail = encode(_chunk(turn, message_id, "@")).partition(b"@")
    for start in range(0, count, BATCH_CHUNKS):
        turn.wait(0)
        numbers = range(start, min(start + BATCH_CHUNKS, count))
        turn.raw(b"".join(b"%bchunk %12d\\n%b" % (head, n, tail) for n in numbers))
    turn.say(f"That was {count} chunks.")
    return None


def _chunk(turn: Turn, message_id: str, text: str) -> Message:
    update = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": text},
        "messageId": message_id,
    }
    params = {"sessionId": turn.session.id, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def long(turn: Turn, rest: str, shell: Shell) -> Result:
    tool = turn.tool("Read a long line", "read", status="in_progress")
    tool.finish("x" * LONG_BYTES)
    turn.say("That was a long line.")
    return None


def fail(turn: Turn, rest: str, shell: Shell) -> Result:
    turn.say("I will not do that, because you asked the demo to fail.")
    return "refusal"


def error(turn: Turn, rest: str, shell: Shell) -> Result:
    raise RpcError(INTERNAL_ERROR, "Internal error", {"details": "the prompt asked for an error"})


def crash(turn: Turn, rest: str, shell: Shell) -> Result:
    turn.say("I am about to crash.")
    sys.stderr.write("devplane-demo: crashing, as the prompt asked\n")
    sys.stderr.flush()
    shell.stop_all()
    os._exit(1)


WORDS: dict[str, Word] = {
    "quick": quick,
    "think": think,
    "plan": plan,
    "edit": edit,
    "shell": run,
    "run": run,
    "question": question,
    "permissions": permissions,
    "hold": hold,
    "remember": remember,
    "slow": slow,
    "sleep": sleep,
    "many": many,
    "long": long,
    "fail": fail,
    "error": error,
    "crash": crash,
}

COMMANDS: list[Message] = [
    {"name": "quick", "description": "Answer in one sentence"},
    {"name": "edit", "description": "Ask to write a small file"},
    {"name": "run", "description": "Ask to run a command", "input": {"hint": "command"}},
    {"name": "question", "description": "Ask the person to fill in a form"},
    {"name": "remember", "description": "Repeat the prompt before this one"},
    {"name": "slow", "description": "Write until cancelled"},
]
