"""The ``devplane`` command: a table of verbs, each loaded only when it is used."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any

import typer
import typer.core
import typer.main

from devplane.cli.exits import exiting

VERBS: dict[str, str] = {
    "trust": "trust",
    "dispatch": "dispatch",
    "resume": "resume",
    "say": "say",
    "cancel": "cancel",
    "stop": "stop",
    "work": "work",
    "ls": "ls",
    "show": "show",
    "tail": "tail",
    "attach": "attach",
    "focus": "focus",
    "inbox": "inbox",
    "decide": "decide",
    "search": "search",
    "explain": "explain",
    "check": "check",
    "audit": "audit",
    "agents": "agents",
    "daemon": "daemon",
    "serve": "serve",
    "doctor": "doctor",
}
"""Verb to module of this package, in the order of ``--help``."""


class Verbs(typer.core.TyperGroup):
    """Finds a verb's command in its own module: ``ls`` must not pay for ``dispatch``."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        module = VERBS.get(cmd_name)
        if module is None:
            return None
        verb = importlib.import_module(f"devplane.cli.{module}")
        command = typer.main.get_command(verb.app)
        command.name = cmd_name
        # A verb of one command takes its help from the function, and the example from the app.
        command.epilog = verb.app.info.epilog
        return command

    def invoke(self, ctx: Any) -> Any:
        # In here, since the library would give endings of its own to a closed pipe and to Ctrl-C.
        with exiting():
            return super().invoke(ctx)


app = typer.Typer(
    name="devplane",
    cls=Verbs,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='\b\nExample: devplane dispatch --agent demo --follow "show me what you can do"',
)


def _version(wanted: bool) -> None:
    if wanted:
        from devplane import __version__

        typer.echo(f"devplane {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def devplane(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", "-V", help="Print the version.", callback=_version),
) -> None:
    """Drive coding agents and keep control of them.

    Without a verb: the runs in play, as `devplane ls`.
    """
    if context.invoked_subcommand is None:
        from devplane.cli import ls

        ls.ls()


def run() -> None:
    """Run the command line and end the process with the documented exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that knows no "✓" gets a "?", and not a traceback.
            stream.reconfigure(errors="replace")
    if sys.stdout is None:  # started with it closed: there is nobody to print for
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - it lives as long as the process
    with exiting():
        status = typer.main.get_command(app).main(prog_name="devplane", standalone_mode=False)
        if isinstance(status, int) and status:
            sys.exit(status)
