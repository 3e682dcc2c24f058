"""``devplane search``: find what was said, done and asked."""

from __future__ import annotations

import typer

from devplane.cli import render
from devplane.cli.common import json_option, print_json, reader, verb
from devplane.core.text import one_line

app = verb('devplane search "rate limit"')


KINDS = {"ToolChanged": "tool", "PermissionAsked": "ask", "QuestionAsked": "ask", "permission": "ask"}
"""What a person calls the kinds of places; the rest are who said it."""


@app.command()
def search(
    text: list[str] = typer.Argument(
        ..., help="Words, all of which must be there; quote those that stand side by side."
    ),
    limit: int = typer.Option(20, "--limit", "-n", min=1, help="How many places at most."),
    as_json: bool = json_option(),
) -> None:
    """Find words in everything that was said, in tool titles and in requests, newest first."""
    with reader() as store:
        hits = store.search(" ".join(f'"{each}"' if " " in each else each for each in text), limit)
    for hit in hits:
        if as_json:
            print_json(dict(hit))
        else:
            run = render.paint(render.column(hit["run"], 12), "magenta")
            when = render.column(render.age(hit["at_ms"]), 4, "dim")
            kind = render.column(KINDS.get(hit["kind"], hit["kind"]), 10, "dim")
            print(f"{run} {when} {kind} {one_line(hit['snippet'], 200)}")
    if not hits and not as_json:
        print("nothing found")
