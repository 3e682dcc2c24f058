"""From a capability to the tool that this agent offers for it, with its arguments.

Agents differ in what they call their tools and arguments, not in what these do. So
each capability has the names in use, and one generous set of arguments under every
name in use, of which the tool gets those that its schema declares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from conformance.script import Tool
from conformance.stub.request import Json, OfferedTool

TOOLS: dict[str, tuple[str, ...]] = {
    "shell": ("Bash", "bash", "run_shell_command", "exec_command"),
    "read": ("Read", "read", "read_file", "view", "exec_command"),
    "write": ("Write", "write", "write_file", "create", "apply_patch"),
    "edit": ("Edit", "edit", "replace", "apply_patch"),
    "fetch": ("WebFetch", "webfetch", "web_fetch"),
    "plan": ("TodoWrite", "todowrite", "update_plan"),
}
CODE_TOOL = "exec"
"""Codex offers its newer models this one tool; it takes JavaScript that calls the others."""


def choose(step: Tool, offered: dict[str, OfferedTool]) -> tuple[OfferedTool, Any]:
    """Return the tool that carries out `step`, and what to call it with.

    When the agent offers nothing suitable, a tool of a telling name that the agent does
    not have: its refusal then shows up in the transcript.
    """
    code_tool = offered.get(CODE_TOOL)
    if code_tool is not None and code_tool.is_freeform:
        return code_tool, _javascript(step)
    if step.can == "mcp":
        return _mcp_tool(step.arguments, offered), step.arguments["arguments"]
    for name in TOOLS[step.can]:
        if name in offered:
            tool = offered[name]
            arguments = ARGUMENTS[step.can](step.arguments)
            return tool, arguments["input"] if tool.is_freeform else _declared(arguments, tool.schema)
    return OfferedTool(f"no_tool_that_can_{step.can}"), dict(step.arguments)


def _mcp_tool(asked: Json, offered: dict[str, OfferedTool]) -> OfferedTool:
    """Find the tool of an MCP server: ``mcp__server__tool``, ``server-tool`` and so on."""
    server, name = re.escape(asked["server"]), re.escape(asked["tool"])
    pattern = re.compile(rf"(mcp_+)?{server}[-_.]+{name}")
    for key, tool in offered.items():
        if pattern.fullmatch(key):
            return tool
    return OfferedTool(f"mcp__{asked['server']}__{asked['tool']}")


def _declared(value: Any, schema: Json) -> Any:
    """Drop what `schema` does not declare; some agents refuse a call with more."""
    match value, schema:
        case dict(), {"properties": dict() as properties}:
            return {
                key: _declared(inner, properties[key]) for key, inner in value.items() if key in properties
            }
        case list(), {"items": dict() as items}:
            return [_declared(inner, items) for inner in value]
        case _:
            return value


def _shell(asked: Json) -> Json:
    command = asked["command"]
    return {"command": command, "cmd": command, "description": asked["description"], **LEAVE_SANDBOX}


LEAVE_SANDBOX = {
    "sandbox_permissions": "require_escalated",
    "justification": "May it run outside the sandbox?",
}


def _path(path: str) -> Json:
    return {"file_path": path, "filePath": path, "path": path}


def _read(asked: Json) -> Json:
    return {**_path(asked["path"]), "cmd": f"cat '{asked['path']}'"}


def _write(asked: Json) -> Json:
    content = asked["content"]
    added = "\n".join("+" + line for line in content.splitlines())
    return {
        **_path(asked["path"]),
        "content": content,
        "file_text": content,
        "input": f"*** Begin Patch\n*** Add File: {asked['path']}\n{added}\n*** End Patch\n",
    }


def _edit(asked: Json) -> Json:
    old, new = asked["old"], asked["new"]
    return {
        **_path(asked["path"]),
        **dict.fromkeys(("old_string", "oldString", "old_str"), old),
        **dict.fromkeys(("new_string", "newString", "new_str"), new),
        "instruction": "Change it",
        "input": f"*** Begin Patch\n*** Update File: {asked['path']}\n@@\n-{old}\n+{new}\n*** End Patch\n",
    }


def _fetch(asked: Json) -> Json:
    url = asked["url"]
    return {"url": url, "prompt": f"Say what {url} is about", "format": "text"}


def _plan(asked: Json) -> Json:
    entries = asked["entries"]
    return {
        "todos": [
            {
                "id": str(at),
                "content": what,
                "description": what,
                "activeForm": what,
                "status": status,
                "priority": "medium",
            }
            for at, (what, status) in enumerate(entries)
        ],
        "plan": [{"step": what, "status": status} for what, status in entries],
    }


ARGUMENTS: dict[str, Callable[[Json], Json]] = {
    "shell": _shell,
    "read": _read,
    "write": _write,
    "edit": _edit,
    "fetch": _fetch,
    "plan": _plan,
}


def _javascript(step: Tool) -> str:
    name, argument = _inner_call(step)
    return f"text(await tools[{json.dumps(name)}]({json.dumps(argument)}));"


def _inner_call(step: Tool) -> tuple[str, Any]:
    asked = step.arguments
    match step.can:
        case "shell":
            return "exec_command", {"cmd": asked["command"], **LEAVE_SANDBOX}
        case "read":
            return "exec_command", {"cmd": _read(asked)["cmd"]}
        case "write" | "edit":
            return "apply_patch", ARGUMENTS[step.can](asked)["input"]
        case "plan":
            return "update_plan", {"plan": _plan(asked)["plan"]}
        case "mcp":
            # What is no letter, digit or underscore would not be an identifier.
            name = re.sub(r"\W", "_", f"mcp__{asked['server']}__{asked['tool']}")
            return name, asked["arguments"]
        case "fetch":
            return "no_tool_that_can_fetch", dict(asked)
