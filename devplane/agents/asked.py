"""One permission request put together: what it says, and what it leaves out as the updates had it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devplane.agents import arguments as named
from devplane.agents import titles
from devplane.agents.agent import Agent, CallHints
from devplane.agents.patches import files_of
from devplane.agents.toolbook import ToolRecord

KINDS = frozenset({"execute", "read", "search", "edit", "delete", "move", "fetch", "switch_mode"})
"""The kinds that say what a call does; by any other its arguments decide."""
NO_KIND = frozenset({"", "other"})
READS = frozenset({"read", "search"})
EDITS = frozenset({"edit", "delete", "move"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request names, each thing once, the request's own first."""

    title: str
    kinds: frozenset[str]
    arguments: Mapping[str, Any]
    commands: tuple[str, ...]
    folders: tuple[str, ...]
    """Where the commands run."""
    urls: tuple[str, ...]
    paths: tuple[str, ...]
    """From the arguments."""
    locations: tuple[str, ...]
    diffs: tuple[str, ...]
    patched: tuple[str, ...]
    """What the patches of an edit name beside all these."""
    mcp: tuple[str, ...]
    """The MCP tools that it may mean, by the names that rules use."""
    is_cut: bool
    """Whether it names more files than could be read."""


def put_together(record: ToolRecord, agent: Agent, cwd: str, servers: Sequence[str]) -> Asked:
    """Join what updates and request say of one call. The kinds of both count, for they can disagree."""
    asked, announced, hints = record.asked, record.announced, agent.calls
    kinds = {asked.kind, announced.kind}
    title = asked.title or announced.title
    arguments = {**announced.raw_input, **asked.raw_input}
    commands, folders = named.command_lines(arguments), named.folders(arguments, cwd)
    if "execute" in kinds and not commands and hints.title_is_command and title.strip():
        commands = (title,)
        folders = titles.folders(asked.text or announced.text, hints, cwd) or folders
    urls = named.urls(arguments)
    if "fetch" in kinds and not urls:
        urls = titles.urls(title, hints)
    # Where a command runs is no file that it names.
    is_command = "execute" in kinds or (bool(commands) and not kinds & (READS | EDITS))
    paths = named.named_paths(arguments, with_folders=not is_command)
    locations = tuple({**asked.locations, **announced.locations})
    diffs = tuple({**asked.diffs, **announced.diffs})
    known = (*paths, *locations, *diffs)
    patched, is_whole = _patched(arguments, known, cwd) if kinds & EDITS else ((), True)
    mcp = _mcp_argument(arguments, hints)
    if not mcp and kinds <= NO_KIND:  # of a call of any kind, the title can be the model's own words
        mcp = titles.mcp_names(asked.title, announced.title, hints, servers)
    return Asked(
        title=title,
        kinds=KINDS & kinds,
        arguments=arguments,
        commands=commands,
        folders=folders,
        urls=urls,
        paths=paths,
        locations=locations,
        diffs=diffs,
        patched=patched,
        mcp=mcp,
        is_cut=asked.is_cut or announced.is_cut or not is_whole,
    )


def _patched(arguments: Mapping[str, Any], known: tuple[str, ...], cwd: str) -> tuple[tuple[str, ...], bool]:
    read = [files_of(patch, known, cwd) for patch in named.patches(arguments)]
    return tuple(path for paths, _ in read for path in paths), all(is_whole for _, is_whole in read)


def _mcp_argument(arguments: Mapping[str, Any], hints: CallHints) -> tuple[str, ...]:
    server, tool = (arguments.get(key) for key in hints.mcp_raw_input or ("", ""))
    if isinstance(server, str) and isinstance(tool, str) and server and tool:
        return (titles.mcp_name(server, tool),)
    return ()
