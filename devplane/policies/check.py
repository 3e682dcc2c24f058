"""What a policy will do, and what is wrong or odd about it, before an agent finds out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from devplane.config import Config, ConfigBroken, load
from devplane.core.permission import Verdict
from devplane.core.policy import Rule, RuleFile, words
from devplane.core.policy.offer import runs_anything
from devplane.core.policy.rules import COMMAND_TOOLS
from devplane.core.policy.wrappers import WRAPPERS
from devplane.policies.covering import covers
from devplane.policies.text import LISTS, Document

VERDICTS = {"never_auto": Verdict.DENY, "always_ask": Verdict.ASK, "auto_allow": Verdict.ALLOW}
"""What the rules of each list say, in the order in which lists are asked."""

TOOLS = words.names(
    """
    Bash PowerShell Monitor BashOutput KillShell KillBash TaskOutput TaskStop
    Read Grep Glob LS LSP NotebookRead
    Edit Write MultiEdit NotebookEdit WebFetch WebSearch Task Agent TodoRead TodoWrite Skill SlashCommand
    AskUserQuestion EnterPlanMode ExitPlanMode ListMcpResourcesTool ReadMcpResourceTool ToolSearch switch_mode
    """
)
"""Tools that agents are known to have."""
_KNOWN = {each.casefold(): each for each in TOOLS}
_REACHING = re.compile(r"mcp__[^*]+?__")
"""How the name in an allow must begin for a wildcard in it to count."""
_FLAG = re.compile(r"-[\w-]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule where it stands."""

    list_name: str
    rule: Rule

    @property
    def verdict(self) -> Verdict:
        return VERDICTS[self.list_name]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about one place in a file. ``line`` counts from 1; 0 for the whole file."""

    file: str
    line: int
    reason: str


def entries(files: Sequence[RuleFile]) -> Iterator[Entry]:
    """Yield every rule in the order in which it is evaluated."""
    for name in LISTS:
        for file in files:
            for rule in getattr(file, name):
                yield Entry(name, rule)


def problems(documents: Iterable[Document]) -> list[Remark]:
    """Return everything that keeps a file from being in force."""
    return [
        Remark(each.rules.file, problem.line, problem.reason)
        for each in documents
        for problem in each.problems
    ]


def settings(root: Path) -> Config | None:
    """Return what the rest of the project's file says; ``None`` when it does not hold."""
    try:
        return load(root)
    except ConfigBroken:
        return None


def warnings(files: Sequence[RuleFile]) -> list[Remark]:
    """Return what is allowed to stand and is probably not meant, in the order of evaluation."""
    found: list[Remark] = []
    for entry in entries(files):
        found += (_remark(entry.rule, why) for why in _about_one(entry))
    for file in files:
        for name in LISTS:
            found += _repeated(getattr(file, name), as_allow=name == "auto_allow")
    found += _forbidden(files)
    return found


def notes(files: Sequence[RuleFile]) -> list[Remark]:
    """Return what is worth knowing and no reason to change anything; each thing once."""
    denies = [rule for file in files for rule in file.never_auto if not rule.is_exception]
    written = {rule.path for rule in denies if rule.tool == "edit"}
    half = [rule for rule in denies if rule.tool == "read" and rule.path and rule.path not in written]
    if not half or any(rule.tool == "edit" and rule.is_bare for rule in denies):
        return []
    more = f" (and {len(half) - 1} more)" if len(half) > 1 else ""
    others = "other tools that read such rules want an Edit rule too"
    return [_remark(half[0], f"{half[0].text}{more} denies writing as well, here; {others}")]


def _remark(rule: Rule, reason: str) -> Remark:
    return Remark(rule.file, rule.line, reason)


def _about_one(entry: Entry) -> Iterator[str]:
    rule = entry.rule
    tool = rule.tool
    if "*" not in tool and not tool.startswith("mcp__") and tool not in _KNOWN:
        near = get_close_matches(tool, _KNOWN, n=1)
        instead = f"; did you mean {_KNOWN[near[0]]}?" if near else ""
        yield f"{rule.text}: no agent is known to have this tool{instead}"
    if entry.list_name != "auto_allow" or rule.is_exception:
        return
    if "*" in tool and not _REACHING.match(tool):
        yield f"{rule.text} grants nothing: an allow names the MCP server, as in mcp__server__*"
    elif rule.parameter is not None and (tool, rule.parameter[0]) != ("webfetch", "domain"):
        yield f"{rule.text} grants nothing: a rule on a parameter only ever denies or asks"
    elif reach := _any_code(rule):
        yield f"{rule.text} allows any code{reach}"


def _any_code(rule: Rule) -> str | None:
    """How the rule, as an allow, lets anything run; ``None`` when it does not."""
    if rule.tool in COMMAND_TOOLS and rule.is_bare:
        return ": it covers every command"
    given = rule.command_words
    if len(given) < 2 or given[-1] != words.STAR:
        return None
    program, *rest = given[:-1]
    name = program.rpartition("/")[2].casefold()
    wrapper = WRAPPERS.get(name)
    if wrapper is not None and wrapper.words:
        return f", through {program} {rest[0]}" if len(rest) == 1 and rest[0] in wrapper.words else None
    is_open = all(_FLAG.fullmatch(each) for each in rest) and "-m" not in rest[-1:]
    if name in ("docker", "podman", "kubectl", "nerdctl"):
        is_open = not rest or rest in (["run"], ["exec"])
    return f", through {program}" if is_open and runs_anything(program) else None


def _repeated(rules: Sequence[Rule], *, as_allow: bool) -> Iterator[Remark]:
    """Yield the rules of one list that an earlier one makes needless."""
    if any(rule.is_exception for rule in rules):
        return
    for at, rule in enumerate(rules):
        # A Read deny covers the Edit of its path, and yet other tools want both.
        before = (each for each in rules[:at] if rule.path is None or each.tool == rule.tool)
        earlier = next((each for each in before if covers(each, rule, as_allow=as_allow)), None)
        if earlier is not None:
            why = f"{earlier.text} on line {earlier.line} covers it"
            yield _remark(rule, f"{rule.text} is never needed: {why}")


def _forbidden(files: Sequence[RuleFile]) -> Iterator[Remark]:
    """Yield what is allowed in vain."""
    denies = [
        rule
        for file in files
        if not any(each.is_exception for each in file.never_auto)
        for rule in file.never_auto
    ]
    for file in files:
        for rule in file.auto_allow:
            deny = next((each for each in denies if covers(each, rule, as_allow=False)), None)
            if deny is not None and not rule.is_exception:
                why = f"{deny.text} in {deny.file}:{deny.line} denies it"
                yield _remark(rule, f"{rule.text} allows nothing: {why}")
