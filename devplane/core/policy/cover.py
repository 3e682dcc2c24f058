"""Which allow rules together cover a call: every command of it, every file, and nothing left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devplane.core.policy import words
from devplane.core.policy.case import Case, names_host
from devplane.core.policy.files import Access, is_nothing
from devplane.core.policy.free import is_free
from devplane.core.policy.hides import is_run_changing, sets_of
from devplane.core.policy.line import Command
from devplane.core.policy.lists import RuleList
from devplane.core.policy.opening import Inside
from devplane.core.policy.reach import Reach
from devplane.core.policy.reading import Ground, NoDisk, Part, Reading, Target
from devplane.core.policy.rules import Match, Rule


class Cover:
    """The allow lists of a policy."""

    def __init__(self, lists: Sequence[RuleList], reach: Reach, home: str) -> None:
        self._allows = lists
        self._reach = reach
        self._home = home

    @property
    def command_rules(self) -> Iterator[Rule]:
        for each in self._allows:
            yield from each.command_rules

    def rules_for(self, case: Case, ground: Ground) -> list[Rule]:
        """Return the rules that together allow the case, or none."""
        if case.reading is not None:
            return self._line(case, case.reading, ground)
        tool = case.tool
        if case.targets:
            found: list[Rule] = []
            for target in case.targets:
                rule = self._target(target, ground, tool)
                if rule is None:
                    case.uncovered = f"no rule allows {target.shown}"
                    return []
                found.append(rule)
            return list(dict.fromkeys(found))
        for each in self._allows:
            for rule in each.tool_rules:
                if not rule.names_tool(tool, as_allow=True):
                    continue
                if rule.parameter is not None:
                    is_host = rule.parameter[0] == "domain" and tool == "webfetch"
                    if is_host and names_host(rule, case.call) is Match.YES:
                        return [rule]
                elif rule.is_bare:
                    return [rule]
        return []

    def _target(self, target: Target, ground: Ground, tool: str) -> Rule | None:
        """Return an allow rule for one file of a tool call or a redirection."""
        for each in self._allows:
            for rule in each.rules:
                if rule.is_bare and rule.names_tool(tool, as_allow=True):
                    return rule
                if rule.path is None or not rule.names_tool(tool, as_allow=True):
                    continue
                if self._reach.covers(rule, target, ground) and not any(
                    self._reach.speaks_of(exception, target, starts) is not Match.NO
                    for exception, starts in self._reach.plan(each.path_exceptions, ground)
                ):
                    return rule
        return None

    def _line(self, case: Case, reading: Reading, ground: Ground) -> list[Rule]:
        for rule in self.command_rules:
            if rule.allows_line(reading.line):
                return [rule]
        if not reading.is_readable:
            case.uncovered = f"this line {reading.doubts[0].why if reading.doubts else 'cannot be read'}"
            return []
        if not reading.tops:
            case.uncovered = "there is no command"
            return []
        used: list[Rule] = []
        for part in reading.parts:
            for redirect in part.command.redirects:
                if is_nothing(redirect):
                    continue
                by, is_fine = self._redirect(part, redirect.target, redirect.writes, ground)
                if not is_fine:
                    what = "writing" if redirect.writes else "reading"
                    case.uncovered = f"no rule allows {what} {words.shown(redirect.target)}"
                    return []
                if by is not None:
                    used.append(by)
            for variable, value in sets_of(part.command):
                if is_run_changing(variable, value):
                    case.uncovered = f"it sets {variable}, which changes what runs"
                    return []
        for top in reading.tops:
            found = self._command(top, ground)
            if found is None:
                shown = " ".join(words.shown(each) for each in top.command.words[:4])
                case.uncovered = f"no rule allows {shown}"
                return []
            used += found
        return list(dict.fromkeys(used))

    def _redirect(self, part: Part, word: str, writes: bool, ground: Ground) -> tuple[Rule | None, bool]:
        access = Access.WRITE if writes else Access.READ
        targets = [each for each in part.targets if each.shown == word and each.access is access]
        if not targets:
            return None, False
        last: Rule | None = None
        for target in targets:
            last = self._target(target, ground, "edit" if writes else "read")
            if last is None and not (not writes and self._reach.is_inside(target, ground)):
                return None, False
        return last, True

    def _command(self, inside: Inside, ground: Ground) -> list[Rule] | None:
        """Return the rules that cover a command and what is in it; ``None`` when some is not covered."""
        command = inside.command
        if not command.words:
            return []
        best: Rule | None = None
        reach = 0
        for each in self._allows:
            for rule in each.allowing(command):
                spelt = rule.allows(command)
                if spelt > reach and not self._is_excepted(each, command):
                    best, reach = rule, spelt
        if best is not None and (reach > inside.head or (not inside.commands and not inside.head)):
            return [best]
        if inside.cover == "outside" and best is not None:
            return [best]
        if command.is_call:
            return []
        if inside.cover == "outside" and inside.commands:
            # `npx tsc` may fetch a program of that name: a rule for `tsc` says nothing of it.
            return None
        if not inside.commands:
            if is_free(command, lambda folder: self._is_inside_folder(folder, ground)):
                return []
            return None
        if inside.cover == "both" and best is None:
            return None
        used = [best] if best is not None and inside.cover == "both" else []
        for each_inside in inside.commands:
            found = self._command(each_inside, ground)
            if found is None:
                return None
            used += found
        return used

    def _is_excepted(self, rules: RuleList, command: Command) -> bool:
        exceptions = [each for each in rules.exceptions if each.command_words]
        if not exceptions:
            return False
        part = Part(Inside([], command), Ground("/", self._home, NoDisk()))
        return any(rule.denies(command, part.parts) is not Match.NO for rule in exceptions)

    def _is_inside_folder(self, folder: str, ground: Ground) -> bool:
        return self._reach.is_inside(ground.target(folder, Access.READ), ground)
