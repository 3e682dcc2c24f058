"""``devplane doctor``: is everything as it should be?"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import broken, render
from devplane.cli.common import ask_daemon, home, json_option, print_json, reader, verb
from devplane.core.text import visible
from devplane.errors import DevplaneError, NoDaemon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devplane.agents.catalog import Catalog
    from devplane.store.answers import SeenRow

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
        raise Unsound(f"{render.count(len(problems), 'problem')} found", hint="Each is named above.")


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
        live = [row for row in store.runs(all=True) if row["live"]]
        seen = store.agents_seen()
    try:
        status = ask_daemon(r.Status(), start=False)
        facts["daemon"] = f"version {status['version']}, pid {status['pid']}, {len(status['runs'])} runs"
        if status["failed_writes"]:
            problems.append(f"{status['failed_writes']} writes to the store failed: the record has gaps")
    except NoDaemon:
        facts["daemon"] = "not running"
        if live:
            named = ", ".join(row["id"] for row in live)
            facts["left over"] = f"{named}: closed at the daemon's next start"
        problems += [
            f"{row['id']}: its agent still runs, pid {row['snapshot']['pid']}, without a daemon; "
            "the next start of one ends it"
            for row in live
            if _still_runs(row["snapshot"])
        ]
    except DevplaneError as error:
        problems.append(str(error))
    problems += map(broken.line, broken.items(broken.folders_in_play(live)))
    catalog = Catalog.load(home())
    facts["agents"] = ", ".join(_agents(catalog, seen))
    problems += catalog.problems
    return {"facts": {key: str(value) for key, value in facts.items()}, "problems": problems}


def _still_runs(snapshot: dict[str, Any]) -> bool:
    """Whether a run's agent is alive: that very process, and not another that has its pid now."""
    import psutil

    pid, started_s = snapshot["pid"], snapshot["pid_started_s"]
    if pid is None or started_s is None:
        return False
    try:
        process = psutil.Process(pid)
        is_same = abs(process.create_time() - started_s) < 1.0
        return is_same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _agents(catalog: Catalog, seen: list[SeenRow]) -> Iterator[str]:
    """Yield each agent with the version that it reported last, and the pin that it did not match."""
    reported = {(row["agent"], row["command"]): row["version"] for row in seen}
    for agent in catalog.agents.values():
        version = reported.get((agent.id, shlex.join(agent.command)), "not probed")
        wrong = (
            f", not its pin {agent.expected_version}"
            if version not in (None, "not probed", agent.expected_version) and agent.expected_version
            else ""
        )
        yield f"{agent.id} ({version or 'version not reported'}{wrong})"


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
