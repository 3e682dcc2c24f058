"""The lists of the policy files, sorted by what their rules speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devplane.core.policy import words
from devplane.core.policy.line import Command
from devplane.core.policy.matching import Words
from devplane.core.policy.rules import Rule


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a file's rules are not in force. ``line`` counts from 1; 0 when the file cannot be read at all."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules of one file."""

    file: str
    folder: str
    never_auto: tuple[Rule, ...] = ()
    always_ask: tuple[Rule, ...] = ()
    auto_allow: tuple[Rule, ...] = ()
    broken: Broken | None = None
    is_trusted: bool = True
    """Whether what it allows counts. What it forbids always does."""


class RuleList:
    """One list of one file. Rules keep their order where several could be named."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        every = tuple(rules)
        self.rules = [each for each in every if not each.is_exception]
        self.exceptions = [each for each in every if each.is_exception]
        self.path_exceptions = [each for each in self.exceptions if each.tool in ("read", "edit")]
        self.command_rules = [each for each in self.rules if each.is_for_commands]
        self.line_rules = [each for each in self.rules if each.exact is not None]
        self.path_rules = [
            each for each in self.rules if each.path is not None or each.tool in ("read", "edit")
        ]
        self.tool_rules = [
            each for each in self.rules if not each.command_words and each.exact is None and each.path is None
        ]
        self.constrains_commands = any(
            each.is_for_commands or each.path is not None or each.tool == "*" for each in self.rules
        )
        self._by_program: dict[str, dict[str, list[Rule]]] = {}
        self._any_program: list[Rule] = []
        self._bare: list[Rule] = [each for each in self.command_rules if each.is_bare]
        for each in self.command_rules:
            if not each.command_words:
                continue
            program = each.command_words[0]
            if words.is_literal(program):
                by_operand = self._by_program.setdefault(program.rpartition("/")[2].casefold(), {})
                by_operand.setdefault(each.first_operand, []).append(each)
            else:
                self._any_program.append(each)

    def for_command(self, command: Command, parts: Words) -> Iterator[Rule]:
        """Yield the rules that may speak of a command: few of many, by its program and its operands."""
        by_operand = self._by_program.get(command.name)
        if by_operand is not None:
            yield from by_operand.get("", ())
            if parts.is_spelt_out and len(by_operand) > parts.operand_count:
                for operand in parts.operand_names:
                    yield from by_operand.get(operand, ())
            else:
                for operand, rules in by_operand.items():
                    if operand:
                        yield from rules
        yield from self._any_program

    def allowing(self, command: Command) -> Iterator[Rule]:
        """Yield the rules that may cover a command."""
        yield from self._bare
        for rules in self._by_program.get(command.name, {}).values():
            yield from rules
        yield from self._any_program
