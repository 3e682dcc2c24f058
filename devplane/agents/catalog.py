"""The agents that can be driven: those that ship, and those in the person's ``agents.toml``."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from devplane import toml_text
from devplane.agents.agent import Agent, AskFirst, CallHints, NodeNeed
from devplane.agents.tables import (
    TableWrong,
    built_in,
    check_id,
    from_command,
    from_user,
    overlay,
    split_command,
    user_table,
)
from devplane.errors import NotFound, UsageError
from devplane.files import Unreadable, read_text
from devplane.paths import Home

__all__ = ["Agent", "AskFirst", "CallHints", "Catalog", "NodeNeed", "built_in_agents"]

_FOLDERS = (Path(__file__).parents[1] / "agents.d", Path(__file__).parents[2] / "agents.d")
"""In an installed package, and in a checkout."""


def built_in_agents() -> dict[str, Agent]:
    """Return the agents that ship, by id, in the order of their ids."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
    tables = [tomllib.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.toml"))]
    return {table["id"]: built_in(table) for table in tables}


@dataclass(frozen=True, slots=True)
class Catalog:
    """The agents by id, and what was wrong with the person's file, one line a problem."""

    agents: Mapping[str, Agent]
    problems: tuple[str, ...] = ()

    @classmethod
    def load(cls, home: Home) -> Catalog:
        """Read the shipped tables and `home`'s file over them.

        A file with anything wrong in it adds nothing, rather than half: a person
        who re-pinned one agent must not run the old pin of another unawares.
        """
        agents = built_in_agents()
        file = home.agents_file
        try:
            text = read_text(file)
        except Unreadable as error:
            return cls(agents, (f"{file}: cannot be read: {error}",))
        if text is None:
            return cls(agents)
        added, problems = _read(text, file, agents)
        return cls(agents if problems else {**agents, **added}, tuple(problems))

    def resolve(self, text: str, *, cwd: Path | None = None) -> Agent:
        """Return the agent that ``--agent`` names: an id, or a whole command.

        Only what holds a space or a slash, or names a file, is a command: a
        misspelt id is never tried as a program. A relative program is looked for in
        `cwd`, where the person stands.

        Raises:
            NotFound: No such id.
            UsageError: A command that cannot be split into words.
        """
        here = cwd or Path.cwd()
        if text in self.agents:
            return self.agents[text]
        if text.strip() and os.path.isfile(here / text):
            return from_command((str(here / text),))
        if not any(char in text.strip() for char in " \t/\\"):
            hint = f"agents.toml adds nothing: {self.problems[0]}" if self.problems else self._hint(text)
            raise NotFound(f"unknown agent {text!r}", hint=hint)
        try:
            program, *rest = split_command(text)
        except TableWrong as error:
            raise UsageError(
                f"--agent {text!r}: {error}", hint="Quote the command as for a shell."
            ) from error
        if program.startswith("~/"):
            program = os.path.expanduser(program)
        elif "/" in program:
            program = os.path.normpath(here / program)
        return from_command((program, *rest))

    def _hint(self, text: str) -> str:
        near = get_close_matches(text.lower(), self.agents, n=3, cutoff=0.5)
        if near:
            return f"Did you mean {' or '.join(near)}?"
        return f"Known: {', '.join(self.agents)}. A command needs a space or a slash in it."


def _read(text: str, file: Path, agents: Mapping[str, Agent]) -> tuple[dict[str, Agent], list[str]]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = toml_text.error_line(error, text)
        return {}, [f"{file}:{line}: {toml_text.error_reason(error)}"]
    except RecursionError:
        return {}, [f"{file}: nested too deeply"]
    added: dict[str, Agent] = {}
    problems: list[str] = []
    for name in document.keys() - {"agents"}:
        problems.append(f"{file}:{toml_text.line_of(text, (name,))}: unknown key {name!r} (known: agents)")
    tables: Any = document.get("agents", {})
    if not isinstance(tables, dict):
        return {}, [*problems, f"{file}:{toml_text.line_of(text, ('agents',))}: agents must be a table"]
    for agent_id, table in tables.items():
        try:
            check_id(agent_id)
            given = user_table(table)
            known = agents.get(agent_id)
            agent = overlay(known, given, str(file)) if known else from_user(agent_id, given, str(file))
        except TableWrong as error:
            path = ("agents", agent_id, error.key) if error.key else ("agents", agent_id)
            problems.append(f"{file}:{toml_text.line_of(text, path)}: [agents.{agent_id}]: {error}")
        else:
            added[agent_id] = agent
    return added, sorted(problems)
