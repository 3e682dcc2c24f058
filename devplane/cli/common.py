"""What several verbs need: the home, the store, ids, options that mean the same everywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from devplane.paths import Home

if TYPE_CHECKING:
    from devplane.store.queries import Reader

RUN_HELP = "A run: its id, the start of it, or its name."


def home() -> Home:
    return Home.find(os.environ)


def reader() -> Reader:
    """Open the home's store to read; an empty one when there is none yet."""
    from devplane.store.queries import Reader

    return Reader.open(home().database)


def complete_run(incomplete: str) -> Iterator[str]:
    """Offer the ids and names of runs."""
    with reader() as store:
        for row in store.runs(all=True):
            for word in (row["id"], row["name"]):
                if word and word.startswith(incomplete):
                    yield word


def complete_ask(incomplete: str) -> Iterator[str]:
    """Offer the ids of open asks, then those of runs."""
    with reader() as store:
        for row in store.asks():
            if row["id"].startswith(incomplete):
                yield row["id"]
    yield from complete_run(incomplete)


def complete_agent(incomplete: str) -> Iterator[str]:
    from devplane.agents.catalog import Catalog

    yield from (each for each in Catalog.load(home()).agents if each.startswith(incomplete))


def run_argument() -> Any:
    return typer.Argument(..., metavar="RUN", help=RUN_HELP, autocompletion=complete_run, show_default=False)


def json_option() -> Any:
    return typer.Option(False, "--json", help="One JSON object, or one a line.")


def print_json(value: Any) -> None:
    print(json.dumps(value), flush=True)


def verb(example: str) -> typer.Typer:
    """Return the app of one verb; `example` ends its help."""
    return typer.Typer(
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        epilog=f"Example: {example}",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def ask_daemon(request: Any, *, start: bool = True) -> dict[str, Any]:
    """Send one request to the daemon, started first if need be, and return its answer."""
    import anyio

    from devplane.control import client

    async def ask() -> dict[str, Any]:
        async with client.connect(home(), start=start) as daemon:
            return await daemon.ask(request)

    return anyio.run(ask)
