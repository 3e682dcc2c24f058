"""The evaluator: every rule of every file, put to one call, in the one order that there is.

Built-in protection, then ``never_auto`` of all files, then ``always_ask`` of all, then what
cannot be read while a rule constrains it, then ``auto_allow``, else undecided. Pure, total,
and linear in the length of the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from devplane.core.permission import Call, NamedRule, Ruling, Verdict
from devplane.core.policy import words
from devplane.core.policy.builtin import Protection
from devplane.core.policy.case import Case, case_of
from devplane.core.policy.cover import Cover
from devplane.core.policy.free import is_known
from devplane.core.policy.hides import may_run
from devplane.core.policy.lists import RuleFile, RuleList
from devplane.core.policy.reach import Reach
from devplane.core.policy.reading import Disk, Ground, NoDisk
from devplane.core.policy.readonly import why_not_read_only
from devplane.core.policy.restrict import firing
from devplane.core.policy.rules import Rule


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
        checkout = checkout or root
        self._writes = writes
        self._reach = Reach(home=home, root=root, checkout=checkout, disk=self._disk)
        self._protection = Protection(devplane_home, tuple(dict.fromkeys((root, checkout))))
        self._denies = [RuleList(each.never_auto) for each in self.files]
        self._asks = [RuleList(each.always_ask) for each in self.files]
        allows = [RuleList(each.auto_allow) for each in self.files if each.is_trusted]
        self._cover = Cover(allows, self._reach, home)
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
        case = case_of(call, ground)
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

    def _built_in(self, call: Call, case: Case, ground: Ground) -> Ruling | None:
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

    def _read_only(self, call: Call, case: Case) -> Ruling | None:
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

    def _restricted(self, call: Call, case: Case, ground: Ground) -> Ruling | None:
        for verdict, lists in ((Verdict.DENY, self._denies), (Verdict.ASK, self._asks)):
            for each in lists:
                rule, maybe = firing(each, case, ground, self._reach)
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

    def _unresolved(self, call: Call, case: Case) -> Ruling | None:
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

    def _doubt(self, case: Case) -> str | None:
        reading = case.reading
        assert reading is not None
        if reading.doubts:
            return reading.doubts[0].why
        for part, script in reading.scripts:
            if not any(
                rule.allows(part.command) > script.script
                for rule in self._cover.command_rules
                if not rule.is_bare
            ):
                return script.why
        for part in reading.parts:
            found = may_run(part.command, self._programs) if not is_known(part.command) else None
            if found is not None:
                return found.why
        return None

    def _allowed(self, call: Call, case: Case, ground: Ground) -> Ruling | None:
        rules = self._cover.rules_for(case, ground)
        if not rules:
            return None
        first, *others = rules
        return Ruling(
            Verdict.ALLOW, call.tool, call.subject, first.text, first.file, first.line,
            reason=f"{first.text} allows it" if not others else "every command of it is allowed",
            others=tuple(NamedRule(each.text, each.file, each.line) for each in others),
        )  # fmt: skip

    def _undecided(self, call: Call, case: Case) -> Ruling:
        why = case.uncovered or "no rule speaks of it"
        if not call.tool:
            why = "what it would do cannot be told from the request"
        for each in self.files:
            if not each.is_trusted and each.auto_allow:
                why += f"; {each.file} is not trusted, so what it allows does not count"
        return Ruling(Verdict.UNDECIDED, call.tool, call.subject, reason=why)


def _ruling(verdict: Verdict, call: Call, rule: Rule, reason: str) -> Ruling:
    return Ruling(verdict, call.tool, call.subject, rule.text, rule.file, rule.line, reason=reason)
