"""From a permission request to the calls that rules judge: by kind, then by arguments.

A title decides only where the agent's table says that it is the command, the URL or the
tool, and then only when the arguments do not say it. Where kind and arguments
disagree, or a name can be read in two ways, there is a call for each reading. What
cannot be told is a call of no tool, which no rule allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from devplane.agents import arguments as named
from devplane.agents.agent import Agent
from devplane.agents.asked import EDITS, READS, Asked, put_together
from devplane.agents.toolbook import ToolRecord
from devplane.core.permission import Call, Option

_Reading: TypeAlias = tuple[str, str, str, tuple[str, ...]]
"""The tool, subject, folder and paths of one call."""

TOOLS = {
    "execute": "Bash",
    "read": "Read",
    "search": "Read",
    "edit": "Edit",
    "delete": "Edit",
    "move": "Edit",
    "fetch": "WebFetch",
}
"""The rule tool for each kind that needs something to work on."""


def calls_of(
    record: ToolRecord,
    agent: Agent,
    cwd: str,
    *,
    options: Sequence[Option] = (),
    servers: Sequence[str] = (),
) -> tuple[Call, ...]:
    """Return every call that a request can be read as; the strictest verdict on them holds. Never empty.

    The first is the one to show. `options` are what is offered: they name the modes
    that a change of mode may lead to. `servers` are the MCP servers that the session
    was given; they settle where an ambiguous name is to be split.
    """
    asked = put_together(record, agent, cwd, servers)
    readings = dict.fromkeys(_readings(asked, cwd, options))
    return tuple(Call(*reading, asked.arguments) for reading in readings)


def _readings(asked: Asked, cwd: str, options: Sequence[Option]) -> Iterator[_Reading]:
    unknown: _Reading = ("", "", cwd, ())
    if not (asked.kinds or asked.commands or asked.urls or asked.mcp):
        yield unknown
    if "switch_mode" in asked.kinds:
        offered = "; ".join(each.name for each in options if each.kind.startswith("allow"))
        yield "switch_mode", offered or asked.title, cwd, ()
    for line in asked.commands:
        for folder in asked.folders:
            yield "Bash", line, folder, ()
    if asked.kinds or not asked.mcp:  # an MCP tool's arguments are its own affair, save a command
        yield from _file_readings(asked, cwd)
        yield from (("WebFetch", url, cwd, ()) for url in asked.urls)
    yield from ((name, "", cwd, ()) for name in asked.mcp)
    if asked.mcp and not asked.kinds:
        return
    missing = () if asked.mcp else _missing(asked)
    yield from ((tool, "", cwd, ()) for tool in missing)
    if missing or asked.is_cut or named.hides_commands(asked.arguments):
        yield unknown


def _file_readings(asked: Asked, cwd: str) -> Iterator[_Reading]:
    reads, edits = asked.kinds & READS, asked.kinds & EDITS
    paths = _joined(asked.paths, asked.locations)
    if reads:
        found = _joined(paths, named.pattern_roots(asked.arguments)) if "search" in reads else paths
        if not found and _starts_here(asked):
            found = (cwd,)
        yield from _on("Read", found, cwd)
    if edits:
        yield from _on("Edit", _joined(paths, asked.diffs, asked.patched), cwd)
    else:
        yield from _on("Edit", asked.diffs, cwd)
    if not reads and not edits:
        # Where a command or a URL is given, locations are what it is thought to touch, and no more.
        stray = asked.paths if asked.commands or asked.urls else paths
        yield from _on("Read", stray, cwd)
        yield from _on("Edit", stray, cwd)


def _on(tool: str, paths: tuple[str, ...], cwd: str) -> Iterator[_Reading]:
    if paths:
        yield tool, paths[0], cwd, paths


def _missing(asked: Asked) -> tuple[str, ...]:
    """The tools that kinds name without a word of what they are to work on."""
    paths = asked.paths or asked.locations
    given = {
        "execute": bool(asked.commands),
        "fetch": bool(asked.urls),
        "read": bool(paths),
        "search": bool(paths) or _starts_here(asked),
        "switch_mode": True,
    }
    edited = bool(paths or asked.diffs or asked.patched)
    return tuple(TOOLS[kind] for kind in sorted(asked.kinds) if not given.get(kind, edited))


def _starts_here(asked: Asked) -> bool:
    """Whether it searches files: without a root, that is from the agent's folder on. The web is no folder."""
    return "search" in asked.kinds and named.searches(asked.arguments)


def _joined(*several: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for paths in several for path in paths))
