"""Microseconds a verdict, for few rules and many, on short command lines and the longest.

Prints each against the parser alone on the same line, and how the cost grows with rules and with length.
Run: python benchmarks/policy.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from devplane.core.permission import Call
from devplane.core.policy import Policy, rule_file
from devplane.core.policy.walk import LIMIT_BYTES, read

AIM_US = 200
"""For 50 rules on an ordinary line."""

ORDINARY = {
    "one command": "npm test -- --watch=false",
    "a short list": 'git add -A && git commit -m "fix: the thing" && git status',
    "a pipeline": "grep -rn TODO src | sort | uniq -c | head -20 2>/dev/null",
}


def longest(unit: str) -> str:
    return unit * (LIMIT_BYTES // len(unit.encode()) - 1)


LONG = {
    "64 KiB, one word": longest("a"),
    "64 KiB of operands": longest("src/a.py "),
    "64 KiB of commands": longest("npm test; "),
    "64 KiB in quotes": f"echo '{longest('word ')[:-8]}'",
}


def policy(count: int) -> Policy:
    """One of `count` rules: a third each of deny, ask and allow, with the few that the lines meet."""
    third = max(count // 3 - 3, 0)
    return Policy(
        [
            rule_file(
                "/repo/devplane.toml",
                "/repo",
                never_auto=["Bash(rm -rf *)", "Read(.env)", *(f"Bash(deny{n} now *)" for n in range(third))],
                always_ask=["Bash(git push *)", *(f"Bash(git ask{n} *)" for n in range(third))],
                auto_allow=[
                    *(
                        "Bash(npm test *)",
                        "Bash(git *)",
                        "Bash(grep *)",
                        "Bash(sort *)",
                        "Bash(uniq *)",
                        "Bash(head *)",
                    ),
                    *(f"Bash(allow{n} run *)" for n in range(third)),
                ],
            )
        ],
        home="/home/u",
        devplane_home="/home/u/.devplane",
        root="/repo",
    )


def verdict_us(made: Policy, line: str, rounds: int) -> float:
    call = Call("Bash", line, "/repo")
    return best_us(lambda: made.judge(call), rounds)


def best_us(measured: Callable[[], object], rounds: int) -> float:
    """The best of several rounds: what is slower is the machine's other work."""
    times = []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(rounds):
            measured()
        times.append((time.perf_counter() - began) / rounds * 1e6)
    return min(times)


def main() -> None:
    rules = {count: policy(count) for count in (5, 50, 500)}
    print(
        f"{'line':<22}{'parser':>10}" + "".join(f"{f'{count} rules':>12}" for count in rules) + "   500 : 5"
    )
    worst = 0.0
    for name, line in {**ORDINARY, **LONG}.items():
        rounds = 200 if name in ORDINARY else 2
        alone = best_us(partial(read, line), rounds)
        costs = {count: verdict_us(made, line, rounds) for count, made in rules.items()}
        if name in ORDINARY:
            worst = max(worst, costs[50])
        shown = "".join(f"{cost:>10.0f}us" for cost in costs.values())
        print(f"{name:<22}{alone:>8.0f}us{shown}{costs[500] / costs[5]:>9.2f}x")
    print(f"\n50 rules on an ordinary line: {worst:.0f} us at most (aim: {AIM_US} us)")
    operands = LONG["64 KiB of operands"]
    half, whole = (verdict_us(rules[50], line, 2) for line in (operands[: len(operands) // 2], operands))
    print(f"twice the length costs {whole / half:.2f}x (linear: 2)")


if __name__ == "__main__":
    main()
