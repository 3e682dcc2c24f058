"""``devplane resume``: take up the session of a run that was interrupted, or that has ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import turns
from devplane.cli.common import environment, json_option, print_json, reader, resolved, verb
from devplane.cli.complete import complete_run
from devplane.core.text import one_line

if TYPE_CHECKING:
    from devplane.control.requests import Resume

app = verb("devplane resume r-7qk --follow")


@app.command()
def resume(
    run: str = typer.Argument(..., metavar="RUN", help="A run that has ended.", autocompletion=complete_run),
    mode: str = typer.Option("", "--mode", help="The agent's own name of the mode to be in."),
    as_before: bool = typer.Option(
        False, "--as-before", help="Also set what lets the agent do more without asking, as it was."
    ),
    follow: bool = typer.Option(False, "--follow", "-f", help="Show what it says and does."),
    thinking: bool = typer.Option(False, "--thinking", help="With --follow: its thoughts too."),
    as_json: bool = json_option(),
) -> None:
    """Take up the agent's own session again, where it was.

    The agent goes on with the turn that was cut off, and hears the answers that you gave meanwhile.
    It is that session or none: where it cannot be had, the reason is said and nothing else is started.
    """
    import anyio

    from devplane.control import requests as r

    run_id = resolved(run)
    if not mode and not as_before:
        as_before = _wants_former_mode(run_id)
    request = r.Resume(run_id, mode or None, as_before, environment())
    anyio.run(_resume, request, follow, thinking, as_json)


def _wants_former_mode(run: str) -> bool:
    """Show a mode in which the agent did not ask, and return whether the person wants it again (G-15)."""
    with reader() as store:
        row = store.run(run)
    snapshot: dict[str, Any] = row["snapshot"] if row is not None and not row["live"] else {}
    mode = snapshot.get("mode")
    if not mode or snapshot.get("asks_first") is True:
        return False
    named = one_line(snapshot.get("mode_name") or mode, 60)
    asks = "decides without asking" if snapshot.get("asks_first") is False else "may decide without asking"
    print(f"It was in mode {named}, in which it {asks}.", file=sys.stderr)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        print("It is not put there again: devplane resume --as-before would.", file=sys.stderr)
        return False
    return typer.confirm("Put it in that mode again?", default=False, err=True)


async def _resume(request: Resume, follow: bool, thinking: bool, as_json: bool) -> None:
    from devplane.cli.following import goes_on, history, live, until_open
    from devplane.cli.outcome import Outcome

    async with live() as connection:
        answer = await connection.daemon.ask(request)
        run = answer["run"]
        with goes_on(run):
            watched = await connection.watch(run)
            outcome = Outcome(run, answer["turn"], is_live=watched["live"])
            if as_json:
                begun = {key: answer[key] for key in ("run", "turn", "agent", "cwd")}
                print_json({"kind": "resumed", **begun} if follow else begun)
            if follow and answer["turn"]:
                await turns.follow(connection, outcome, answer, watched, as_json, thinking)
                return
            for frame in history(run, watched, after=answer["pos"]):
                outcome.take(frame)
            await until_open(connection, outcome, answer, lambda frame: None)
            if not outcome.is_open:
                outcome.check()
            elif not as_json:
                what = "goes on" if answer["turn"] else "is back, and waits for a word from you"
                print(f"{one_line(answer['agent_name'])} {what} in {one_line(answer['cwd'], 500)}: {run}")
                print(f"  devplane tail {run}    watch it", file=sys.stderr)
