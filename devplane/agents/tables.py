"""One agent's table, from TOML to `Agent`: those that ship, and what a person's file says over them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devplane import __version__
from devplane.agents.agent import CLOSE_GRACE_S, Agent, AskFirst, CallHints, NodeNeed
from devplane.launchers import is_exact, package_of, with_version

BUILT_IN = "built in"
SERVED_KEYS = ("client_fs", "client_terminal", "missing_file_is_empty")
USER_KEYS = ("name", "command", "version", "env", "attach", *SERVED_KEYS)
CALL_KEYS = ("command_from", "url_title", "folder_text", "mcp_title", "mcp_announced", "mcp_raw_input")
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
RESERVED_IDS = frozenset({"custom"})


class TableWrong(ValueError):
    """A table cannot be meant. ``key`` is the one to look at, or "" for the table itself."""

    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key = key


@dataclass(frozen=True, slots=True)
class UserTable:
    """What a person's file says of one agent; ``None`` for what it leaves out."""

    name: str | None = None
    command: tuple[str, ...] | None = None
    version: str | None = None
    env: Mapping[str, str] | None = None
    attach: tuple[str, ...] | None = None
    served: Mapping[str, Any] = field(default_factory=dict)
    """Which of `SERVED_KEYS` it sets."""


def check_id(agent_id: str) -> None:
    """Raise `TableWrong` for an id that ``--agent`` could not name."""
    if agent_id in RESERVED_IDS:
        raise TableWrong(f"the id {agent_id!r} is taken by commands that are given in full")
    if not _ID.fullmatch(agent_id):
        raise TableWrong(f"{agent_id!r} is no id: lower-case letters, digits, '-', '_' and '.', at most 40")


def check_version(version: str, *, is_python: bool = False) -> None:
    """Raise `TableWrong`, with the reason, for anything but one exact version."""
    if re.fullmatch(r"\d+\.\d+\.\d+.*", version) and is_exact(version, is_python=is_python):
        return
    if re.fullmatch(r"[A-Za-z]+", version):
        reason = f"{version!r} is a tag, and what it names changes"
    elif re.fullmatch(r"v\d.*", version):
        reason = f"{version!r}: leave the 'v' out"
    elif re.fullmatch(r"\d+(\.\d+)?", version) or re.search(r"[\^~<>=*|\sx]", version):
        reason = f"{version!r} is a range, and what it names changes"
    else:
        reason = f"{version!r} is not a version"
    raise TableWrong(f"{reason}: give one exact version, such as 1.2.3", "version")


def split_command(command: str, key: str = "command") -> tuple[str, ...]:
    """Split a command as a shell would; raise `TableWrong` when it is empty or its quotes do not close."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise TableWrong(f"the {key} cannot be split: {error}", key) from error
    if not words or not words[0]:
        raise TableWrong(f"the {key} is empty", key)
    return words


def built_in(table: Mapping[str, Any]) -> Agent:
    """Return the agent that a shipped table describes. A table that is wrong is a bug of ours."""
    asking, node = table.get("asking", {}), table.get("node")
    version: str = table["version"].replace("{devplane}", __version__)
    command, attach = (
        tuple(word.replace("{version}", version).replace("{python}", sys.executable) for word in words)
        for words in (split_command(table["command"]), shlex.split(table.get("attach", "")))
    )
    return Agent(
        id=table["id"],
        name=table["name"],
        command=command,
        source=BUILT_IN,
        pinned=True,
        version=version,
        expected_version=version,
        env=table.get("env", {}),
        env_json=table.get("env_json", {}),
        forget_env=tuple(table.get("forget_env", ())),
        asking=AskFirst(tuple(asking["modes"]), asking.get("set_mode"), asking["via"]),
        calls=call_hints(table.get("calls", {})),
        mcp_transport=table.get("mcp_transport", "stdio"),
        sign_in=table.get("sign_in"),
        attach=attach,
        close_grace_s=float(table.get("close_grace_s", CLOSE_GRACE_S)),
        fetches=package_of(command) is not None,
        node=NodeNeed(**node) if node else None,
        notes=table.get("notes"),
        cost_begins_anew=table.get("cost_begins_anew", False),
        one_opening_a_minute=table.get("one_opening_a_minute", False),
        load_warning=table.get("load_warning"),
        **_served(table),
    )


def call_hints(table: Mapping[str, Any]) -> CallHints:
    """Return what ``[calls]`` says. Raises `TableWrong` for a key that is unknown or cannot be meant."""
    for key in table:
        if key not in CALL_KEYS:
            raise TableWrong(f"unknown key {key!r} in [calls] (known: {', '.join(CALL_KEYS)})", key)
    command_from, raw_input = table.get("command_from"), table.get("mcp_raw_input")
    if command_from not in (None, "title"):
        raise TableWrong('command_from can only be "title"', "command_from")
    if raw_input is not None and not (_are_texts(raw_input) and len(raw_input) == 2):
        raise TableWrong("mcp_raw_input must be the keys of the server and of the tool", "mcp_raw_input")
    folders = table.get("folder_text", [])
    if not _are_texts(folders) or any(_names(each) != ["folder"] for each in folders):
        raise TableWrong("folder_text must be texts with one {folder}", "folder_text")
    if "url_title" in table and _names(table["url_title"]) != ["url"]:
        raise TableWrong("url_title must be a text with one {url}", "url_title")
    # The server is in one title only; the request's own may say no more than the tool.
    server_in = "mcp_announced" if "mcp_announced" in table else "mcp_title"
    if server_in in table and sorted(_names(table[server_in])) != ["server", "tool"]:
        raise TableWrong(f"{server_in} must be a text with one {{server}} and one {{tool}}", server_in)
    if "mcp_title" in table and not {"tool"} <= set(_names(table["mcp_title"])) <= {"server", "tool"}:
        raise TableWrong("mcp_title must be a text with a {tool}", "mcp_title")
    return CallHints(
        title_is_command=command_from == "title",
        url_title=table.get("url_title"),
        folder_text=tuple(folders),
        mcp_title=table.get("mcp_title"),
        mcp_announced=table.get("mcp_announced"),
        mcp_raw_input=(raw_input[0], raw_input[1]) if raw_input else None,
    )


def _names(template: Any) -> list[str]:
    return re.findall(r"\{(\w*)\}", template) if isinstance(template, str) else []


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def user_table(table: Any) -> UserTable:
    """Check one ``[agents.<id>]`` of a person's file.

    Raises:
        TableWrong: An unknown key, a wrong type, a version that is not exact, or a
            command whose program the repository could supply.
    """
    if not isinstance(table, dict):
        raise TableWrong("must be a table")
    for key in table:
        if key not in USER_KEYS:
            raise TableWrong(f"unknown key {key!r} (known: {', '.join(USER_KEYS)})", key)
    name, command, version, env = (table.get(key) for key in ("name", "command", "version", "env"))
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise TableWrong("name must be a text", "name")
    if version is not None and not isinstance(version, str):
        raise TableWrong('version must be a text, such as "1.2.3"', "version")
    if env is not None and not (
        isinstance(env, dict) and all(isinstance(value, str) for value in env.values())
    ):
        raise TableWrong("env must be a table of texts", "env")
    words = None if command is None else _words(command)
    if version is not None:
        package = package_of(words) if words else None
        check_version(version, is_python=package is not None and package.is_python)
        words = tuple(word.replace("{version}", version) for word in words) if words else None
    attach = None if "attach" not in table else _words(table["attach"], "attach")
    if attach is not None and not any("{session}" in word for word in attach[1:]):
        raise TableWrong("attach must have {session} among its arguments", "attach")
    return UserTable(name, words, version, env, attach, _served(table))


def _served(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a table says of the files and commands that Devplane handles for its agent."""
    for key in SERVED_KEYS:
        if not isinstance(table.get(key, False), bool):
            raise TableWrong(f"{key} must be true or false", key)
    return {key: table[key] for key in SERVED_KEYS if key in table}


def from_user(agent_id: str, table: UserTable, source: str) -> Agent:
    """Return the agent that only a person's file knows. Nothing is known of its modes or its ending."""
    if table.command is None:
        raise TableWrong("command is missing", "")
    env, attach = table.env or {}, table.attach or ()
    agent = Agent(agent_id, table.name or agent_id, (), source, env=env, attach=attach, **table.served)
    return _commanded(agent, table.command, table.version)


def overlay(agent: Agent, table: UserTable, source: str) -> Agent:
    """Return `agent` with what `table` gives; everything else stays.

    The rest of a built-in table must outlive a re-pin: an agent that lost its
    ask-first mode with the version would run without asking.
    """
    env = {**agent.env, **(table.env or {})}
    over = replace(
        agent,
        name=table.name or agent.name,
        source=source,
        env=env,
        attach=table.attach or agent.attach,
        **table.served,
    )
    if table.command is not None:
        return _commanded(over, table.command, table.version, built_in_package=package_of(agent.command))
    if table.version is None:
        return over
    package = package_of(agent.command)
    if package is None:
        raise TableWrong(f"{agent.id} has no package that a version could name", "version")
    return _commanded(over, with_version(agent.command, package, table.version), table.version)


def from_command(command: Sequence[str]) -> Agent:
    """Return the agent ``custom`` for a command that was given in full."""
    return _commanded(Agent("custom", Path(command[0]).name, (), "command line"), tuple(command), None)


def _commanded(
    agent: Agent, command: tuple[str, ...], version: str | None, built_in_package: Any = None
) -> Agent:
    package = package_of(command)
    found = package.version if package else None
    if version is not None and found is not None and version != found:
        raise TableWrong(f"version {version} is not the {found} that the command names", "version")
    is_known = package is not None and built_in_package is not None and package.name == built_in_package.name
    return replace(
        agent,
        command=command,
        pinned=package is not None and package.is_pinned,
        version=version or found,
        # What a stranger's package calls its version need not be the package's own.
        expected_version=version or (found if is_known else None),
        fetches=package is not None,
        # The need for a newer Node belongs to the package that the table describes, and to no other.
        node=agent.node if built_in_package is None or is_known else None,
    )


def _words(command: Any, key: str = "command") -> tuple[str, ...]:
    if isinstance(command, str):
        words = split_command(command, key)
    elif isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        words = tuple(command)
    else:
        raise TableWrong(f"{key} must be a text or a list of texts", key)
    program = words[0]
    if program.startswith("~/"):
        return (str(Path(program).expanduser()), *words[1:])
    if "/" in program and not program.startswith("/"):
        # It would be looked for in the repository that the agent runs in.
        raise TableWrong(f"the program {program!r} must be on PATH or have an absolute path", key)
    if not program:
        raise TableWrong(f"the {key} is empty", key)
    return words
