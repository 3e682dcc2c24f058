"""A daemon whose rules and clock are a test's: ``python judged.py RULES --ready-fd N``.

RULES is a JSON file that is read again for every call: a list of objects with ``verdict`` and, where it
is not for everything, ``tool`` and ``subject`` (a pattern as of `fnmatch`). The first that fits rules;
without one nothing is decided. What is no JSON cannot be judged by. The clock is ahead of the
system's by the milliseconds in the file ``clock`` beside RULES.
"""

from __future__ import annotations

import json
import os
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

if not __package__:  # run by its path: the project stands in for this folder
    sys.path[0] = str(Path(__file__).parents[2])

from devplane.core.permission import Call, Judge, Ruling, Verdict
from devplane.daemon.main import serve
from devplane.paths import Home


def judged_by(root: Path, *rules: dict[str, Any]) -> tuple[str, ...]:
    """Return the command of a daemon that rules as `rules` say; `rule` changes them."""
    rule(root, *rules)
    return sys.executable, str(Path(__file__)), str(root / "rules.json")


def ruled_by(root: Path, verdict: str) -> tuple[str, ...]:
    """Return the command of a daemon whose rules say `verdict` to everything."""
    return judged_by(root, {"verdict": verdict, "rule": "Bash(*)"})


def rule(root: Path, *rules: dict[str, Any]) -> None:
    """Have other rules hold from the next request on."""
    new = root / "rules.new"
    new.write_text(json.dumps(rules))
    new.replace(root / "rules.json")


def put_clock_ahead(root: Path, ms: int) -> None:
    """Let the daemon believe that so much time has passed."""
    new = root / "clock.new"
    new.write_text(str(ms))
    new.replace(root / "clock")


def judge_from(file: Path, cwd: str) -> Judge:
    if (file.parent / "no-judge").exists():
        raise PermissionError(f"no judge for {cwd}")

    def judge(call: Call) -> Ruling:
        for number, each in enumerate(json.loads(file.read_text()), 1):
            if call.tool == each.get("tool", call.tool) and fnmatchcase(
                call.subject, each.get("subject", "*")
            ):
                return Ruling(
                    Verdict(each["verdict"]),
                    call.tool,
                    call.subject,
                    rule=each.get("rule", f"{call.tool}({each.get('subject', '*')})"),
                    file=str(file),
                    line=number,
                    builtin=each.get("builtin", False),
                    reason="a test says so",
                )
        return Ruling(Verdict.UNDECIDED, call.tool, call.subject, reason="no rule answers")

    return judge


def clock_from(file: Path) -> int:
    ahead_ms = int(file.read_text()) if file.exists() else 0
    return time.time_ns() // 1_000_000 + ahead_ms


if __name__ == "__main__":
    rules = Path(sys.argv[1])
    serve(
        Home.find(os.environ),
        ready_fd=int(sys.argv[3]),
        judge_in=lambda cwd: judge_from(rules, cwd),
        clock_ms=lambda: clock_from(rules.parent / "clock"),
    )
