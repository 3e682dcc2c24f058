"""Answers to requests whose agent is gone: kept, and told to it when its session is taken up again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from devplane.core import events as e
from devplane.core.permission import Authority, Option
from devplane.core.run import ImpossibleFact
from devplane.daemon.asks import Ask, Chosen
from devplane.daemon.recover import restored
from devplane.daemon.service import Service
from devplane.errors import NotFound
from devplane.store.answers import AskRow as StoredAsk
from devplane.store.codec import SUBJECT_LIMIT
from devplane.store.rows import DecisionRow


def left_open(service: Service, text: str) -> Ask | None:
    """Return the ask that `text` names if it is open and its run was interrupted; else ``None``."""
    if not text.startswith("a-"):
        return None
    with service.reader() as reader, suppress(NotFound):
        row = reader.ask(reader.resolve_ask(text))
        run = reader.run(row["run"]) if row is not None else None
        if row is not None and run is not None and row["state"] == "open" and not run["live"]:
            return _ask(row)
    return None


async def answer(service: Service, ask: Ask, chosen: Chosen, by: str) -> dict[str, Any]:
    """Record an answer for when the run is resumed.

    Raises:
        Refused: It is closed by now, or its run is being taken up.
    """
    with service.reader() as reader:
        row = reader.run(ask.run)
        found = restored(reader, row) if row is not None else None
    # No await from here to the record: nobody else may take the run up in between.
    if found is None or ask.run in service.board.entries:
        raise service.closed(ask.id)
    now_ms = service.board.clock_ms()
    decision = DecisionRow(
        at_ms=now_ms,
        run=ask.run,
        tool=ask.tool or ask.kind,
        subject=(ask.subject or ask.title)[: SUBJECT_LIMIT + 1],
        verdict=chosen.outcome,
        authority=str(Authority.PERSON),
        ask=ask.id,
        option_id=chosen.option or None,
        reason="answered while its agent was gone",
    )
    if "content" in chosen.result:
        ask = replace(ask, payload={**ask.payload, "answer": chosen.result["content"]})
    service.board.restore(*found)
    try:
        await service.board.record(
            ask.run,
            e.AskAnswered(ask.id, chosen.outcome, chosen.option, Authority.PERSON, by),
            asks=(ask.row("answered", now_ms, by),),
            decisions=(decision,),
        )
    except ImpossibleFact:
        raise service.closed(ask.id) from None
    finally:
        service.board.remove(ask.run)
    return {"run": ask.run, "ask": ask.id, "outcome": chosen.outcome, "option": chosen.option, "waits": True}


def _ask(row: StoredAsk) -> Ask:
    payload = row["payload"]
    return Ask(
        id=row["id"],
        run=row["run"],
        kind=row["kind"],
        title=row["title"],
        asked_ms=row["asked_ms"],
        tool=payload.get("tool", ""),
        subject=payload.get("subject", ""),
        options=tuple(Option(each["id"], each["name"], each["kind"]) for each in payload.get("options", ())),
        payload=payload,
    )
