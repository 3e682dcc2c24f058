"""A day's work passes unasked under a careful team's rules, and what those rules are for does not."""

from __future__ import annotations

import pytest

from devplane.core.permission import Call, Verdict
from devplane.core.policy import Policy, rule_file
from tests.core.policy.ordinary import ALWAYS_ASK, AUTO_ALLOW, NEVER_AUTO, PASSING, STOPPED

RULES = rule_file(
    "/repo/devplane.toml", "/repo", never_auto=NEVER_AUTO, always_ask=ALWAYS_ASK, auto_allow=AUTO_ALLOW
)
POLICY = Policy([RULES], home="/home/user", devplane_home="/home/user/.devplane", root="/repo")


@pytest.mark.parametrize("line", PASSING)
def test_an_ordinary_command_is_not_asked_about(line: str) -> None:
    ruling = POLICY.judge(Call("Bash", line, "/repo"))

    assert ruling.verdict is Verdict.ALLOW, ruling.reason


@pytest.mark.parametrize("line", STOPPED)
def test_a_command_beyond_the_rules_is_stopped(line: str) -> None:
    ruling = POLICY.judge(Call("Bash", line, "/repo"))

    assert ruling.verdict is not Verdict.ALLOW, ruling.reason
