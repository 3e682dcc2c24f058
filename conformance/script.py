"""What the model server shall answer, written into the prompt that asks for it.

A script is a list of rounds, one for each request the agent makes to its model
within a turn; a round is a list of steps. The script travels inside the prompt, so
the server keeps no state and any number of agents and sessions can share it::

    script([shell("touch made.txt")], [text("done")])

This module knows neither HTTP nor what any agent calls its tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

MARKER = "Play-script:"
"""Nothing in it means anything to an agent: no slash command, file mention or memory note."""

Capability = Literal["shell", "read", "write", "edit", "fetch", "plan", "mcp"]
StopReason = Literal["end_turn", "max_tokens", "refusal"]
PlanStatus = Literal["pending", "in_progress", "completed"]


class NotAScript(ValueError):
    """The prompt carries the marker, but what follows cannot be played."""


@dataclass(frozen=True, slots=True)
class Text:
    """The model says something, streamed in about `pieces` pieces."""

    text: str
    pieces: int = 4


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model reasons aloud, streamed in about `pieces` pieces."""

    text: str
    pieces: int = 4


@dataclass(frozen=True, slots=True)
class Tool:
    """The model calls whichever of the agent's tools has this capability."""

    can: Capability
    arguments: dict[str, Any] = field(default_factory=dict)
    """Named as in the function of this module that builds the step."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The stream pauses. Ends early when the client leaves."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """The stream stays open, silent, until the client leaves."""


@dataclass(frozen=True, slots=True)
class Error:
    """The request fails. Only as the first step of a round: after it the status line is gone."""

    status: int
    body: dict[str, Any] | None = None
    """``None`` for an error in the shape of the wire format that was asked."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts that this round reports, wherever in the round the step stands."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the round ends, when it is not for a tool call or for being finished."""

    reason: StopReason


Step: TypeAlias = Text | Thinking | Tool | Delay | Hang | Error | Usage | Stop
Round: TypeAlias = Sequence[Step]

KINDS: dict[str, type[Step]] = {
    "text": Text,
    "thinking": Thinking,
    "tool": Tool,
    "delay": Delay,
    "hang": Hang,
    "error": Error,
    "usage": Usage,
    "stop": Stop,
}
NAMES = {cls: name for name, cls in KINDS.items()}


def script(*rounds: Round, say: str = "Please go on.") -> str:
    """Return a prompt that makes the agent's model play `rounds`.

    `say` is what a person reads in front of the script.
    """
    encoded = [[{"do": NAMES[type(step)], **asdict(step)} for step in steps] for steps in rounds]
    return f"{say} {MARKER}{json.dumps(encoded)}"


def find_script(prompt: str) -> list[list[Step]] | None:
    """Return the last script in `prompt`, or ``None`` when it carries none.

    Raises:
        NotAScript: there is a marker with something else behind it.
    """
    _, marker, rest = prompt.rpartition(MARKER)
    if not marker:
        return None
    try:
        rounds, _ = json.JSONDecoder().raw_decode(rest)
        return [[_step(step) for step in steps] for steps in rounds]
    except (KeyError, TypeError, ValueError) as error:
        raise NotAScript(f"cannot play this script: {error!r}") from error


def _step(encoded: Mapping[str, Any]) -> Step:
    fields = dict(encoded)
    return KINDS[fields.pop("do")](**fields)


def text(said: str, *, pieces: int = 4) -> Text:
    return Text(said, pieces)


def thinking(thought: str, *, pieces: int = 4) -> Thinking:
    return Thinking(thought, pieces)


def shell(command: str, *, description: str = "Run it") -> Tool:
    """Run a command line. Codex is asked to leave its sandbox for it, since it asks for nothing else."""
    return Tool("shell", {"command": command, "description": description})


def read(path: str) -> Tool:
    """`path` is absolute, here and in `write` and `edit`: some agents take nothing else."""
    return Tool("read", {"path": path})


def write(path: str, content: str) -> Tool:
    return Tool("write", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> Tool:
    """Replace one text. Most agents refuse to edit a file that the session has not read."""
    return Tool("edit", {"path": path, "old": old, "new": new})


def fetch(url: str) -> Tool:
    return Tool("fetch", {"url": url})


def plan(entries: Iterable[tuple[str, PlanStatus]]) -> Tool:
    return Tool("plan", {"entries": [list(entry) for entry in entries]})


def mcp(server: str, tool: str, **arguments: Any) -> Tool:
    """Call `tool` of the MCP server that the session knows as `server`."""
    return Tool("mcp", {"server": server, "tool": tool, "arguments": arguments})


def delay(seconds: float) -> Delay:
    return Delay(seconds)


def hang() -> Hang:
    return Hang()


def error(status: int, body: dict[str, Any] | None = None) -> Error:
    return Error(status, body)


def usage(input_tokens: int, output_tokens: int) -> Usage:
    return Usage(input_tokens, output_tokens)


def stop(reason: StopReason) -> Stop:
    return Stop(reason)
