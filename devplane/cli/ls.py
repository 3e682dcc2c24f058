"""``devplane ls``: the runs in play, by project."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import broken, render
from devplane.cli.common import has_daemon, json_option, print_json, reader, verb
from devplane.core.text import one_line

if TYPE_CHECKING:
    from devplane.store.answers import RunRow

app = verb("devplane ls --needs-you")

FIXED_COLUMNS = 82
"""What a line takes before its last cell, which gets the rest of the terminal."""
ABOUT_COLUMNS = 58

NEEDS_YOU = ("waiting", "failed", "interrupted")
ORPHANED = "no daemon is running: what is in play here was left by one; the next closes it as interrupted"


@app.command(name="ls")
def command(
    everything: bool = typer.Option(False, "--all", "-a", help="Ended runs too."),
    needs_you: bool = typer.Option(False, "--needs-you", help="Only those that wait for you."),
    project: str = typer.Option("", "--project", "-p", help="Only runs of one checkout."),
    as_json: bool = json_option(),
) -> None:
    """List the runs in play."""
    ls(everything=everything, needs_you=needs_you, project=project, as_json=as_json)


def ls(
    *, everything: bool = False, needs_you: bool = False, project: str = "", as_json: bool = False
) -> None:
    """Print the list; also what plain ``devplane`` does."""
    root = None
    if project:
        from pathlib import Path

        from devplane.worktrees.checkout import trusted_root_of

        root = str(trusted_root_of(Path(project)))
    with reader() as store:
        rows = store.runs(all=everything, project=root)
    if not everything:
        rows = [row for row in rows if row["live"]]
    if needs_you:
        rows = [row for row in rows if row["state"] in NEEDS_YOU]
    if any(row["live"] for row in rows) and not has_daemon():
        print(ORPHANED, file=sys.stderr)
    _warn_of_broken(rows)
    if as_json:
        for row in rows:
            print_json(summary(row))
        return
    if not rows:
        print(_nothing(everything, needs_you, project))
        return
    print(_counts(rows))
    for name in dict.fromkeys(row["project"] for row in rows):
        print(render.paint(f"\n{render.home_path(name)}", "bold"))
        for row in rows:
            if row["project"] == name:
                print("  " + _line(row))


def _warn_of_broken(rows: list[RunRow]) -> None:
    """Name the files that are not in force while something runs; looking costs more than the list itself."""
    if any(row["live"] for row in rows):
        for each in broken.items(broken.folders_in_play(rows)):
            print(render.paint(f"! {broken.line(each)}", "red", sys.stderr), file=sys.stderr)


def summary(row: RunRow) -> dict[str, Any]:
    """What scripts read of one run."""
    snapshot = row["snapshot"]
    keys = ("cwd", "asks_first", "mode", "turns", "tool_calls", "spending", "context_used", "context_size")
    return {
        **{
            key: row[key]
            for key in ("id", "name", "agent", "state", "live", "project", "created_ms", "updated_ms")
        },
        **{key: snapshot.get(key) for key in keys},
        "asks": [each["id"] for each in snapshot.get("asks", ())],
        "reason": snapshot.get("reason", ""),
    }


def _nothing(everything: bool, needs_you: bool, project: str) -> str:
    """Say no more than was looked at: other agents of this machine are not seen here."""
    where = " in this checkout" if project else ""
    if needs_you:
        return f"no run{where} needs you"
    if everything:
        return f"no runs{where}"
    return f"no runs in play{where}: what devplane did not start is not seen (ended ones: devplane ls --all)"


def _counts(rows: list[RunRow]) -> str:
    states = [row["state"] for row in rows]
    words = {"waiting": "need you"}
    # What needs a person first; every state has its share, so that the parts make up the whole.
    order = dict.fromkeys(["waiting", "working", *render.GLYPHS, *states])
    parts = [f"{states.count(each)} {words.get(each, each)}" for each in order if each in states]
    noun = "run" if len(rows) == 1 else "runs"
    return f"{len(rows)} {noun} · " + " · ".join(parts)


def _line(row: RunRow) -> str:
    snapshot = row["snapshot"]
    used, size = snapshot.get("context_used"), snapshot.get("context_size")
    level = f"{used * 100 // size}%" if used is not None and size else ""
    spending = snapshot.get("spending") or []
    spent = " + ".join(render.money(each["spent"], each["currency"]) for each in spending)
    cells = [
        render.glyph(row["state"]),
        render.column(row["id"], 12, "magenta"),
        render.column(one_line(row["name"] or row["agent"], 60), 20),
        render.column(row["agent"], 8, "dim"),
        render.column(row["state"], 11),
        render.column(level, 4),
        render.column(spent, 8),
        render.column(render.age(row["updated_ms"]), 3, "dim"),
    ]
    about, colour = _about(snapshot)
    room = render.columns_left(FIXED_COLUMNS)
    return " ".join([*cells, render.cut(about, min(room, ABOUT_COLUMNS), colour)]).rstrip()


def _about(snapshot: dict[str, Any]) -> tuple[str, str | None]:
    """The one thing to know about a run now, and its colour."""
    if snapshot.get("asks_first") is False:
        mode = one_line(snapshot.get("mode_name") or snapshot.get("mode") or "?", 40)
        return f"decides without asking ({mode})", "red"
    if snapshot.get("asks"):
        return one_line(snapshot["asks"][0]["title"]), "yellow"
    if snapshot.get("reason"):
        return one_line(snapshot["reason"]), "dim"
    if snapshot.get("last_error"):
        return one_line(snapshot["last_error"]), "red"
    tools = snapshot.get("tools") or []
    if snapshot.get("turn") and tools:
        return one_line(tools[-1]["title"]), None
    return one_line(snapshot.get("title") or ""), None
