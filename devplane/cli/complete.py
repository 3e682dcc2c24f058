"""What the shell offers for a half-typed word. A store that cannot be read offers nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from devplane.cli.common import home, reader
from devplane.errors import DevplaneError

RUN_HELP = "A run: its id, the start of it, or its name."


def run_argument() -> Any:
    """The RUN of every verb that takes one."""
    return typer.Argument(..., metavar="RUN", help=RUN_HELP, autocompletion=complete_run, show_default=False)


def complete_run(incomplete: str) -> list[str]:
    """Offer the ids and names of runs, those in play first."""
    try:
        with reader() as store:
            rows = sorted(store.runs(all=True), key=lambda row: not row["live"])
    except DevplaneError:
        return []
    words = (word for row in rows for word in (row["id"], row["name"]))
    return list(dict.fromkeys(_beginning(incomplete, words)))


def complete_work(incomplete: str) -> list[str]:
    """Offer the ids and names of works, those that are not finished first."""
    try:
        with reader() as store:
            rows = sorted(store.works(all=True), key=lambda row: not row["open"])
    except DevplaneError:
        return []
    words = (word for row in rows for word in (row["id"], row["name"]))
    return list(dict.fromkeys(_beginning(incomplete, words)))


def complete_ask(incomplete: str) -> list[str]:
    """Offer the ids of open asks, then runs."""
    try:
        with reader() as store:
            asks = [row["id"] for row in store.asks()]
    except DevplaneError:
        return []
    return [*_beginning(incomplete, iter(asks)), *complete_run(incomplete)]


def complete_agent(incomplete: str) -> list[str]:
    """Offer the ids of agents."""
    from devplane.agents.catalog import Catalog

    return list(_beginning(incomplete, iter(Catalog.load(home()).agents)))


def _beginning(incomplete: str, words: Iterator[str]) -> Iterator[str]:
    return (word for word in words if word and word.startswith(incomplete))
