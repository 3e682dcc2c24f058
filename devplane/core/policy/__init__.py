"""Who may do what: rules, and the one evaluator that puts a call to them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from devplane.core.policy.lists import Broken, RuleFile
from devplane.core.policy.policy import Policy
from devplane.core.policy.reading import Disk, NoDisk
from devplane.core.policy.rules import Rule, RuleBroken, parse

__all__ = ["Broken", "Disk", "NoDisk", "Policy", "Rule", "RuleBroken", "RuleFile", "parse", "rule_file"]


def rule_file(
    file: str,
    folder: str,
    *,
    never_auto: Sequence[str] = (),
    always_ask: Sequence[str] = (),
    auto_allow: Sequence[str] = (),
    lines: Sequence[int] = (),
) -> RuleFile:
    """Read the three lists of one file.

    `folder`: where patterns with one leading slash start. `lines`: the line of each rule, in the
    order of the lists; without it they count from 1.

    Raises:
        RuleBroken: A rule cannot be understood.
    """
    numbers = iter(lines or range(1, len(never_auto) + len(always_ask) + len(auto_allow) + 1))
    never, ask, allow = (
        tuple(parse(text, file, next(numbers), folder=folder) for text in texts)
        for texts in (never_auto, always_ask, auto_allow)
    )
    return RuleFile(file, folder, never, ask, allow)
