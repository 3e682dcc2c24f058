"""From what a person or a script says of a call to the calls that rules judge: as for an agent's request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from devplane.core.permission import Call
from devplane.core.policy.rules import COMMAND_TOOLS, EDIT_TOOLS, READ_TOOLS


def call_on(tool: str, subject: str, cwd: str) -> Call:
    """Return the call of `tool` on a command, path or URL alone."""
    name = tool.casefold()
    if name in COMMAND_TOOLS:
        return Call(tool, subject, cwd, input={"command": subject})
    if name in READ_TOOLS or name in EDIT_TOOLS:
        return Call(tool, subject, cwd, (subject,), {"file_path": subject})
    return Call(tool, subject, cwd, input={"url": subject} if name == "webfetch" else {})


def calls_with(tool: str, arguments: Mapping[str, Any], cwd: str) -> tuple[Call, ...]:
    """Return every call that `arguments` can be read as; the strictest verdict on them holds.

    Without a `tool` the arguments alone say what it is, as in a request that has no kind.
    """
    from devplane.agents.agent import Agent
    from devplane.agents.calls import calls_of
    from devplane.agents.toolbook import ToolBook

    name = tool.casefold()
    kind = _kind(name)
    if tool and not kind:
        return (Call(tool, "", cwd, input=arguments),)
    book = ToolBook()
    book.merge("call", {"kind": kind, "rawInput": dict(arguments)}, is_asked=True)
    found = calls_of(book.get("call"), Agent("", "", (), "command line"), cwd)
    return tuple(replace(each, tool=tool) if _kind(each.tool.casefold()) == kind else each for each in found)


def _kind(tool: str) -> str:
    """The kind that a request for `tool` (small letters) has; "" for a tool that has none."""
    if tool in COMMAND_TOOLS:
        return "execute"
    if tool in READ_TOOLS:
        return "search" if tool in ("grep", "glob") else "read"
    if tool in EDIT_TOOLS:
        return "edit"
    return "fetch" if tool == "webfetch" else ""
