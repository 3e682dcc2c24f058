"""The field cases hold, each under its own rules and nothing else."""

from __future__ import annotations

import pytest

from devplane.core.permission import Verdict
from devplane.core.policy import Policy, rule_file
from tests.core.policy.cases import CASES, NOT_ALLOW, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_the_case_gets_its_verdict(case: Case) -> None:
    rules = rule_file(
        "/repo/devplane.toml", "/repo", never_auto=case.deny, always_ask=case.ask, auto_allow=case.allow
    )
    ruling = Policy([rules], home="/home/user", devplane_home="/home/user/.devplane").judge(case.call)

    if case.expect == NOT_ALLOW:
        assert ruling.verdict is not Verdict.ALLOW, f"{case.claim}: {ruling}"
    else:
        assert ruling.verdict == case.expect, f"{case.claim}: {ruling}"


def test_every_case_stands_in_the_table_once() -> None:
    assert [case.key for case in CASES] == [f"PG-{n:03}" for n in range(1, 98)]
