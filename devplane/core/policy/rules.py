"""One line of a policy: its text read once, and put to tools, commands, hosts and arguments.

A deny or an ask is matched generously: flags in any order and spelling, whatever stands
around the program. An allow is matched word by word as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from devplane.core.policy import words
from devplane.core.policy.line import Command, Line
from devplane.core.policy.matching import Words, aligned, covered, has_flag
from devplane.core.policy.paths import PathPattern
from devplane.core.policy.walk import read
from devplane.errors import DevplaneError

COMMAND_TOOLS = frozenset({"bash", "monitor", "powershell"})
READ_TOOLS = frozenset({"read", "grep", "glob", "lsp", "notebookread"})
EDIT_TOOLS = frozenset({"edit", "write", "multiedit", "notebookedit"})

_FORM = re.compile(r"(?P<tool>[^()\s]*)\s*(?:\((?P<inside>.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"([A-Za-z_][\w-]*):(.*)", re.DOTALL)
_RULE_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
_COMPOUND = re.compile(r"[;&|<>\n`]|\$\(")
_STANDARD_FOLDERS = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}
)


_GIT_SAFE_FLAGS = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
"""Flags before git's subcommand that change nothing in what it does."""


class RuleBroken(DevplaneError):
    """A rule that cannot be understood. ``number`` counts it in its list, from 0."""

    hint = "See the forms of a rule in docs/policy.md."


class Match(Enum):
    """Whether a rule speaks of a call."""

    NO = 0
    MAYBE = 1
    """It does if an expansion becomes what it names."""
    YES = 2


@dataclass(frozen=True)
class Rule:
    """One rule of one list of one file."""

    text: str
    """As it stands in the file."""
    file: str
    line: int
    tool: str
    """Small letters; may hold globs in deny and ask lists."""
    specifier: str | None
    """What stands in the brackets; ``None`` for every use of the tool."""
    is_exception: bool = False
    path: PathPattern | None = None
    parameter: tuple[str, str] | None = None
    command_words: tuple[str, ...] = ()
    exact: Line | None = None
    """A command line with structure, which only ever covers that very line."""
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_for_commands(self) -> bool:
        return (
            bool(self.command_words)
            or self.exact is not None
            or (self.is_bare and self.tool in COMMAND_TOOLS)
        )

    @property
    def is_bare(self) -> bool:
        """Whether it speaks of every use of its tool."""
        return self.specifier is None

    # Tools

    @cached_property
    def _tool_glob(self) -> re.Pattern[str]:
        return words.glob(self.tool.replace("*", words.STAR))

    def names_tool(self, tool: str, *, as_allow: bool) -> bool:
        """Whether the rule's tool is `tool` (small letters), or one that stands for it.

        An allow never reaches further than the name it spells: in it, a glob counts only
        behind a whole ``mcp__server__``.
        """
        mine = self.tool
        if "*" in mine:
            if as_allow and not re.match(r"mcp__[^*]+?__", mine):
                return False
            return self._tool_glob.fullmatch(tool) is not None
        if mine == tool:
            return True
        if mine.startswith("mcp__") and "__" not in mine[5:]:
            return tool.startswith(mine + "__")
        if mine == "bash":
            return tool in ("monitor",)
        if mine == "read":
            return tool in READ_TOOLS or (not as_allow and self.path is not None and tool in EDIT_TOOLS)
        if mine == "edit":
            return tool in EDIT_TOOLS
        return False

    # Commands

    def denies(self, command: Command, parts: Words) -> Match:
        """Whether the rule, as a deny or an ask, speaks of one simple command."""
        if self.exact is not None or not self.command_words or not command.words:
            return Match.NO
        if not self._is_program(command):
            return Match.NO
        return self._arguments(command, parts)

    def _is_program(self, command: Command) -> bool:
        wanted = self.command_words[0]
        if words.STAR in wanted:
            return words.glob(wanted).fullmatch(command.name) is not None or (
                words.glob(wanted).fullmatch(command.program) is not None
            )
        return wanted.rpartition("/")[2].casefold() == command.name

    @property
    def first_operand(self) -> str:
        """The first operand that a command must have for a deny to speak of it, or "" when any will do."""
        _, operands, _ = self._wanted
        return operands[0].casefold() if operands and words.STAR not in operands[0] else ""

    @cached_property
    def _wanted(self) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        """The rule's flags, its operands, and whether it is exact."""
        flags, operands = [], []
        rest = self.command_words[1:]
        for word in rest:
            if word.startswith("-") and len(word) > 1 and word != "--":
                flags.append(word)
            elif word != "--":
                operands.append(word)
        return tuple(flags), tuple(operands), not any(words.STAR in each for each in self.command_words)

    def _arguments(self, command: Command, parts: Words) -> Match:
        flags, operands, is_exact = self._wanted
        found = Match.YES
        for flag in flags:
            if not has_flag(flag, parts):
                if not parts.may_hold_flags:
                    return Match.NO
                found = Match.MAYBE
        is_open = not is_exact
        if aligned(operands, parts.operands, is_open, may=False):
            return found
        if any(not words.is_literal(each.text) for each in parts.operands) and aligned(
            operands, parts.operands, is_open, may=True
        ):
            return Match.MAYBE
        return Match.NO

    def allows(self, command: Command) -> int:
        """Whether the rule, as an allow, covers one simple command: how many of its words it spells, or 0.

        For ``Bash`` and ``Bash(*)``, which cover all of it: more than a command can have.
        """
        if self.is_bare:
            return 1 << 30
        wanted = self.command_words
        if not wanted or not command.words:
            return 0
        program = command.program
        if not words.is_literal(program):
            return 0
        folder, _, base = program.rpartition("/")
        if folder and "/" not in wanted[0] and folder in _STANDARD_FOLDERS:
            program = base
        rest = command.words[1:]
        if program == "git":
            while rest and rest[0] in _GIT_SAFE_FLAGS:
                rest = rest[1:]
        if not covered(wanted, (program, *rest)) and not covered(wanted, (program, *command.words[1:])):
            return 0
        reach = 0
        for word in wanted:
            if words.STAR in word:
                break
            reach += 1
        return max(reach, 1)

    def allows_line(self, line: Line) -> bool:
        """Whether it is that very line, quoting aside."""
        mine = self.exact
        return mine is not None and mine.is_readable and same(mine, line)

    # Arguments of other tools

    def matches_input(self, given: Mapping[str, Any]) -> bool:
        """For ``Tool(param:value)``: whether the call has that argument. One that is absent never matches."""
        assert self.parameter is not None
        name, wanted = self.parameter
        value = given.get(name)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            return False
        return words.glob(wanted.replace("*", words.STAR)).fullmatch(value) is not None


def same(one: Line, other: Line) -> bool:
    """Whether two lines run the same, however their words are quoted."""
    if not other.is_readable or one.shape != other.shape or len(one.commands) != len(other.commands):
        return False
    return all(
        mine.words == theirs.words
        and mine.assignments == theirs.assignments
        and mine.redirects == theirs.redirects
        and mine.fed_text == theirs.fed_text
        and not any(words.is_hidden(word) for word in mine.words)
        for mine, theirs in zip(one.commands, other.commands, strict=True)
    )


def parse(text: str, file: str, line: int, *, folder: str) -> Rule:
    """Read one rule. `folder` is its file's, for patterns that start with one slash.

    Raises:
        RuleBroken: It has no form that a rule can have.
    """
    stripped = text.strip()
    is_exception = stripped.startswith("!")
    body = stripped[1:].strip() if is_exception else stripped
    if not body:
        raise RuleBroken(f"the rule {text!r} is empty")
    found = _FORM.fullmatch(body)
    if found is None:
        raise RuleBroken(f"{body}: {_what_is_wrong(body)}")
    tool, inside = found["tool"].casefold(), found["inside"]
    if not tool:
        raise RuleBroken(f"{body}: names no tool")
    if inside is not None and tool.startswith("mcp__"):
        raise RuleBroken(f"{body}: a rule for an MCP tool takes no brackets")
    if inside is not None and "*" in tool:
        raise RuleBroken(f"{body}: a rule for several tools takes no brackets")
    if inside is None or inside.strip() in ("", "*"):
        return Rule(stripped, file, line, tool, None, is_exception)
    inside = inside.strip()
    if tool in COMMAND_TOOLS:
        if inside.startswith("command:") and len(inside) > 8:
            raise RuleBroken(f"{body}: write the command itself, as in Bash(git push *)")
        return _command_rule(stripped, file, line, tool, inside, is_exception)
    if tool in ("read", "edit"):
        pattern = PathPattern.parse(inside, folder)
        return Rule(stripped, file, line, tool, inside, is_exception, path=pattern)
    if tool in EDIT_TOOLS | READ_TOOLS:
        instead = "Edit" if tool in EDIT_TOOLS else "Read"
        raise RuleBroken(f"{body}: paths belong to {instead}, which covers it: {instead}({inside})")
    parameter = _PARAMETER.fullmatch(inside)
    if parameter is None:
        raise RuleBroken(f"{body}: this tool takes no such specifier; Tool(parameter:value) is one")
    return Rule(
        stripped, file, line, tool, inside, is_exception, parameter=(parameter[1], parameter[2].strip())
    )


def _what_is_wrong(body: str) -> str:
    if body.count("(") and not body.rstrip().endswith(")"):
        if ")" in body:
            return "there is text after its closing bracket"
        return "its bracket is not closed"
    if ")" in body and "(" not in body:
        return "its bracket is not opened"
    return "it is not Tool or Tool(specifier)"


def _command_rule(text: str, file: str, line: int, tool: str, inside: str, is_exception: bool) -> Rule:
    if inside.endswith(":*"):
        inside = inside[:-2] + " *"
    if _COMPOUND.search(_without_quotes(inside)) and "*" not in inside:
        return Rule(text, file, line, tool, inside, is_exception, exact=read(inside))
    made = tuple(_rule_word(each) for each in _RULE_WORD.findall(inside))
    if not made:
        raise RuleBroken(f"{text}: names no command")
    return Rule(text, file, line, tool, inside, is_exception, command_words=made)


def _without_quotes(text: str) -> str:
    return re.sub(r"'[^']*'|\"(?:[^\"\\`$]|\\.)*\"", "", text)


def _rule_word(raw: str) -> str:
    made = []
    for part in re.findall(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^'"\\]+""", raw, re.DOTALL):
        if part[0] == "'":
            made.append(part[1:-1])
        elif part[0] == '"':
            made.append(words.double_quoted(part[1:-1]))
        elif part[0] == "\\":
            made.append(part[1:])
        else:
            made.append(part.replace("*", words.STAR))
    word = "".join(made)
    return words.HOME + word[1:] if word == "~" or word.startswith("~/") else word
