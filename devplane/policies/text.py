"""The text of one policy file: its three lists, each rule with its line, and everything wrong with it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from devplane import toml_text
from devplane.config import ConfigBroken
from devplane.config import parse as parse_config
from devplane.core.policy import Broken, Rule, RuleBroken, RuleFile, parse

LISTS = ("never_auto", "always_ask", "auto_allow")


STATEMENTS_LIMIT = 300
"""In a file with more, only the first problem outside of ``[policy]`` is named."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps a file from being in force. ``line`` counts from 1; 0 for the whole file."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """One file, read as far as it can be."""

    rules: RuleFile
    """``broken`` is the first problem: then every call that no deny stops is asked about."""
    problems: tuple[Problem, ...] = ()


def read_document(text: str | None, file: Path, *, is_project: bool, is_trusted: bool = True) -> Document:
    """Read the policy in `text`, the content of `file`; ``None`` for a file that is not there.

    `is_project`: whether it is a ``devplane.toml``, which may hold
    other tables; the file of the machine holds ``[policy]`` alone.
    """
    if text is None:
        return Document(RuleFile(str(file), str(file.parent), is_trusted=is_trusted))
    problems: list[Problem] = []
    tables: dict[str, Any] = {}
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problems.append(Problem(toml_text.error_line(error, text), toml_text.error_reason(error)))
    except RecursionError:
        problems.append(Problem(0, "nested too deeply"))
    if tables and is_project:
        problems += _of_config(text, file)
    elif tables:
        for name in tables:
            if name != "policy":
                problems.append(
                    Problem(toml_text.line_of(text, (name,)), f"{name!r} has no place here, only [policy]")
                )
    lists = _lists(tables.get("policy", {}), text, file, problems)
    problems.sort(key=lambda each: each.line)
    broken = Broken(problems[0].line, problems[0].reason) if problems else None
    if broken is not None:
        # What it forbids holds as far as it can be read. What it allows does not: a deny may be missing.
        lists["auto_allow"] = ()
    rules = RuleFile(
        str(file),
        str(file.parent),
        lists["never_auto"],
        lists["always_ask"],
        lists["auto_allow"],
        broken=broken,
        is_trusted=is_trusted,
    )
    return Document(rules, tuple(problems))


def unreadable(file: Path, reason: str) -> Document:
    """The document of a file that is there and cannot be read."""
    problem = Problem(0, f"cannot be read: {reason}")
    return Document(RuleFile(str(file), str(file.parent), broken=Broken(0, problem.reason)), (problem,))


def _of_config(text: str, file: Path) -> list[Problem]:
    """What is wrong with the rest of a ``devplane.toml``: each statement, where there are not too many."""
    first = _config_problem(text, file)
    if first is None:
        return []
    found = list(islice(toml_text.statements(text), STATEMENTS_LIMIT + 1))
    if len(found) > STATEMENTS_LIMIT:
        return [first]
    lines = toml_text.split_lines(text)
    problems = {first.line: first}
    header = ""
    for at in found:
        own = "".join(lines[at.start : at.end])
        if at.is_header:
            header = own
        alone = own if at.is_header else header + own
        # With as many lines before it as in the file, so that it is found where it stands.
        before = at.end - len(toml_text.split_lines(alone))
        problem = _config_problem("\n" * max(before, 0) + alone, file)
        if problem is not None:
            problems.setdefault(problem.line, problem)
    return list(problems.values())


def _config_problem(text: str, file: Path) -> Problem | None:
    try:
        parse_config(text, file)
    except ConfigBroken as error:
        said = str(error).removeprefix(f"{file}:{error.line}: ").removeprefix(f"{file}: ")
        return Problem(error.line, said)
    return None


def _lists(table: Any, text: str, file: Path, problems: list[Problem]) -> dict[str, tuple[Rule, ...]]:
    found: dict[str, tuple[Rule, ...]] = dict.fromkeys(LISTS, ())
    if not isinstance(table, dict):
        problems.append(Problem(toml_text.line_of(text, ("policy",)), "policy must be a table"))
        return found
    for key, value in table.items():
        line = toml_text.line_of(text, ("policy", key))
        if key not in LISTS:
            near = get_close_matches(key, LISTS, n=1)
            instead = f"; did you mean {near[0]}?" if near else f"; its keys are {', '.join(LISTS)}"
            problems.append(Problem(line, f"unknown key {key!r} in [policy]{instead}"))
        elif not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            problems.append(Problem(line, f"{key} in [policy] must be a list of strings"))
        else:
            found[key] = _rules(
                value, toml_text.item_lines(text, ("policy", key), len(value)), file, problems
            )
    return found


def _rules(texts: list[str], lines: list[int], file: Path, problems: list[Problem]) -> tuple[Rule, ...]:
    made = []
    for text, line in zip(texts, lines, strict=True):
        try:
            made.append(parse(text, str(file), line, folder=str(file.parent)))
        except RuleBroken as error:
            problems.append(Problem(line, str(error)))
    return tuple(made)
