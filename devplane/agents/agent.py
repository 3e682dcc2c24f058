"""What Devplane must know of one agent before it can start it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Via: TypeAlias = Literal["mode", "config_option", "environment", "none"]
McpTransport: TypeAlias = Literal["stdio", "http"]

CLOSE_GRACE_S = 2.5
"""For agents whose ending nobody has measured."""


@dataclass(frozen=True, slots=True)
class AskFirst:
    """In which modes the agent asks before it acts, and how it gets there."""

    modes: tuple[str, ...] = ()
    """Ids of those modes; empty when nobody knows."""
    set_mode: str | None = None
    """The one to be in from the start, again after load and resume; ``None``: leave it alone."""
    via: Via = "none"
    """What puts it there. ``environment``: it is there by itself, and is only checked."""


@dataclass(frozen=True, slots=True)
class CallHints:
    """Where a permission request carries what rules need, for agents that leave the arguments out."""

    title_is_command: bool = False
    url_title: str | None = None
    """The title of a fetch, with ``{url}``."""
    folder_text: tuple[str, ...] = ()
    """How the text of a command may begin to say where it runs, with ``{folder}``."""
    mcp_title: str | None = None
    """The title of a request for an MCP call, with ``{server}`` and ``{tool}``."""
    mcp_announced: str | None = None
    """The title of the call before it, likewise, where only that names the server; the request's own,
    by `mcp_title`, must then agree with it."""
    mcp_raw_input: tuple[str, str] | None = None
    """The two keys of ``rawInput`` that hold an MCP call's server and tool."""


@dataclass(frozen=True, slots=True)
class NodeNeed:
    """The Node that a package asks for, and the package that brings one."""

    minimum: int
    """Major version."""
    package: str
    program: str
    """The program that the agent's own package installs; named when two packages are fetched."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent as the catalog resolved it."""

    id: str
    name: str
    command: tuple[str, ...]
    source: str
    """``built in``, the path of the file that says so, or ``command line``."""
    pinned: bool = False
    """Whether the command can only ever start one version. ``False`` for a plain program: nobody knows."""
    version: str | None = None
    """The version that the command starts, where it says."""
    expected_version: str | None = None
    """What ``agentInfo.version`` should be; ``None``: nothing to compare with."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_json: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variable to a JSON object that is merged over the one which the variable already holds."""
    forget_env: tuple[str, ...] = ()
    asking: AskFirst = AskFirst()
    calls: CallHints = CallHints()
    mcp_transport: McpTransport = "stdio"
    sign_in: str | None = None
    attach: tuple[str, ...] = ()
    """The terminal program that continues a session, with ``{session}``; empty when there is none."""
    close_grace_s: float = CLOSE_GRACE_S
    """How long it may take to end after its stdin was closed."""
    fetches: bool = False
    """Whether starting it may first download it."""
    node: NodeNeed | None = None
    notes: str | None = None
    cost_begins_anew: bool = False
    """Whether the running total of cost begins at zero with each process, also in a session that goes on."""
    one_opening_a_minute: bool = False
    """Whether a load destroys a session that was last opened in the same minute of the clock."""
    load_warning: str | None = None
    """What a person should know who loads one of its sessions."""
    client_fs: bool = False
    """Whether it may have Devplane read and write its files."""
    client_terminal: bool = False
    """Whether it may have Devplane run its commands."""
    missing_file_is_empty: bool = False
    """Whether it must be told that a file which is not there is empty, or it will not make one."""

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return the environment to start it in: `base` with what its table says on top."""
        env = {name: value for name, value in base.items() if name not in self.forget_env}
        env.update(self.env)
        for name, ours in self.env_json.items():
            env[name] = json.dumps(_merged(_object(env.get(name)), ours))
        return env

    def attach_command(self, session: str) -> tuple[str, ...]:
        """Return the command that continues `session` in a terminal, or ()."""
        return tuple(word.replace("{session}", session) for word in self.attach)


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _merged(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(theirs)
    for key, value in ours.items():
        old = both.get(key)
        both[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return both
