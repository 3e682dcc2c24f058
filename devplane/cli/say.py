"""``devplane say``: another prompt in the same conversation."""

from __future__ import annotations

import sys

import typer

from devplane.cli.common import ask_daemon, json_option, print_json, resolved, text_of, verb
from devplane.cli.complete import run_argument

app = verb('devplane say r-4k2 "use the existing middleware"')


@app.command()
def say(
    run: str = run_argument(),
    text: list[str] = typer.Argument(..., help="What to say; - reads it from standard input."),
    now: bool = typer.Option(False, "--now", help="Cancel the running turn, and go before what is queued."),
    as_json: bool = json_option(),
) -> None:
    """Say more to a run. While a turn runs it is queued, and sent when that turn ends."""
    from devplane.control import requests as r

    answer = ask_daemon(r.Say(resolved(run), text_of(text), now))
    if as_json:
        print_json(answer)
    elif answer["queued"]:
        print(f"queued for {answer['run']}: it is sent when the running turn ends")
        if answer["waits_for"]:
            print(f"  it waits for an answer: devplane decide {answer['waits_for']}", file=sys.stderr)
    else:
        print(f"sent to {answer['run']}")
