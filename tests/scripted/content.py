"""Content that is large, null, unknown, hostile, or adds up wrongly."""

from __future__ import annotations

import base64
from typing import Any

from devplane.testing.shelf import text_block
from devplane.testing.turn import Turn, content
from devplane.testing.wire import Message
from tests.scripted.cases import agent, case

IMAGE_BYTES = 1_500_000

PERMISSION_TITLE = "ls\x1b[2K\rrm -rf ~"
TOOL_TITLE = "\x1b]52;c;ZWNobyBwd25lZA==\x07copied"
HOSTILE_TEXTS = (
    "up \x1b[10A\x1b[2J",
    "link \x1b]8;;http://evil\x1b\\ok\x1b]8;;\x1b\\",
    "ask \x1b[6n",
    "c1 \x9b2J",
    "override \u202egnp.exe",
)


@case
def images(arguments: list[str]) -> None:
    """G-38: COUNT tool results with an image of 1.5 MB (60), a ``data:`` URI in text, an invalid base64."""
    count = int(arguments[0]) if arguments else 60
    data = base64.b64encode(b"\x89PNG" + bytes(IMAGE_BYTES - 4)).decode()

    def show(turn: Turn, name: str, block: Message) -> None:
        tool = turn.tool(name, "read", status="in_progress")
        changed = {"toolCallId": tool.call["toolCallId"], "status": "completed"}
        body = [{"type": "content", "content": block}]
        turn.update({"sessionUpdate": "tool_call_update", **changed, "content": body}, keep=False)

    def behave(turn: Turn) -> None:
        for n in range(count):
            show(turn, f"Screenshot {n}", {"type": "image", "mimeType": "image/png", "data": data})
        show(turn, "Page", text_block(f"look: data:image/png;base64,{data} end"))
        show(turn, "Broken", {"type": "image", "mimeType": "image/png", "data": "not base64!"})
        block = {"type": "image", "mimeType": "image/png", "data": data}
        turn.update({"sessionUpdate": "agent_message_chunk", "content": block}, keep=False)
        turn.say("That is what it looks like.")

    agent(behave).run()


@case
def costs(arguments: list[str]) -> None:
    """G-40: a running total of 0.10; 0.25; 0.25 between the turns; 0.60 in the last one.

    Turn 1 reports 0.10, turn 2 reports 0.25, turn 3 nothing (0.25 comes after turn 2), turn 4 reports
    0.40 and 0.60. Arguments replace that: one a turn, totals joined by commas.
    """
    totals = [[float(n) for n in turn.split(",") if n] for turn in arguments] or [
        [0.10],
        [0.25],
        [],
        [0.40, 0.60],
    ]

    def behave(turn: Turn) -> None:
        turn.say(f"turn {turn.number}")
        for total in totals[turn.number - 1] if turn.number <= len(totals) else []:
            turn.usage(1000 * turn.number, 200_000, total)
        if not arguments and turn.number == 2:
            turn.end()
            turn.usage(2000, 200_000, 0.25)

    agent(behave).run()


@case
def nulls(arguments: list[str]) -> None:
    """G-41: nulls where fields are optional, and kinds of update and content that nobody knows."""
    odd: list[dict[str, Any]] = [
        {"sessionUpdate": "brand_new_thing", "nested": {"deep": [1, {"er": None}]}},
        {"sessionUpdate": "usage_update", "used": None, "size": 1000},
        {"sessionUpdate": "plan", "entries": None},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram", "data": "…"}},
        {"sessionUpdate": "agent_message_chunk", "content": None},
        {"sessionUpdate": None},
        {},
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "n1",
            "title": None,
            "kind": None,
            "status": None,
            "content": None,
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": "n1", "status": "completed", "locations": None},
    ]

    def behave(turn: Turn) -> Message:
        for update in odd:
            turn.update(update, keep=False)
        turn.say("Still here.")
        return {"stopReason": "end_turn", "usage": None, "_meta": None}

    made = agent(behave)

    def new_session(params: Message) -> Any:
        result = made.new_session(params)
        model = {"modelId": "m", "name": None, "description": None}
        return {**result, "models": {"availableModels": [model]}, "modes": None, "configOptions": None}

    made.methods["session/new"] = new_session
    made.run()


@case
def escapes(arguments: list[str]) -> None:
    """G-49: escape sequences in text, in a tool's title and output, in a plan, in what is to be approved."""

    def behave(turn: Turn) -> None:
        for text in HOSTILE_TEXTS:
            turn.say(text + "\n")
        turn.think("\x1b[31mred\x1b[0m thought")
        turn.plan([("\x1b]0;title\x07step", "in_progress")])
        turn.tool(TOOL_TITLE, "other").finish("out\x1b[2Jput")
        call = turn.tool(PERMISSION_TITLE, "execute", rawInput={"command": PERMISSION_TITLE})
        options = [
            {"optionId": "y", "name": "Yes\x1b[1A", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"},
        ]
        turn.say(f"chosen: {turn.ask_permission(call, options)}")

    agent(behave).run()


@case
def surrogates(arguments: list[str]) -> None:
    """A pair of surrogates split over two chunks, and a half that never meets its other."""

    def behave(turn: Turn) -> None:
        for half in ("\ud83d", "\ude00", " and \ud83d alone"):
            turn.say(half)

    agent(behave).run()


@case
def tool_flood(arguments: list[str]) -> None:
    """COUNT tool calls (1000), each announced and completed, as fast as they can be written."""
    count = int(arguments[0]) if arguments else 1000

    def behave(turn: Turn) -> None:
        for n in range(count):
            call = {"toolCallId": f"f{n}", "title": f"call {n}", "kind": "read"}
            turn.update({"sessionUpdate": "tool_call", **call, "status": "in_progress"}, keep=False)
            done = {"toolCallId": f"f{n}", "status": "completed", "content": [content(f"result {n}")]}
            turn.update({"sessionUpdate": "tool_call_update", **done}, keep=False)
        turn.say("done")

    agent(behave).run()
