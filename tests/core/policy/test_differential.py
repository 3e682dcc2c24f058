"""Whatever the evaluator allows, bash is let run, and none of it runs a program that a rule denies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from devplane.core.permission import Call, Verdict
from devplane.core.policy import Policy, rule_file
from tests.core.policy import shapes
from tests.core.policy.grammar import DENIED, HARMLESS, Grammar, may_end
from tests.core.policy.sandbox import BASH, TIMEOUT_S, Sandbox

pytestmark = pytest.mark.skipif(not BASH, reason="no bash on this machine")

RULES = rule_file(
    "/repo/devplane.toml",
    "/repo",
    never_auto=[f"Bash({name} *)" for name in DENIED],
    auto_allow=["Bash", "Read", "Edit"],
)
POLICY = Policy([RULES], home="/home/user", devplane_home="/home/user/.devplane")
BATCH = 60
EACH_BY_ITSELF = 'for line; do cd "../$((++n))" && FUNCNEST=6 bash --norc -c "$line"; done'
"""Each line in a shell and a folder of its own, so that none runs what another one left."""
ONE_LINE_S = 2.0
PROGRAMS = ("bash", "cat", "echo", "env", "find", "nice", "nohup", "rev", "setsid", "sh", "stdbuf", "tee")
MORE_PROGRAMS = ("base64", "cp", "ln", "printf", "timeout", "true", "xargs")
SEVERAL_LINES = 800
MANY_LINES = 20_000


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path / "box", (*DENIED, "ok1", "ok2"), real=(*PROGRAMS, *MORE_PROGRAMS))


def is_allowed(line: str) -> bool:
    """Whether the rules let `line` pass unasked."""
    return POLICY.judge(Call("Bash", line, "/repo")).verdict is Verdict.ALLOW


def generated(seed: int, count: int) -> Iterator[str]:
    """Lines of the grammar."""
    grammar = Grammar(seed)
    return (grammar.line() for _ in range(count))


def respelt(seed: int, rounds: int) -> Iterator[str]:
    """Every spelling of a denied program that the sandbox can show, broken by chance."""
    grammar = Grammar(seed)
    lines = [shapes.spell(shape, "bad1", "x y") for shape in shapes.SHOWN]
    return (grammar.broken(line) for _ in range(rounds) for line in lines)


def culprits(sandbox: Sandbox, lines: Iterable[str]) -> list[str]:
    """Of the lines that are allowed, those that ran a denied program."""
    allowed = [line for line in lines if is_allowed(line) and "\0" not in line]
    found = []
    for start in range(0, len(allowed), BATCH):
        batch = allowed[start : start + BATCH]
        if denied_ran(sandbox, batch):
            alone = [line for line in batch if denied_ran(sandbox, [line])]
            found += [shrunk(sandbox, line) for line in alone] or ["together:", *batch]
    return sorted(set(found), key=len)


def shrunk(sandbox: Sandbox, line: str) -> str:
    """The shortest line found that is still allowed and still runs a denied program."""
    for size in (64, 32, 16, 8, 4, 2, 1):
        at = 0
        while at < len(line):
            shorter = line[:at] + line[at + size :]
            if is_allowed(shorter) and may_end(shorter) and denied_ran(sandbox, [shorter]):
                line = shorter
            else:
                at += size
    return line


def denied_ran(sandbox: Sandbox, lines: Sequence[str]) -> bool:
    """Run each line, and say whether a denied program was started.

    A line that waits for ever is ended, and counts for what it ran until then.
    """
    sandbox.fresh(folders=len(lines))
    try:
        sandbox.run(EACH_BY_ITSELF, *lines, timeout_s=TIMEOUT_S if len(lines) > 1 else ONE_LINE_S)
    except subprocess.TimeoutExpired:
        if len(lines) > 1:
            return any(denied_ran(sandbox, [line]) for line in lines)
    return any(words[0] in DENIED for words in sandbox.ran())


def test_what_is_allowed_runs_nothing_denied(sandbox: Sandbox) -> None:
    found = culprits(sandbox, generated(1, SEVERAL_LINES))

    assert not found, "\n".join(map(repr, found))


def test_broken_spellings_that_are_allowed_run_nothing_denied(sandbox: Sandbox) -> None:
    found = culprits(sandbox, respelt(1, 3))

    assert not found, "\n".join(map(repr, found))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2, 6))
def test_what_is_allowed_runs_nothing_denied_in_a_long_sweep(sandbox: Sandbox, seed: int) -> None:
    found = culprits(sandbox, {*generated(seed, MANY_LINES // 4), *respelt(seed, 20)})

    assert not found, "\n".join(map(repr, found))


def test_a_line_that_runs_a_denied_program_is_found_out(sandbox: Sandbox) -> None:
    assert denied_ran(sandbox, ["ok1 x", "true; echo y | env bad1 x"])
    assert not denied_ran(sandbox, ["ok1 x", "echo bad1 x"])


def test_many_lines_that_name_nothing_denied_are_allowed() -> None:
    grammar = Grammar(1, HARMLESS)
    lines = [grammar.line() for _ in range(SEVERAL_LINES)]

    assert sum(map(is_allowed, lines)) > SEVERAL_LINES / 3
