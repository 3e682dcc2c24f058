"""``devplane dispatch``: start an agent on a prompt, and wait or watch as wanted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from devplane.cli import turns
from devplane.cli.common import environment, json_option, print_json, resolved, text_of, verb
from devplane.cli.complete import complete_agent, complete_run
from devplane.core.text import one_line
from devplane.errors import UsageError

if TYPE_CHECKING:
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
    start_from: str = typer.Option(
        "",
        "--from",
        metavar="RUN",
        help="Tell the agent first what was said in this run.",
        autocompletion=complete_run,
    ),
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
    if start_from:
        from devplane.cli.earlier import told

        text = told(resolved(start_from), text)
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
                await turns.follow(connection, outcome, answer, watched, as_json, thinking)
                return
            for frame in history(run, watched):
                outcome.take(frame)
            await until_open(connection, outcome, answer, lambda frame: None)
            if wait:
                await turns.wait(connection, outcome, as_json, is_kept=watched["kept"])
            elif not outcome.is_open:
                outcome.check()
            elif not as_json:
                print(f"started {one_line(answer['agent_name'])} in {one_line(answer['cwd'], 500)}: {run}")
                print(f"  devplane tail {run}    watch it", file=sys.stderr)
