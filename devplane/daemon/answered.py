"""What is said to somebody whose answer comes second: who was first, when, and with what."""

from __future__ import annotations

from devplane.core.permission import Authority
from devplane.core.text import one_line
from devplane.errors import Refused
from devplane.store.answers import DecisionRow as StoredDecision
from devplane.store.rows import DecisionRow

OPEN_HINT = "What is open: devplane inbox."


class AnsweredAlready(Refused):
    """The first answer wins, whoever gave it."""

    hint = OPEN_HINT


def already(ask: str, decision: DecisionRow, now_ms: int) -> AnsweredAlready:
    """Say how `ask` was closed by the decision that holds."""
    when = ago(now_ms - decision.at_ms)
    if decision.verdict == "withdrawn":
        return AnsweredAlready(f"{ask} was withdrawn already, {when}: {decision.reason or 'nobody waits'}")
    return AnsweredAlready(f"{ask} was answered already by {_who(decision)}, {when}: {_what(decision)}")


def from_store(row: StoredDecision) -> DecisionRow:
    """Return a stored decision as the row that was written."""
    fields = {name: value for name, value in row.items() if name != "seq"}
    return DecisionRow(**fields)  # type: ignore[arg-type] # the same fields, as a table and as a class


def _who(decision: DecisionRow) -> str:
    where = f"{decision.file}:{decision.line}" if decision.line else decision.file or ""
    match decision.authority:
        case Authority.RULE:
            return f"the rule {one_line(decision.rule or '?', 200)}" + (f" ({where})" if where else "")
        case Authority.BUILTIN:
            return "Devplane's own protection"
        case Authority.TIMER:
            return "the deadline"
        case Authority.STOPPED:
            return "the end of its turn or run"
        case Authority.NOBODY:
            return "nobody"
        case _:
            return f"a {decision.authority}"


def _what(decision: DecisionRow) -> str:
    if decision.option_id is None or decision.verdict in ("allow", "deny"):
        return decision.verdict
    return f"{decision.verdict} (option {one_line(decision.option_id, 60)!r})"


def ago(ms: int) -> str:
    """Say how long ago something was, in the largest unit that it fills."""
    seconds = max(ms, 0) // 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"
