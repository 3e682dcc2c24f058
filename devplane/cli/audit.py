"""``devplane audit``: who answered what, and on whose authority."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from devplane.cli import render
from devplane.cli.common import json_option, print_json, reader, verb
from devplane.cli.complete import complete_ask
from devplane.core.permission import Authority
from devplane.core.text import one_line
from devplane.errors import NotFound, UsageError

if TYPE_CHECKING:
    from devplane.store.answers import DecisionRow
    from devplane.store.queries import Reader

app = verb("devplane audit r-4k2 --authority rule")

AUTHORITIES = ", ".join(Authority)
SUBJECT_CHARS = 300


def _complete_authority(incomplete: str) -> list[str]:
    return [each for each in Authority if each.startswith(incomplete)]


@app.command()
def audit(
    about: str = typer.Argument(
        "", metavar="ID", help="A run or an ask.", autocompletion=complete_ask, show_default=False
    ),
    limit: int = typer.Option(50, "--limit", "-n", min=1, help="How many at most, the latest."),
    authority: str = typer.Option(
        "", "--authority", help=f"Only on one authority: {AUTHORITIES}.", autocompletion=_complete_authority
    ),
    as_json: bool = json_option(),
) -> None:
    """List decisions, the latest last: what was asked, what was answered, and who or which rule said so."""
    if authority and authority not in list(Authority):
        raise UsageError(f"no authority {authority!r}", hint=f"One of: {AUTHORITIES}.")
    with reader() as store:
        run, ask = _meant(store, about) if about else (None, None)
        rows = store.decisions(run, limit, ask=ask, authority=authority or None)
        runs = dict.fromkeys(row["run"] for row in rows)
        names = {each: _name(store, each) for each in runs}
    rows.reverse()
    if as_json:
        for row in rows:
            print_json({**row, "name": names[row["run"]]})
        return
    if not rows:
        print("no decisions")
    now_ms = time.time_ns() // 1_000_000
    for row in rows:
        for line in _lines(row, names[row["run"]], now_ms):
            print(line)


def _meant(store: Reader, text: str) -> tuple[str | None, str | None]:
    """Return the run or the ask that `text` names.

    Raises:
        NotFound: None is meant, or several are.
    """
    if text.startswith("a-"):
        try:
            return None, store.resolve_ask(text)
        except NotFound as no_ask:
            # An ask that a rule answered at once never waited: only its decision tells of it.
            if store.decisions(limit=1, ask=text):
                return None, text
            with suppress(NotFound):
                return store.resolve(text), None
            raise no_ask from None
    return store.resolve(text), None


def _name(store: Reader, run: str) -> str:
    row = store.run(run)
    return (row["name"] or row["agent"]) if row is not None else ""


def _lines(row: DecisionRow, name: str, now_ms: int) -> list[str]:
    when = render.column(render.age(row["at_ms"], now_ms), 4, "dim")
    verdict = render.column(one_line(row["verdict"], 20), 12, render.OUTCOMES.get(row["verdict"], "yellow"))
    what = f"{one_line(row['tool'], 60)} {one_line(row['subject'], SUBJECT_CHARS)}".strip()
    whose = f"{render.paint(row['run'], 'magenta')} {one_line(name, 40)}"
    asked = f" · {row['ask']}" if row["ask"] else ""
    return [f"{when} {verdict} {what}", f"     {whose}{asked} · {render.authority(row)}"]
