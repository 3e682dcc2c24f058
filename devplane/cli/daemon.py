"""``devplane daemon``: see, end and read the daemon."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import typer

from devplane.cli import render
from devplane.cli.common import ask_daemon, example, home, json_option, print_json, verb
from devplane.core.text import visible
from devplane.errors import NoDaemon

app = verb("devplane daemon status")


@app.callback()
def daemon() -> None:
    """See, end and read the daemon."""


@app.command(epilog=example("devplane daemon status"))
def status(as_json: bool = json_option()) -> None:
    """Say whether a daemon serves this home. Exit status 6 when none does."""
    from devplane.control import requests as r

    answer = ask_daemon(r.Status(), start=False, any_version=True)
    if as_json:
        print_json(answer)
        return
    print(f"version {answer['version']}, pid {answer['pid']}, serving {answer['home']}")
    print(f"{render.count(len(answer['runs']), 'run')} in play")
    for note in answer["notes"]:
        print(f"  {visible(note)}")
    if answer["failed_writes"]:
        print(f"  {answer['failed_writes']} writes to the store failed: the record has gaps")


@app.command(epilog=example("devplane daemon stop"))
def stop(as_json: bool = json_option()) -> None:
    """End the daemon. Its runs become interrupted, its agents are ended, open asks stay open."""
    from devplane.control import requests as r

    try:
        answer: dict[str, Any] = ask_daemon(r.Shutdown(), start=False, any_version=True)
    except NoDaemon as error:
        if "no daemon is running" not in str(error):
            raise
        answer = {"interrupted": [], "pid": None}
    if as_json:
        print_json(answer)
    elif answer["pid"] is None:
        print("no daemon is running")
    else:
        print(f"stopped, {render.count(len(answer['interrupted']), 'run')} interrupted")


@app.command(epilog=example("devplane daemon logs -n 100"))
def logs(
    lines: int = typer.Option(40, "--lines", "-n", min=1, help="How many of the last lines."),
    as_json: bool = json_option(),
) -> None:
    """Print the end of the daemon's log."""
    path = home().log
    if not path.exists():
        print(f"no log yet: {path}", file=sys.stderr)
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in deque(file, maxlen=lines):
            text = line.rstrip("\n")
            print_json({"line": text}) if as_json else print(visible(text))
