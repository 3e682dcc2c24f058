"""Whether a path rule means a file: as a deny or an ask, generously; as an allow, surely."""

from __future__ import annotations

import re
from collections.abc import Sequence

from devplane.core.policy import words
from devplane.core.policy.files import Access
from devplane.core.policy.lists import RuleList
from devplane.core.policy.paths import PathPattern, any_of
from devplane.core.policy.reading import Disk, Ground, Target
from devplane.core.policy.rules import Match, Rule

Starts = tuple[tuple[PathPattern, str], ...]
"""A rule's pattern with each folder that it starts from; () for a rule without one."""
Planned = tuple[Rule, Starts]


class Reach:
    """Where the patterns of rules start, and what they mean from there."""

    def __init__(self, *, home: str, root: str, checkout: str, disk: Disk) -> None:
        self._home = home
        self._root = root
        self._checkout = checkout
        self._disk = disk

    def plan(self, rules: Sequence[Rule], ground: Ground) -> list[Planned]:
        """Return each path rule with its pattern at every place where it starts, as a deny or an ask."""
        found: list[Planned] = []
        for rule in rules:
            if rule.path is None:
                found.append((rule, ()))
            else:
                pattern = rule.path.floating()
                anchors = self._anchors(rule, ground, as_allow=False)
                found.append((rule, tuple((pattern, anchor) for anchor in anchors)))
        return found

    def quick(self, plan: Sequence[Planned]) -> re.Pattern[str] | None:
        """Return what matches the paths that some pattern of the plan does; ``None`` if a rule has none."""
        if any(not starts for _, starts in plan):
            return None
        return any_of(tuple(start for _, starts in plan for start in starts))

    def speaks_of(self, rule: Rule, target: Target, starts: Starts) -> Match:
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
        for pattern, anchor in starts:
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
        found = dict.fromkeys(each for start in starts for each in ground.spellings(start))
        for start in starts:
            if (alias := ground.alias(start)) is not None:
                found[alias] = None
        return tuple(found)

    def covers(self, rule: Rule, target: Target, ground: Ground) -> bool:
        """Whether a path rule surely means a file: by every spelling, and never by a pattern."""
        if rule.path is None or not target.paths:
            return False
        anchors = self._anchors(rule, ground, as_allow=True)
        return all(
            any(rule.path.matches(path, anchor, anywhere=False) for anchor in anchors)
            for path in target.paths
        )

    def is_excused(self, rules: RuleList, target: Target, ground: Ground) -> bool:
        wanted = "edit" if target.access is Access.WRITE else "read"
        return any(
            rule.path is not None and rule.tool in (wanted, "read") and self.covers(rule, target, ground)
            for rule in rules.exceptions
        )

    def is_inside(self, target: Target, ground: Ground) -> bool:
        """Whether a file lies where the caller works, links and all."""
        tops = [each for start in (ground.cwd, self._checkout) if start for each in ground.spellings(start)]
        return bool(target.paths) and all(
            any(path == top or path.startswith(top.rstrip("/") + "/") for top in tops)
            for path in target.paths
        )
