"""``devplane dispatch``: start an agent on a prompt, and wait or watch as wanted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli.common import environment, json_option, print_json, reader, text_of, verb
from devplane.cli.complete import complete_agent
from devplane.core.text import one_line, visible
from devplane.errors import UsageError

if TYPE_CHECKING:
    from devplane.cli.following import Live
    from devplane.cli.outcome import Outcome
    from devplane.control.requests import Dispatch

app = verb('devplane dispatch --agent codex --follow "review the auth change"')


@app.command()
def dispatch(
    prompt: list[str] = typer.Argument(..., help="What to do; - reads it from standard input."),
    agent: str = typer.Option(
        "claude",
        "--agent",
        "-a",
        help="An agent's id, or a command in quotes.",
        autocompletion=complete_agent,
    ),
    cwd: Path = typer.Option(Path(), "--cwd", "-C", help="The directory to work in."),
    model: str = typer.Option("", "--model", help="The agent's own name of a model."),
    mode: str = typer.Option("", "--mode", help="The agent's own name of a mode."),
    follow: bool = typer.Option(
        False, "--follow", "-f", help="Show what it says and does until the turn ends."
    ),
    thinking: bool = typer.Option(False, "--thinking", help="With --follow: its thoughts too."),
    wait: bool = typer.Option(False, "--wait", "-w", help="Wait for the turn's end and print the answer."),
    as_json: bool = json_option(),
) -> None:
    """Start an agent on a prompt, in a trusted directory.

    Returns once the prompt is sent. With --follow or --wait the exit status tells how the turn
    ended: 0 by itself, 5 if it failed or the agent refused, 1 in any other way.
    """
    import anyio

    from devplane.control import requests as r

    if thinking and not follow:
        raise UsageError("--thinking shows thoughts while following", hint="Add --follow.")
    text = text_of(prompt)
    if not text.strip():
        raise UsageError("the prompt is empty", hint='Say what to do: devplane dispatch "…", or - for stdin.')
    request = r.Dispatch(agent, os.path.abspath(cwd), text, model or None, mode or None, environment())
    anyio.run(_dispatch, request, follow, thinking, wait, as_json)


async def _dispatch(request: Dispatch, follow: bool, thinking: bool, wait: bool, as_json: bool) -> None:
    from devplane.cli.following import goes_on, history, live, until_open
    from devplane.cli.outcome import Outcome

    async with live() as connection:
        answer = await connection.daemon.ask(request)
        run = answer["run"]
        with goes_on(run):
            watched = await connection.watch(run)
            outcome = Outcome(run, answer["turn"], is_live=watched["live"])
            if as_json and (follow or not wait):
                begun = {key: answer[key] for key in ("run", "turn", "agent", "cwd")}
                print_json({"kind": "dispatched", **begun} if follow else begun)
            if follow:
                await _follow(connection, outcome, answer, watched, as_json, thinking)
                return
            for frame in history(run, watched):
                outcome.take(frame)
            await until_open(connection, outcome, answer, lambda frame: None)
            if wait:
                await _wait(connection, outcome, as_json, is_kept=watched["kept"])
            elif not outcome.is_open:
                outcome.check()
            elif not as_json:
                print(f"started {one_line(answer['agent_name'])} in {one_line(answer['cwd'], 500)}: {run}")
                print(f"  devplane tail {run}    watch it", file=sys.stderr)


async def _follow(
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
    for frame in history(outcome.run, watched):
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


async def _wait(connection: Live, outcome: Outcome, as_json: bool, *, is_kept: bool) -> None:
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
