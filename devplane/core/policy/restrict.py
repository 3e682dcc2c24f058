"""Which rule of a deny or an ask list speaks of a call."""

from __future__ import annotations

from devplane.core.policy.case import Case, names_host
from devplane.core.policy.lists import RuleList
from devplane.core.policy.reach import Reach
from devplane.core.policy.reading import Ground, Part
from devplane.core.policy.rules import Match, Rule


def firing(rules: RuleList, case: Case, ground: Ground, reach: Reach) -> tuple[Rule | None, Rule | None]:
    """Return the rule of one list that speaks of the call, and the first that may."""
    maybe: Rule | None = None
    for found in (_by_tool(rules, case), _by_command(rules, case), _by_path(rules, case, ground, reach)):
        surely, perhaps = found
        maybe = maybe or perhaps
        if surely is not None:
            return surely, maybe
    return None, maybe


Found = tuple[Rule | None, Rule | None]


def _by_tool(rules: RuleList, case: Case) -> Found:
    maybe: Rule | None = None
    for rule in rules.tool_rules:
        if not rule.names_tool(case.tool, as_allow=False) or _is_tool_excused(rules, case):
            continue
        if rule.parameter is None:
            return rule, maybe
        if rule.parameter[0] == "domain" and case.tool == "webfetch":
            match = names_host(rule, case.call)
            if match is Match.YES:
                return rule, maybe
            maybe = maybe or (rule if match is Match.MAYBE else None)
        elif rule.matches_input(case.call.input):
            return rule, maybe
    return None, maybe


def _by_command(rules: RuleList, case: Case) -> Found:
    if case.reading is None or not rules.command_rules:
        return None, None
    for rule in rules.line_rules:
        if rule.allows_line(case.reading.line):
            return rule, None
    maybe: Rule | None = None
    for part in case.parts:
        if not part.command.words:
            continue
        for rule in rules.for_command(part.command, part.parts):
            match = rule.denies(part.command, part.parts)
            if match is Match.NO or _is_command_excused(rules, part):
                continue
            if match is Match.YES:
                return rule, maybe
            maybe = maybe or rule
    return None, maybe


def _by_path(rules: RuleList, case: Case, ground: Ground, reach: Reach) -> Found:
    maybe: Rule | None = None
    targets = dict.fromkeys(target for target, _ in case.every_target()) if rules.path_rules else {}
    if not targets:
        return None, None
    plan = reach.plan(rules.path_rules, ground)
    quick = reach.quick(plan)
    for target in targets:
        is_plain = quick is not None and target.paths and not target.is_deep
        # Most files are nobody's business, and one look at all patterns at once says so.
        if is_plain and quick is not None and not any(quick.match(path) for path in target.paths):
            continue
        for rule, starts in plan:
            match = reach.speaks_of(rule, target, starts)
            if match is Match.NO or reach.is_excused(rules, target, ground):
                continue
            if match is Match.YES:
                return rule, maybe
            maybe = maybe or rule
    return None, maybe


def _is_command_excused(rules: RuleList, part: Part) -> bool:
    return any(rule.allows(part.command) for rule in rules.exceptions if rule.is_for_commands)


def _is_tool_excused(rules: RuleList, case: Case) -> bool:
    return any(rule.is_bare and rule.names_tool(case.tool, as_allow=True) for rule in rules.exceptions)
