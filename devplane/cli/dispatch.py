"""``devplane dispatch``: start an agent on a prompt, and wait or watch as wanted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import typer

from devplane.cli.common import complete_agent, json_option, print_json, reader, verb
from devplane.errors import UsageError

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

    text = " ".join(prompt)
    if text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise UsageError("the prompt is empty", hint='Say what to do: devplane dispatch "…", or - for stdin.')
    anyio.run(
        _dispatch,
        agent,
        os.path.abspath(cwd),
        text,
        model or None,
        mode or None,
        follow,
        thinking,
        wait,
        as_json,
    )


async def _dispatch(
    agent: str,
    cwd: str,
    text: str,
    model: str | None,
    mode: str | None,
    follow: bool,
    thinking: bool,
    wait: bool,
    as_json: bool,
) -> None:
    from devplane.cli.following import Outcome, live, until_open
    from devplane.control import requests as r

    request = r.Dispatch(agent, cwd, text, model, mode, dict(os.environ))
    async with live() as connection:
        answer = await connection.daemon.ask(request)
        run = answer["run"]
        outcome = Outcome(run, answer["turn"])
        try:
            watched = await connection.watch(run)
            frames = connection.frames()
            _catch_up(run, watched, outcome)
            if as_json and not wait:
                print_json({key: answer[key] for key in ("run", "turn", "agent", "cwd")})
            if follow:
                await _follow(connection, frames, outcome, watched, as_json, thinking)
                return
            if not outcome.is_open and outcome.ending is None:
                await until_open(frames, outcome, answer)
            if not outcome.is_open:
                outcome.check()
            if wait:
                await _wait(frames, outcome, as_json)
            elif not as_json:
                print(f"started {answer['agent_name']} in {answer['cwd']}: {run}")
                print(f"  devplane tail {run}    watch it", file=sys.stderr)
        except (KeyboardInterrupt, anyio_cancelled()):
            print(f"\n{run} goes on. Stop it: devplane stop {run}", file=sys.stderr)
            raise


def anyio_cancelled() -> type[BaseException]:
    import anyio

    return anyio.get_cancelled_exc_class()


def _catch_up(run: str, watched: dict[str, Any], outcome: Any) -> None:
    """Take in what happened between the dispatch and the watch."""
    from devplane.cli.following import history

    for frame in history(run, watched, None):
        outcome.take(frame)


async def _follow(
    connection: Any, frames: Any, outcome: Any, watched: dict[str, Any], as_json: bool, thinking: bool
) -> None:
    import anyio

    from devplane.cli.following import answer_by_key, history
    from devplane.cli.stream import Printer, printer

    show = printer(as_json=as_json, thinking=thinking, prompts=False)
    for frame in history(outcome.run, watched, None):
        show.show(frame)
    async with anyio.create_task_group() as tasks:
        if not as_json:
            tasks.start_soon(answer_by_key, outcome, show, connection.daemon)
        if not outcome.is_over:
            async for frame in frames:
                outcome.take(frame)
                show.show(frame)
                if outcome.is_over or frame["kind"] == "gone":
                    break
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
        show.line(render.paint(f'devplane say {run} "…"   ·   devplane stop {run}', "dim"))


async def _wait(frames: Any, outcome: Any, as_json: bool) -> None:
    told: set[str] = set()
    if not outcome.is_over:
        async for frame in frames:
            outcome.take(frame)
            for ask in outcome.asks:
                if ask not in told:
                    told.add(ask)
                    print(f"{outcome.run} asks: devplane inbox", file=sys.stderr, flush=True)
            if outcome.is_over or frame["kind"] == "gone":
                break
    with reader() as store:
        said = "".join(
            entry["text"]
            for entry in store.transcript(outcome.run)
            if entry["type"] == "fragment" and entry["role"] == "agent" and entry["turn"] == outcome.turn
        )
    if as_json:
        reason = outcome.stop_reason
        print_json({"run": outcome.run, "turn": outcome.turn, "stop_reason": reason, "text": said})
    elif said.strip():
        from devplane.core.text import visible

        print(visible(said.strip()))
    outcome.check()
