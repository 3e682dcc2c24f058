"""What a session that is taken up again goes on with: late answers, and the turn that was cut off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from devplane.core import events as e
from devplane.core.permission import Call
from devplane.core.run import Run
from devplane.core.text import clipped, one_line
from devplane.daemon.answered import from_store
from devplane.store.answers import AskRow as StoredAsk
from devplane.store.answers import DecisionRow as StoredDecision
from devplane.store.facts import decode_fact
from devplane.store.queries import Reader
from devplane.store.rows import DecisionRow

PROMPT_LIMIT_CHARS = 64 * 1024
CUT_OFF = "The connection to you broke off in the middle of your last turn. It is back."
GO_ON = "Go on from where you stopped; what is done need not be done again."
NOT_HEARD = "You may not have had the request. It was:"


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is said first, in `turn`; `text` is "" when there is nothing to go on with."""

    turn: str = ""
    text: str = ""
    unanswered: tuple[StoredAsk, ...] = ()
    """Asks that are still open: nobody waits for their answers any more."""
    known_calls: frozenset[str] = frozenset()
    """Ids of the tool calls on record."""
    granted: tuple[tuple[tuple[Call, ...], DecisionRow], ...] = ()
    """What a person allowed when its agent was gone: good once, for the same call."""


def continuation(reader: Reader, run: Run, turn: str) -> Continuation:
    """Return what a resume of `run` goes on with, in `turn` where there is something to say."""
    text = said_first(reader, run)
    return Continuation(
        turn=turn if text else "",
        text=text,
        unanswered=tuple(row for row in reader.asks("open", run.id) if run.has_ask(row["id"])),
        known_calls=frozenset(reader.tool_calls(run.id)),
        granted=tuple(_granted(reader, run)),
    )


def _granted(reader: Reader, run: Run) -> Iterator[tuple[tuple[Call, ...], DecisionRow]]:
    late = set(run.late_answers)
    for entry in reader.events(run.id) if late else ():
        if entry["kind"] == "PermissionAsked" and entry["payload"]["ask"] in late:
            fact = decode_fact(entry["kind"], entry["payload"])
            assert isinstance(fact, e.PermissionAsked)
            for decision in reader.decisions(ask=fact.ask, limit=1):
                if decision["verdict"] in ("allow", "allow_always"):
                    yield fact.calls, from_store(decision)


def said_first(reader: Reader, run: Run) -> str:
    """Return the prompt that a resume of `run` begins with, or "": answers first, then the turn."""
    parts = [_answered(reader, ask) for ask in run.late_answers]
    if run.interrupted_turn:
        parts += [CUT_OFF, *_turn(reader, run)]
    elif any(parts):
        parts.append(GO_ON)
    return "\n\n".join(each for each in parts if each)


def _turn(reader: Reader, run: Run) -> list[str]:
    prompt, is_heard, has_begun = "", False, False
    for entry in reader.transcript(run.id):
        if entry["type"] == "fragment":
            is_its = entry["turn"] == run.interrupted_turn
            prompt += entry["text"] if is_its and entry["role"] == "user" else ""
            is_heard = is_heard or (is_its and entry["role"] != "user")
        elif entry["kind"] == "TurnStarted":
            has_begun = entry["payload"]["turn"] == run.interrupted_turn
        elif entry["kind"] in ("ToolChanged", "PermissionAsked", "PlanChanged"):
            is_heard = is_heard or has_begun
    if is_heard or not prompt:
        return [GO_ON]
    return [NOT_HEARD, clipped(prompt, PROMPT_LIMIT_CHARS), GO_ON]


def _answered(reader: Reader, ask: str) -> str:
    row = reader.ask(ask)
    decision = next(iter(reader.decisions(ask=ask, limit=1)), None)
    if row is None or decision is None:
        return ""
    if row["kind"] == "question":
        return _reply(row, decision)
    what = one_line(row["payload"].get("subject") or row["title"], 500)
    return f"You had asked for permission: {what}. The answer is: {_verdict(row, decision)}."


def _verdict(row: StoredAsk, decision: StoredDecision) -> str:
    match decision["verdict"]:
        case "allow":
            return "yes, this once"
        case "allow_always":
            return "yes"
        case "chosen":
            options = row["payload"].get("options") or []
            names = [each["name"] for each in options if each["id"] == decision["option_id"]]
            return one_line(names[0] if names else decision["option_id"] or "no", 200)
        case _:
            return "no"


def _reply(row: StoredAsk, decision: StoredDecision) -> str:
    question = one_line(row["payload"].get("message") or row["title"], 500)
    if decision["verdict"] != "accept":
        return f"You had asked: {question} There is no answer: it was declined."
    content: dict[str, Any] = row["payload"].get("answer") or {}
    fields = "; ".join(f"{one_line(str(name), 100)}: {_value(value)}" for name, value in content.items())
    return f"You had asked: {question} The answer is: {fields}."


def _value(value: object) -> str:
    parts = value if isinstance(value, list) else [value]
    return ", ".join(one_line(str(each), 2_000) for each in parts)
