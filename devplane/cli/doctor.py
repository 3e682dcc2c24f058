"""``devplane doctor``: is everything as it should be?"""

from __future__ import annotations

from typing import Any

import typer

from devplane.cli import render
from devplane.cli.common import ask_daemon, home, json_option, print_json, reader, verb
from devplane.core.text import visible
from devplane.errors import DevplaneError, NoDaemon

app = verb("devplane doctor --verify")


class Unsound(DevplaneError):
    """Something is not as it should be; the report says what."""


@app.command()
def doctor(
    verify: bool = typer.Option(False, "--verify", help="Fold every run's events again and compare."),
    as_json: bool = json_option(),
) -> None:
    """Check the home, the store, the daemon and the agents' tables. Exit status 1 when something is wrong."""
    report = _report(verify)
    problems: list[str] = report["problems"]
    if as_json:
        print_json(report)
    else:
        for name, value in report["facts"].items():
            print(f"  {name:<10} {visible(str(value))}")
        for problem in problems:
            print(render.paint(f"! {visible(problem)}", "red"))
        if not problems:
            print("all is well")
    if problems:
        raise Unsound(f"{len(problems)} problems")


def _report(verify: bool) -> dict[str, Any]:
    from devplane.agents.catalog import Catalog
    from devplane.control import requests as r

    facts: dict[str, Any] = {"home": home().root}
    problems: list[str] = []
    with reader() as store:
        health = store.check()
        if not health["exists"]:
            facts["store"] = "not there yet"
        else:
            counts = health.get("counts", {})
            shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            facts["store"] = f"{health.get('size_bytes', 0) / 1e6:.1f} MB, {shown or 'empty'}"
        problems += health["problems"]
        if verify and health["exists"]:
            checked, wrong = _verify(store)
            facts["verified"] = f"{checked} runs folded again"
            problems += wrong
        live = [row["id"] for row in store.runs(all=True) if row["live"]]
    try:
        status = ask_daemon(r.Status(), start=False)
        facts["daemon"] = f"version {status['version']}, pid {status['pid']}, {len(status['runs'])} runs"
        if status["failed_writes"]:
            problems.append(f"{status['failed_writes']} writes to the store failed: the record has gaps")
    except NoDaemon:
        facts["daemon"] = "not running"
        if live:
            facts["left over"] = f"{', '.join(live)}: closed at the daemon's next start"
    except DevplaneError as error:
        problems.append(str(error))
    catalog = Catalog.load(home())
    facts["agents"] = ", ".join(catalog.agents)
    problems += catalog.problems
    return {"facts": {key: str(value) for key, value in facts.items()}, "problems": problems}


def _verify(store: Any) -> tuple[int, list[str]]:
    """Fold each run's events up to its snapshot and compare: a difference is a bug or a damaged file."""
    from devplane.core import events as e
    from devplane.core.run import ImpossibleFact, fold
    from devplane.store.facts import decode_fact, plain

    wrong = []
    rows = store.runs(all=True)
    for row in rows:
        snapshot = row["snapshot"]
        try:
            events = [
                e.Event(row["id"], each["pos"], each["at_ms"], decode_fact(each["kind"], each["payload"]))
                for each in store.events(row["id"])
                if each["pos"] <= snapshot["pos"]
            ]
            folded = fold(events)
        except (ImpossibleFact, ValueError, KeyError) as error:
            wrong.append(f"{row['id']}: its events cannot be folded: {error}")
            continue
        if plain(folded) != snapshot:
            wrong.append(f"{row['id']}: its snapshot is not what its events say")
    return len(rows), wrong
