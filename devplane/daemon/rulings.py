"""The rules as one run meets them: what they say of a request, and how much of it is kept."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from devplane.core.permission import Call, Judge, Ruling, Verdict, strictest
from devplane.core.text import clipped, one_line

_log = logging.getLogger(__name__)

JudgeIn: TypeAlias = Callable[[str], Judge]
"""Gives the judge for runs in one folder. The judge looks at its files again by itself."""

SUBJECT_LIMIT_CHARS = 64 * 1024
"""Longest command that a fact carries; a cut is marked, and the ask's own row has it whole."""
VALUE_LIMIT_CHARS = 2_000
KEY_LIMIT_CHARS = 200
PATH_LIMIT_CHARS = 4_096
KEYS_KEPT = 64
PATHS_KEPT = 256
CALLS_KEPT = 64


class Rules:
    """The judge of one run. A judge that fails loses no request: a person is asked."""

    def __init__(self, judge_in: JudgeIn, cwd: str, run: str) -> None:
        self._judge_in = judge_in
        self._cwd = cwd
        self._run = run
        self._judge: Judge | None = None
        try:
            self._judge = judge_in(cwd)
        except Exception:  # noqa: BLE001 - tried again with the first request, whose reason then names it
            _log.exception("%s: its rules could not be read", run)

    def on(self, calls: Sequence[Call]) -> tuple[Ruling, Call]:
        """Return the strictest ruling on the calls of one request, and the call that it is about."""
        try:
            if self._judge is None:
                self._judge = self._judge_in(self._cwd)
            rulings = [self._judge(call) for call in calls]
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the rules, somebody must answer
            _log.exception("%s: the rules could not be read", self._run)
            why = f"the rules could not be read: {one_line(str(error) or type(error).__name__, 500)}"
            return Ruling(Verdict.ASK, calls[0].tool, calls[0].subject, reason=why), calls[0]
        ruling = strictest(rulings)
        about = next(call for call, each in zip(calls, rulings, strict=True) if each is ruling)
        return ruling, about


def told(ruling: Ruling) -> dict[str, Any]:
    """Return what a person is told of a ruling that left the answer to them."""
    return {
        "verdict": str(ruling.verdict),
        "rule": ruling.rule,
        "file": ruling.file,
        "line": ruling.line,
        "reason": ruling.reason,
    }


def kept(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Return `calls` as the record has them: enough to put them to other rules later, and bounded."""
    return tuple(
        replace(
            call,
            subject=clipped(call.subject, SUBJECT_LIMIT_CHARS),
            paths=tuple(path for path in call.paths[:PATHS_KEPT] if len(path) <= PATH_LIMIT_CHARS),
            input=_plain_values(call),
        )
        for call in calls[:CALLS_KEPT]
    )


def _plain_values(call: Call) -> dict[str, Any]:
    """The arguments that a rule can compare: words and numbers, at the beginning of each."""
    found: dict[str, Any] = {}
    for key, value in call.input.items():
        if len(found) == KEYS_KEPT:
            break
        if len(key) > KEY_LIMIT_CHARS:
            continue
        if isinstance(value, str):
            found[key] = value[:VALUE_LIMIT_CHARS]
        elif value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            found[key] = value
    return found
