"""Watching a turn that was just begun to its end: every word of it, or its answer alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from devplane.cli.common import print_json, reader
from devplane.core.text import one_line, visible

if TYPE_CHECKING:
    from devplane.cli.following import Live
    from devplane.cli.outcome import Outcome


async def follow(
    connection: Live,
    outcome: Outcome,
    answer: dict[str, Any],
    watched: dict[str, Any],
    as_json: bool,
    thinking: bool,
) -> None:
    import anyio

    from devplane.cli.following import history, until_open, until_over
    from devplane.cli.keys import answer_by_key
    from devplane.cli.stream import Printer, printer

    show = printer(answer["run"], as_json=as_json, thinking=thinking, prompts=False)
    for frame in history(outcome.run, watched, after=answer.get("pos", -1)):
        outcome.take(frame)
        show.show(frame)
    show.caught_up()
    await until_open(connection, outcome, answer, show.show)
    async with anyio.create_task_group() as tasks:
        if isinstance(show, Printer):
            tasks.start_soon(answer_by_key, show, connection.daemon)
        await until_over(connection, outcome, show.show)
        tasks.cancel_scope.cancel()
    if isinstance(show, Printer):
        _summary(outcome.run, show)
    outcome.check()


def _summary(run: str, show: Any) -> None:
    from devplane.cli import render

    with reader() as store:
        row = store.run(run)
    if row is None:
        return
    snapshot = row["snapshot"]
    show.line()
    spent = render.cost(snapshot["spending"])
    context = render.context(snapshot["context_used"], snapshot["context_size"])
    show.line(render.paint(f"cost {spent} · context {context}", "dim"))
    if row["live"]:
        print(f'devplane say {run} "…"   ·   devplane stop {run}', file=sys.stderr)


def _answer(outcome: Outcome) -> str:
    with reader() as store:
        return "".join(
            entry["text"]
            for entry in store.transcript(outcome.run)
            if entry["type"] == "fragment" and entry["role"] == "agent" and entry["turn"] == outcome.turn
        )


async def wait(connection: Live, outcome: Outcome, as_json: bool, *, is_kept: bool) -> None:
    from devplane.cli.following import until_over

    told: set[str] = set()
    heard: list[str] = []

    def tell(ask: str, title: str) -> None:
        if ask not in told:
            told.add(ask)
            print(f"{outcome.run} waits for an answer: {one_line(title)}", file=sys.stderr)
            print(f"  devplane inbox shows all of it; devplane decide {ask} …", file=sys.stderr, flush=True)

    def see(frame: dict[str, Any]) -> None:
        if frame["kind"] == "fact" and frame["name"] in ("PermissionAsked", "QuestionAsked"):
            fact = frame["fact"]
            if frame.get("waits", True):
                tell(fact["ask"], fact.get("title") or fact.get("message") or "")
        elif frame["kind"] == "text" and frame["role"] == "agent":
            heard.append(frame["text"])

    with reader() as store:
        for row in store.asks("open", outcome.run):
            tell(row["id"], row["title"])
    await until_over(connection, outcome, see)
    said = _answer(outcome) if is_kept else "".join(heard)
    if as_json:
        reason = outcome.stop_reason
        print_json({"run": outcome.run, "turn": outcome.turn, "stop_reason": reason, "text": said})
    elif said.strip():
        print(visible(said.strip()))
    outcome.check()
