"""The settings of one repository, table by table."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devplane import toml_text
from devplane.config.table import NEVER, ConfigBroken, Table, did_you_mean
from devplane.files import Unreadable, read_text

CONFIG_NAME = "devplane.toml"

OWNED_ELSEWHERE = frozenset({"policy", "team"})
"""Tables that are somebody else's to read."""

TABLES = {
    "budget": ("usd", "max_turns", "max_runtime", "max_parallel_runs", "stall_timeout"),
    "gates": ("check", "timeout", "max_feedback_rounds", "on_fail"),
    "questions": ("deadline",),
    "transcripts": ("keep",),
    "workspace": ("setup", "setup_timeout", "base_branch"),
}
"""The keys of each table that is read here."""

ROUNDS_LIMIT = 20
COUNT_LIMIT = 1_000_000
USD_LIMIT = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Gates:
    """The commands that check a work, and what becomes of it when they fail."""

    check: tuple[str, ...] = ()
    """One shell command line each, in order; without any there is no gate, and none is passed."""
    timeout_s: int = 600
    """For all of them together."""
    max_feedback_rounds: int = 2
    """How often a failure goes back to the agent before a person is asked: 0 to 20."""
    on_fail: str = "feedback"
    """``feedback``: the agent gets the failures; ``escalate``: a person does, at once."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """How a worktree is made ready before the agent starts."""

    setup: tuple[str, ...] = ()
    """One shell command line each, in order."""
    setup_timeout_s: int = 600
    """For all of them together."""
    base_branch: str | None = None
    """What branches start from; ``None``: the remote's own choice, else the current branch."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds, each ``None`` when the repository sets none."""

    usd: float | None = None
    """Holds only as far as the agent reports its cost."""
    max_turns: int | None = None
    max_runtime_s: int | None = None
    max_parallel_runs: int | None = None
    stall_timeout_s: int | None = 600
    """How long an agent at work may be silent before it is called stalled; ``None``: for ever."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one repository."""

    keep_transcripts: bool = True
    """Whether what is said in its sessions is stored."""
    deadline: str = NEVER
    """How long a request may wait for a person, as the file has it: ``30m``."""
    deadline_s: int | None = None
    """The same in seconds; ``None``: for ever."""
    file: Path | None = None
    """The file they came from; ``None`` when the repository has none."""
    gates: Gates = field(default_factory=Gates)
    workspace: Workspace = field(default_factory=Workspace)
    budget: Budget = field(default_factory=Budget)


def load(root: Path) -> Config:
    """Read the settings of the checkout at `root`; the defaults when it has no file.

    Raises:
        ConfigBroken: The file is there and cannot be read, parsed or understood.
    """
    file = root / CONFIG_NAME
    try:
        text = read_text(file)
    except Unreadable as error:
        raise ConfigBroken(file, 0, f"cannot be read: {error}") from error
    return Config() if text is None else parse(text, file)


def parse(text: str, file: Path) -> Config:
    """Return the settings that `text` gives; `file` is named in errors.

    Raises:
        ConfigBroken: As `load`.
    """
    tables = _tables(text, file)
    known = {*OWNED_ELSEWHERE, *TABLES}
    for name, value in tables.items():
        if name not in known:
            what = f"unknown table [{name}]" if isinstance(value, (dict, list)) else f"unknown key {name!r}"
            raise ConfigBroken(file, toml_text.line_of(text, (name,)), what, hint=did_you_mean(name, known))
    transcripts, questions, gates, workspace, budget = (
        Table(name, tables.get(name, {}), TABLES[name], text, file)
        for name in ("transcripts", "questions", "gates", "workspace", "budget")
    )
    return Config(
        keep_transcripts=transcripts.truth("keep", True),
        deadline=questions.get("deadline", NEVER),
        deadline_s=questions.seconds("deadline", None, or_never=True),
        file=file,
        gates=_gates(gates),
        workspace=_workspace(workspace),
        budget=_budget(budget),
    )


def _tables(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = toml_text.error_line(error, text)
        raise ConfigBroken(file, line, toml_text.error_reason(error)) from error
    except RecursionError as error:
        raise ConfigBroken(file, 0, "nested too deeply") from error
    except ValueError as error:
        raise ConfigBroken(file, 0, "holds a number of more digits than can be read") from error


def _gates(table: Table) -> Gates:
    default = Gates()
    return Gates(
        check=table.commands("check"),
        timeout_s=table.bounded("timeout", default.timeout_s),
        max_feedback_rounds=table.whole("max_feedback_rounds", default.max_feedback_rounds, 0, ROUNDS_LIMIT),
        on_fail=table.one_of("on_fail", default.on_fail, ("feedback", "escalate")),
    )


def _workspace(table: Table) -> Workspace:
    return Workspace(
        setup=table.commands("setup"),
        setup_timeout_s=table.bounded("setup_timeout", Workspace().setup_timeout_s),
        base_branch=table.branch("base_branch"),
    )


def _budget(table: Table) -> Budget:
    return Budget(
        usd=table.amount("usd", USD_LIMIT),
        max_turns=table.whole("max_turns", None, 1, COUNT_LIMIT),
        max_runtime_s=table.seconds("max_runtime", None),
        max_parallel_runs=table.whole("max_parallel_runs", None, 1, COUNT_LIMIT),
        stall_timeout_s=table.seconds("stall_timeout", Budget().stall_timeout_s, or_never=True),
    )
