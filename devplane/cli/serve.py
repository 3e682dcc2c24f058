"""``devplane serve``: be the daemon, in the foreground."""

from __future__ import annotations

import os
import sys

import typer

from devplane.cli.common import home, json_option, print_json, verb

app = verb("devplane serve")


@app.command()
def serve(ready_fd: int = typer.Option(-1, "--ready-fd", hidden=True), as_json: bool = json_option()) -> None:
    """Be the daemon of this home until Ctrl-C. Commands that act start one by themselves."""
    from devplane.daemon.main import serve as be_daemon

    def ready() -> None:
        if as_json:
            print_json({"home": str(home().root), "log": str(home().log), "pid": os.getpid()})
        elif ready_fd < 0:
            print(f"serving {home().root}, its log is {home().log}; Ctrl-C ends it", file=sys.stderr)

    be_daemon(home(), ready_fd=ready_fd if ready_fd >= 0 else None, on_ready=ready)
