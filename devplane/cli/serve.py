"""``devplane serve``: be the daemon, in the foreground."""

from __future__ import annotations

import sys

import typer

from devplane.cli.common import home, verb

app = verb("devplane serve")


@app.command()
def serve(ready_fd: int = typer.Option(-1, "--ready-fd", hidden=True)) -> None:
    """Be the daemon of this home until Ctrl-C. Commands that act start one by themselves."""
    from devplane.daemon.main import serve as be_daemon

    if ready_fd < 0:
        print(f"serving {home().root}, its log is {home().log}; Ctrl-C ends it", file=sys.stderr)
    be_daemon(home(), ready_fd=ready_fd if ready_fd >= 0 else None)
