"""Changing a person's ``agents.toml`` by command: the lines concerned, and no others.

The file is the person's own. What a change does not need to touch, comments and
order included, stays byte for byte; a form of TOML that cannot be changed that way
is left to the person.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from devplane import toml_text
from devplane.agents.catalog import built_in_agents
from devplane.agents.tables import (
    TableWrong,
    check_id,
    check_version,
    split_command,
    user_table,
)
from devplane.errors import DevplaneError, NotFound, Refused, UsageError
from devplane.files import Unreadable, read_text, replace_private
from devplane.launchers import package_of, with_version

Tables = dict[str, Any]


class AgentsFileBroken(DevplaneError):
    """The file does not parse, so nothing in it is changed.

    ``line`` counts from 1; 0 when the file could not be read at all.
    """

    hint = "Correct it by hand; Devplane changes only a file that it understands."

    def __init__(self, file: Path, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")
        self.file = file
        self.line = line


@dataclass(frozen=True, slots=True)
class AgentsFile:
    """The file at `path`, which need not exist yet. Its folder must."""

    path: Path

    def add(self, agent_id: str, command: str, name: str | None = None) -> None:
        """Add an agent that starts with `command`; with a shipped agent's id it replaces that one's command.

        Raises:
            UsageError: The id or the command cannot be meant.
            Refused: The file has this id already.
            AgentsFileBroken: The file does not parse.
        """
        try:
            check_id(agent_id)
            split_command(command)
            table = {"name": name, "command": command} if name else {"command": command}
            user_table(table)
        except TableWrong as error:
            raise UsageError(f"cannot add {agent_id!r}: {error}") from error
        text = self._read()
        if agent_id in _agents(text):
            hint = f"Use devplane agents pin or remove, or edit {self.path}."
            raise Refused(f"{self.path} has an agent {agent_id!r} already", hint=hint)
        self._write(text, _appended(text, agent_id, table), _put(agent_id, table))

    def pin(self, agent_id: str, version: str) -> None:
        """Make `version` the one that this agent starts.

        Raises:
            UsageError: `version` is a range, a tag or no version.
            NotFound: No such agent.
            Refused: Its command fetches no package, or stands in a form that only a person can edit.
            AgentsFileBroken: The file does not parse.
        """
        text = self._read()
        mine, shipped = _agents(text).get(agent_id), built_in_agents().get(agent_id)
        if mine is None and shipped is None:
            raise NotFound(f"unknown agent {agent_id!r}", hint="devplane agents lists those that are known.")
        if mine is not None and not isinstance(mine, dict):
            raise AgentsFileBroken(
                self.path, toml_text.line_of(text, ("agents", agent_id)), "must be a table"
            )
        given = mine.get("command") if mine else None
        words = _words(given) if given is not None else shipped.command if shipped else ()
        package = package_of(words)
        if package is None:
            hint = "Only a command of npx, bunx, uvx and their like names a version."
            raise Refused(f"{agent_id} fetches no package, so there is nothing to pin", hint=hint)
        try:
            check_version(version, is_python=package.is_python)
        except TableWrong as error:
            raise UsageError(f"cannot pin {agent_id}: {error}") from error
        if mine is None:
            table = {"version": version}
            self._write(text, _appended(text, agent_id, table), _put(agent_id, table))
            return
        change: Tables = {"version": version}
        if given is not None and "{version}" not in str(given):
            pinned = with_version(words, package, version)
            if isinstance(given, list):
                change = {"command": list(pinned)}
            else:
                old, new = words[package.index], pinned[package.index]
                change = {
                    "command": given.replace(old, new, 1) if given.count(old) == 1 else shlex.join(pinned)
                }
            if "version" in mine:
                change["version"] = version
        self._write(text, self._changed(text, agent_id, change), _put(agent_id, {**mine, **change}))

    def remove(self, agent_id: str) -> None:
        """Take this agent's table out; a shipped agent is then as it was shipped.

        Raises:
            NotFound: The file has no such agent.
            Refused: Its table stands in a form that only a person can edit.
            AgentsFileBroken: The file does not parse.
        """
        text = self._read()
        if agent_id not in _agents(text):
            hint = "A shipped agent cannot be removed." if agent_id in built_in_agents() else None
            raise NotFound(f"{self.path} has no agent {agent_id!r}", hint=hint)
        lines = toml_text.split_lines(text)
        for block in reversed(self._blocks(text, agent_id)):
            del lines[block[0].start : block[-1].end]
        self._write(text, "".join(lines), _drop(agent_id))

    def _read(self) -> str:
        try:
            text = read_text(self.path) or ""
        except Unreadable as error:
            raise AgentsFileBroken(self.path, 0, f"cannot be read: {error}") from error
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = toml_text.error_line(error, text)
            raise AgentsFileBroken(self.path, line, toml_text.error_reason(error)) from error
        except RecursionError as error:
            raise AgentsFileBroken(self.path, 0, "nested too deeply") from error
        if not isinstance(document.get("agents", {}), dict):
            line = toml_text.line_of(text, ("agents",))
            raise AgentsFileBroken(self.path, line, "agents must be a table")
        return text

    def _blocks(self, text: str, agent_id: str) -> list[list[toml_text.Statement]]:
        """The agent's tables, each a header with what follows it: ``[agents.x]``, ``[agents.x.env]``."""
        blocks: list[list[toml_text.Statement]] = []
        is_inside = False
        for statement in toml_text.statements(text):
            is_ours = statement.path[:2] == ("agents", agent_id)
            if statement.is_header:
                is_inside = is_ours
                if is_ours:
                    blocks.append([statement])
            elif is_inside:
                blocks[-1].append(statement)
            elif is_ours or agent_id in _inline_ids(text, statement):
                raise self._not_editable(agent_id, statement.start + 1)
        return blocks

    def _changed(self, text: str, agent_id: str, change: Tables) -> str:
        lines = toml_text.split_lines(text)
        own = next((b for b in self._blocks(text, agent_id) if b[0].path == ("agents", agent_id)), None)
        if own is None:
            raise self._not_editable(agent_id, toml_text.line_of(text, ("agents", agent_id)))
        new_lines = []
        for key, value in change.items():
            line = tomli_w.dumps({key: value}).rstrip("\n")
            old = next((s for s in own[1:] if s.path[:3] == ("agents", agent_id, key)), None)
            if old is None:
                new_lines.append(line + "\n")
                continue
            before = "".join(lines[old.start : old.end])
            indent = before[: len(before) - len(before.lstrip())]
            comment = toml_text.trailing_comment(before)
            ending = "\r\n" if before.endswith("\r\n") else "\n" if before.endswith("\n") else ""
            after = f"{indent}{line}{'  ' + comment if comment else ''}{ending}"
            lines[old.start : old.end] = [after] + [""] * (old.end - old.start - 1)
        if new_lines:
            last = lines[own[-1].end - 1]
            lines[own[-1].end - 1] = (
                last + ("" if last.endswith("\n") or not last else "\n") + "".join(new_lines)
            )
        return "".join(lines)

    def _write(self, before: str, after: str, change: Callable[[Tables], None]) -> None:
        """Write `after`, once it reads back as `before` with `change` and nothing else."""
        wanted = tomllib.loads(before)
        change(wanted.setdefault("agents", {}))
        try:
            got = tomllib.loads(after)
        except tomllib.TOMLDecodeError:
            got = {}
        if (
            got.get("agents", {}) != wanted.pop("agents")
            or {k: v for k, v in got.items() if k != "agents"} != wanted
        ):
            raise Refused(
                f"{self.path} is written in a form that cannot be changed line by line",
                hint="Edit it by hand.",
            )
        try:
            replace_private(self.path, after)
        except OSError as error:
            raise DevplaneError(f"cannot write {self.path}: {error.strerror or error}") from error

    def _not_editable(self, agent_id: str, line: int) -> Refused:
        return Refused(
            f"{self.path}:{line}: {agent_id!r} does not stand in a table of its own",
            hint=f"Edit it by hand, or write it as [agents.{agent_id}].",
        )


def _agents(text: str) -> Tables:
    agents: Tables = tomllib.loads(text).get("agents", {})
    return agents


def _inline_ids(text: str, statement: toml_text.Statement) -> set[str]:
    """Ids that ``agents = { … }`` defines in one statement."""
    if statement.path[:1] != ("agents",) or len(statement.path) != 1:
        return set()
    return set(_agents(text))


def _appended(text: str, agent_id: str, table: Tables) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    header = tomli_w.dumps({"agents": {agent_id: table}})
    return text + gap + header


def _put(agent_id: str, table: Tables) -> Callable[[Tables], None]:
    return lambda agents: agents.__setitem__(agent_id, table)


def _drop(agent_id: str) -> Callable[[Tables], None]:
    return lambda agents: agents.__delitem__(agent_id)


def _words(command: Any) -> tuple[str, ...]:
    try:
        return tuple(command) if isinstance(command, list) else split_command(command)
    except (TableWrong, TypeError, AttributeError):
        return ()
