"""The evaluator: every rule of every file, put to one call, in the one order that there is.

Built-in protection, then ``never_auto`` of all files, then ``always_ask`` of all, then what
cannot be read while a rule constrains it, then ``auto_allow``, else undecided. Pure, total,
and linear in the length of the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from devplane.core.permission import Call, NamedRule, Ruling, Verdict
from devplane.core.policy import words
from devplane.core.policy.builtin import Protection
from devplane.core.policy.files import Access, is_nothing
from devplane.core.policy.free import is_free, is_known
from devplane.core.policy.hides import is_run_changing, may_run, sets_of
from devplane.core.policy.hosts import host_of
from devplane.core.policy.line import Command
from devplane.core.policy.paths import PathPattern
from devplane.core.policy.reading import Disk, Ground, NoDisk, Part, Reading, Target
from devplane.core.policy.readonly import why_not_read_only
from devplane.core.policy.rules import COMMAND_TOOLS, EDIT_TOOLS, READ_TOOLS, Match, Rule
from devplane.core.policy.wrappers import Inside


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


class Policy:
    """The rules that govern calls in one place. Made once, asked often."""

    def __init__(
        self,
        files: Sequence[RuleFile] = (),
        *,
        home: str,
        devplane_home: str,
        disk: Disk | None = None,
        root: str = "",
        checkout: str = "",
        writes: bool = True,
    ) -> None:
        """Join `files`.

        `home`: the person's, for ``~``. `root`: the folder of the governing ``devplane.toml``, also
        when there is none yet. `checkout`: the root of the checkout that the caller works in, where
        it is another one: patterns from the rule file's folder mean the same place in it.
        `writes`: whether anything may be changed at all.
        """
        self.files = tuple(files)
        self._home = home
        self._disk = disk or NoDisk()
        self._root = root
        self._checkout = checkout or root
        self._writes = writes
        self._protection = Protection(devplane_home, tuple(dict.fromkeys((root, self._checkout))))
        self._denies = [_List(each.never_auto) for each in self.files]
        self._asks = [_List(each.always_ask) for each in self.files]
        self._allows = [_List(each.auto_allow) for each in self.files if each.is_trusted]
        constraining = [*self._denies, *self._asks]
        self._constrains_commands = any(each.constrains_commands for each in constraining)
        self._programs = frozenset(
            rule.command_words[0].rpartition("/")[2].casefold()
            for each in constraining
            for rule in each.rules
            if rule.command_words and words.is_literal(rule.command_words[0])
        )

    def judge(self, call: Call) -> Ruling:
        """Return the verdict on `call`, with the rule that gives it. Any call whatever gets one."""
        ground = Ground(call.cwd, self._home, self._disk)
        case = _case(call, ground)
        return (
            self._built_in(call, case, ground)
            or self._read_only(call, case)
            or self._restricted(call, case, ground)
            or self._broken(call)
            or self._unresolved(call, case)
            or self._allowed(call, case, ground)
            or self._undecided(call, case)
        )

    # The stages, in order

    def _built_in(self, call: Call, case: _Case, ground: Ground) -> Ruling | None:
        if call.tool == "switch_mode":
            reason = (
                f"it would change how the agent asks: {call.subject}"
                if call.subject
                else "it changes the mode"
            )
            return Ruling(Verdict.ASK, call.tool, call.subject, builtin=True, reason=reason)
        for target, command in case.every_target():
            why = self._protection.why(target, ground, command)
            if why is not None:
                return Ruling(Verdict.DENY, call.tool, call.subject, builtin=True, reason=f"built in: {why}")
        return None

    def _read_only(self, call: Call, case: _Case) -> Ruling | None:
        if self._writes:
            return None
        why = why_not_read_only(call.tool.casefold(), case.reading)
        if why is None:
            return None
        return Ruling(
            Verdict.DENY,
            call.tool,
            call.subject,
            builtin=True,
            reason=f"this participant may not write: {why}",
        )

    def _restricted(self, call: Call, case: _Case, ground: Ground) -> Ruling | None:
        for verdict, lists in ((Verdict.DENY, self._denies), (Verdict.ASK, self._asks)):
            for each in lists:
                rule, maybe = self._firing(each, case, ground)
                if rule is not None:
                    said = "denies it" if verdict is Verdict.DENY else "asks about it"
                    return _ruling(verdict, call, rule, f"{rule.text} {said}")
                if maybe is not None and case.maybe is None:
                    case.maybe = maybe
        return None

    def _broken(self, call: Call) -> Ruling | None:
        for each in self.files:
            if each.broken is not None:
                return Ruling(
                    Verdict.ASK, call.tool, call.subject, file=each.file, line=each.broken.line,
                    reason=f"its rules are not in force: {each.broken.reason}",
                )  # fmt: skip
        return None

    def _unresolved(self, call: Call, case: _Case) -> Ruling | None:
        if case.maybe is not None:
            rule = case.maybe
            return Ruling(
                Verdict.UNRESOLVED, call.tool, call.subject, rule.text, rule.file, rule.line,
                reason=f"nobody can tell whether {rule.text} speaks of it",
            )  # fmt: skip
        if not self._constrains_commands or case.reading is None:
            return None
        doubt = self._doubt(case)
        if doubt is None:
            return None
        return Ruling(Verdict.UNRESOLVED, call.tool, call.subject, reason=f"this line {doubt}")

    def _doubt(self, case: _Case) -> str | None:
        reading = case.reading
        assert reading is not None
        if reading.doubts:
            return reading.doubts[0].why
        for part, script in reading.scripts:
            if not any(
                rule.allows(part.command) > script.script for rule in self._allow_rules() if not rule.is_bare
            ):
                return script.why
        for part in reading.parts:
            found = may_run(part.command, self._programs) if not is_known(part.command) else None
            if found is not None:
                return found.why
        return None

    def _allow_rules(self) -> Iterator[Rule]:
        for each in self._allows:
            yield from each.command_rules

    def _allowed(self, call: Call, case: _Case, ground: Ground) -> Ruling | None:
        rules = self._covering(case, ground)
        if not rules:
            return None
        first, *others = rules
        return Ruling(
            Verdict.ALLOW, call.tool, call.subject, first.text, first.file, first.line,
            reason=f"{first.text} allows it" if not others else "every command of it is allowed",
            others=tuple(NamedRule(each.text, each.file, each.line) for each in others),
        )  # fmt: skip

    def _undecided(self, call: Call, case: _Case) -> Ruling:
        why = case.uncovered or "no rule speaks of it"
        if not call.tool:
            why = "what it would do cannot be told from the request"
        for each in self.files:
            if not each.is_trusted and each.auto_allow:
                why += f"; {each.file} is not trusted, so what it allows does not count"
        return Ruling(Verdict.UNDECIDED, call.tool, call.subject, reason=why)

    # Deny and ask

    def _firing(self, rules: _List, case: _Case, ground: Ground) -> tuple[Rule | None, Rule | None]:
        """Return the rule of one list that speaks of the case, and one that may."""
        maybe: Rule | None = None
        tool = case.tool
        for rule in rules.others:
            if rule.names_tool(tool, as_allow=False) and not self._is_excused_tool(rules, case):
                if rule.parameter is not None:
                    if rule.parameter[0] == "domain" and tool == "webfetch":
                        found = _domain(rule, case.call)
                        if found is Match.YES:
                            return rule, maybe
                        maybe = maybe or (rule if found is Match.MAYBE else None)
                    elif rule.matches_input(case.call.input):
                        return rule, maybe
                else:
                    return rule, maybe
        for part in case.parts:
            for rule in rules.for_program(part.command):
                found = rule.denies(part.command, part.parts)
                if found is Match.NO or self._is_excused(rules, part):
                    continue
                if found is Match.YES:
                    return rule, maybe
                maybe = maybe or rule
        if rules.path_rules:
            for target, command in case.every_target():
                for rule in rules.path_rules:
                    found = self._speaks_of(rule, target, ground, command)
                    if found is Match.NO or self._is_excused_target(rules, target, ground):
                        continue
                    if found is Match.YES:
                        return rule, maybe
                    maybe = maybe or rule
        return None, maybe

    def _is_excused(self, rules: _List, part: Part) -> bool:
        return any(rule.allows(part.command) for rule in rules.exceptions if rule.is_for_commands)

    def _is_excused_tool(self, rules: _List, case: _Case) -> bool:
        return any(rule.is_bare and rule.names_tool(case.tool, as_allow=True) for rule in rules.exceptions)

    def _is_excused_target(self, rules: _List, target: Target, ground: Ground) -> bool:
        wanted = "edit" if target.access is Access.WRITE else "read"
        return any(
            rule.path is not None and rule.tool in (wanted, "read") and self._covers(rule, target, ground)
            for rule in rules.exceptions
        )

    def _speaks_of(self, rule: Rule, target: Target, ground: Ground, command: Command | None) -> Match:
        """Whether a path rule, as a deny or an ask, reaches a file."""
        if rule.tool == "edit":
            if target.access is Access.READ:
                return Match.NO
            surely = Match.YES if target.access is Access.WRITE else Match.MAYBE
        else:
            surely = Match.YES
        if rule.path is None:
            # `Edit` alone speaks of every edit, also by a command that surely makes one.
            return Match.YES if target.access is not Access.NAMED else Match.NO
        pattern = rule.path.floating()
        for anchor in self._anchors(rule, ground, as_allow=False):
            if target.glob:
                if pattern.meets(target.glob, anchor, anywhere=True):
                    return Match.MAYBE if target.is_hidden else surely
                if target.is_deep and pattern.meets(target.glob + "/" + words.ANY, anchor, anywhere=True):
                    return Match.MAYBE
                continue
            for path in target.paths:
                if pattern.matches(path, anchor, anywhere=True):
                    return surely
                if target.is_deep and self._reaches(pattern, path, anchor, target):
                    return surely
        return Match.NO

    def _reaches(self, pattern: PathPattern, path: str, anchor: str, target: Target) -> bool:
        inside = path.rstrip("/") + "/"
        if pattern.matches(inside + "x", anchor, anywhere=True):
            return True
        found = pattern.reaches_into(path, anchor, anywhere=True)
        if found is None:
            # One that floats is held against what really lies there, or every `grep -r` would be stopped.
            return any(
                pattern.matches(inside + name, anchor, anywhere=True)
                or pattern.matches(inside + name + "/x", anchor, anywhere=True)
                for name in self._disk.names(path)
                if not (target.skips_hidden and name.startswith("."))
            )
        return found

    def _anchors(self, rule: Rule, ground: Ground, *, as_allow: bool) -> tuple[str, ...]:
        assert rule.path is not None
        base = rule.path.base
        if base is None:
            starts: tuple[str, ...] = (ground.cwd,)
        elif base == "~":
            starts = (self._home,)
        elif base == self._root and self._checkout != self._root:
            starts = (self._checkout,) if as_allow else (base, self._checkout)
        else:
            starts = (base,)
        return tuple(dict.fromkeys(each for start in starts for each in ground.spellings(start)))

    # Allow

    def _covering(self, case: _Case, ground: Ground) -> list[Rule]:
        """Return the rules that together allow the case, or none."""
        if case.reading is not None:
            return self._line_covering(case, case.reading, ground)
        tool = case.tool
        if case.targets:
            found: list[Rule] = []
            for target in case.targets:
                rule = self._covering_target(target, ground, tool)
                if rule is None:
                    case.uncovered = f"no rule allows {target.shown}"
                    return []
                found.append(rule)
            return list(dict.fromkeys(found))
        for each in self._allows:
            for rule in each.others:
                if not rule.names_tool(tool, as_allow=True):
                    continue
                if rule.parameter is not None:
                    is_host = rule.parameter[0] == "domain" and tool == "webfetch"
                    if is_host and _domain(rule, case.call) is Match.YES:
                        return [rule]
                elif rule.is_bare:
                    return [rule]
        return []

    def _covering_target(self, target: Target, ground: Ground, tool: str) -> Rule | None:
        """Return an allow rule for one file of a tool call or a redirection."""
        for each in self._allows:
            for rule in each.rules:
                if rule.is_bare and rule.names_tool(tool, as_allow=True):
                    return rule
                if rule.path is None or not rule.names_tool(tool, as_allow=True):
                    continue
                if self._covers(rule, target, ground) and not any(
                    self._speaks_of(exception, target, ground, None) is not Match.NO
                    for exception in each.exceptions
                    if exception.tool in ("read", "edit")
                ):
                    return rule
        return None

    def _covers(self, rule: Rule, target: Target, ground: Ground) -> bool:
        """Whether a path rule surely means a file: by every spelling, and never by a pattern."""
        if rule.path is None or not target.paths:
            return False
        anchors = self._anchors(rule, ground, as_allow=True)
        return all(
            any(rule.path.matches(path, anchor, anywhere=False) for anchor in anchors)
            for path in target.paths
        )

    def _line_covering(self, case: _Case, reading: Reading, ground: Ground) -> list[Rule]:
        for rule in self._allow_rules():
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
                by, is_fine = self._covering_redirect(part, redirect.target, redirect.writes, ground)
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
            found = self._covering_command(top, ground)
            if found is None:
                shown = " ".join(words.shown(each) for each in top.command.words[:4])
                case.uncovered = f"no rule allows {shown}"
                return []
            used += found
        return list(dict.fromkeys(used))

    def _covering_redirect(
        self, part: Part, word: str, writes: bool, ground: Ground
    ) -> tuple[Rule | None, bool]:
        access = Access.WRITE if writes else Access.READ
        targets = [each for each in part.targets if each.shown == word and each.access is access]
        if not targets:
            return None, False
        last: Rule | None = None
        for target in targets:
            last = self._covering_target(target, ground, "edit" if writes else "read")
            if last is None and not (not writes and self._is_inside(target, ground)):
                return None, False
        return last, True

    def _is_inside(self, target: Target, ground: Ground) -> bool:
        """Whether a file lies where the caller works, links and all."""
        tops = [each for start in (ground.cwd, self._checkout) if start for each in ground.spellings(start)]
        return bool(target.paths) and all(
            any(path == top or path.startswith(top.rstrip("/") + "/") for top in tops)
            for path in target.paths
        )

    def _covering_command(self, inside: Inside, ground: Ground) -> list[Rule] | None:
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
        if not inside.commands:
            if is_free(command, lambda folder: self._is_inside_folder(folder, ground)):
                return []
            return None
        if inside.cover == "both" and best is None:
            return None
        used = [best] if best is not None and inside.cover == "both" else []
        for each_inside in inside.commands:
            found = self._covering_command(each_inside, ground)
            if found is None:
                return None
            used += found
        return used

    def _is_excepted(self, rules: _List, command: Command) -> bool:
        exceptions = [each for each in rules.exceptions if each.command_words]
        if not exceptions:
            return False
        part = Part(Inside([], command), Ground("/", self._home, NoDisk()))
        return any(rule.denies(command, part.parts) is not Match.NO for rule in exceptions)

    def _is_inside_folder(self, folder: str, ground: Ground) -> bool:
        return self._is_inside(ground.target(folder, Access.READ), ground)


class _List:
    """One list of one file, sorted by what its rules speak of."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        every = tuple(rules)
        self.rules = [each for each in every if not each.is_exception]
        self.exceptions = [each for each in every if each.is_exception]
        self.command_rules = [each for each in self.rules if each.is_for_commands]
        self.path_rules = [
            each for each in self.rules if each.path is not None or each.tool in ("read", "edit")
        ]
        self.others = [
            each for each in self.rules if not each.command_words and each.exact is None and each.path is None
        ]
        self.constrains_commands = any(
            each.is_for_commands or each.path is not None or each.tool == "*" for each in self.rules
        )
        self._by_program: dict[str, list[Rule]] = {}
        self._any_program: list[Rule] = []
        self._bare: list[Rule] = [each for each in self.command_rules if each.is_bare]
        for each in self.command_rules:
            if not each.command_words:
                continue
            program = each.command_words[0]
            if words.is_literal(program):
                self._by_program.setdefault(program.rpartition("/")[2].casefold(), []).append(each)
            else:
                self._any_program.append(each)

    def for_program(self, command: Command) -> Iterator[Rule]:
        """Yield the rules on commands that may speak of this one, in their order where it matters."""
        yield from self._by_program.get(command.name, ())
        yield from self._any_program

    def allowing(self, command: Command) -> Iterator[Rule]:
        yield from self._bare
        yield from self.for_program(command)


@dataclass(slots=True)
class _Case:
    """One call, prepared."""

    call: Call
    tool: str
    targets: list[Target]
    reading: Reading | None
    maybe: Rule | None = None
    uncovered: str = ""

    @property
    def parts(self) -> list[Part]:
        return self.reading.parts if self.reading is not None else []

    def every_target(self) -> Iterator[tuple[Target, Command | None]]:
        for target in self.targets:
            yield target, None
        for part in self.parts:
            for target in part.targets:
                yield target, part.command


def _case(call: Call, ground: Ground) -> _Case:
    tool = call.tool.casefold()
    reading: Reading | None = None
    targets: list[Target] = []
    if tool in COMMAND_TOOLS:
        reading = Reading(call.subject, ground)
    elif tool in READ_TOOLS or tool in EDIT_TOOLS:
        access = Access.READ if tool in READ_TOOLS else Access.WRITE
        is_search = access is Access.READ and any(key in call.input for key in ("pattern", "query", "regex"))
        targets = [ground.target(path, access, is_deep=is_search) for path in call.paths if path]
    return _Case(call, tool, targets, reading)


def _domain(rule: Rule, call: Call) -> Match:
    assert rule.parameter is not None
    host = host_of(call.subject)
    if host is None:
        return Match.MAYBE
    wanted = rule.parameter[1].casefold().rstrip(".")
    return Match.YES if words.glob(wanted.replace("*", words.STAR)).fullmatch(host) else Match.NO


def _ruling(verdict: Verdict, call: Call, rule: Rule, reason: str) -> Ruling:
    return Ruling(verdict, call.tool, call.subject, rule.text, rule.file, rule.line, reason=reason)
