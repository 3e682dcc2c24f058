"""``devplane attach``: become the agent's own terminal program, on the session of a run."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import typer

from devplane.cli.common import ask_daemon, has_daemon, home, reader, verb
from devplane.cli.complete import run_argument
from devplane.core.text import one_line, visible
from devplane.errors import DevplaneError, NoDaemon, Refused

if TYPE_CHECKING:
    from devplane.store.answers import RunRow

app = verb("devplane attach r-4k2")


@dataclass(frozen=True, slots=True)
class TerminalProgram:
    """The command that goes on with one session."""

    agent: str
    """The agent's name."""
    command: tuple[str, ...]
    cwd: str
    warning: str | None = None
    """What a person should know who opens a session of this agent."""

    @property
    def line(self) -> str:
        """The command as it can be typed, wherever one stands."""
        return visible(f"cd {shlex.quote(self.cwd)} && {shlex.join(self.command)}")

    def find(self) -> str:
        """Return the absolute path of the program.

        Raises:
            DevplaneError: It is not on PATH.
        """
        found = shutil.which(self.command[0])
        if found is None:
            raise DevplaneError(
                f"the terminal program of {self.agent}, {one_line(self.command[0])}, is not on PATH",
                hint=f"Install it, then type: {self.line}",
            )
        # Said before the change of directory: a PATH may name folders of the one that is left.
        return os.path.abspath(found)


@app.command()
def attach(
    run: str = run_argument(),
    yes: bool = typer.Option(False, "--yes", "-y", help="End a run that is in play without asking."),
    print_only: bool = typer.Option(False, "--print", help="Print the command, and do nothing."),
) -> None:
    """Go on with a session in the agent's own terminal program, which takes the place of this command.

    A run that is in play is ended first: two programs at once would write over each other.
    """
    row = row_of(run)
    program = program_of(row)
    if print_only:
        if row["live"]:
            print(f"{row['id']} is in play: end it first, devplane stop {row['id']}", file=sys.stderr)
        print(program.line)
        return
    _refuse_agents()
    _refuse_if_open(row)
    path = program.find()
    if row["live"]:
        _end(row["id"], is_agreed=yes)
    _note(row, program)
    if program.warning:
        print(visible(program.warning), file=sys.stderr)
    print(f"when you are back: devplane resume {row['id']}", file=sys.stderr)
    _become(path, program)


def row_of(run: str) -> RunRow:
    """Return what the store has of the run that `run` means.

    Raises:
        NotFound: No run is meant, or several are.
    """
    with reader() as store:
        row = store.run(store.resolve(run))
    assert row is not None
    return row


def program_of(row: RunRow) -> TerminalProgram:
    """Return what goes on with the session of a run.

    Raises:
        Refused: Nothing can; the message says what is missing.
    """
    from devplane.agents.catalog import Catalog

    run, run_id = row["snapshot"], row["id"]
    name, cwd, session = one_line(run["agent_name"], 60), run["cwd"], run["session"]
    if not session:
        raise Refused(
            f"{run_id} recorded no session: its agent never got far enough",
            hint=f"See why: devplane show {run_id}",
        )
    if session.startswith("-") or one_line(session, len(session)) != session:
        raise Refused(
            f"the session id that {name} gave is none that can be passed on: {one_line(session, 60)}",
            hint="It would be taken for an option, or garble the command.",
        )
    # By its id alone: what is no id could be a command, and this must not run one.
    agent = Catalog.load(home()).agents.get(run["agent"])
    if agent is None or not agent.attach:
        raise Refused(
            f"no terminal program is known for {name} ({one_line(run['agent'], 60)})",
            hint=f"Its session is {session}.",
        )
    if not os.path.isdir(cwd):
        raise Refused(
            f"the directory of {run_id} is gone: {one_line(cwd, 500)}",
            hint=f"Begin a conversation that knows this one: devplane dispatch --from {run_id}.",
        )
    if not os.access(cwd, os.X_OK):
        raise Refused(f"the directory of {run_id} cannot be entered: {one_line(cwd, 500)}")
    return TerminalProgram(agent.name, agent.attach_command(session), cwd, agent.load_warning)


def _refuse_agents() -> None:
    """The daemon knows its agents whatever they say; without a daemon their word has to do."""
    from devplane.agents.tree import RUN_VARIABLE

    if RUN_VARIABLE in os.environ:
        raise Refused(
            "refused: this command was run by an agent",
            hint="Only a person may do this, from a terminal that no agent started.",
        )


def _refuse_if_open(row: RunRow) -> None:
    from devplane.agents import tree

    holder = row["snapshot"].get("holder")
    if holder and not row["live"] and tree.is_same(holder["pid"], holder["started_s"]):
        raise Refused(
            f"the session of {row['id']} is open in {one_line(holder['program'], 60)} (pid {holder['pid']})",
            hint="End that program first: two at once would write over each other.",
        )


def _end(run_id: str, *, is_agreed: bool) -> None:
    """End what Devplane has of a run in play; return when its agent is gone.

    Raises:
        Refused: The person does not want that, or cannot be asked.
    """
    from devplane.control import requests as r

    will = f"{run_id} is in play: its agent in Devplane is ended first; open requests are withdrawn"
    if not is_agreed and not sys.stdin.isatty():
        raise Refused(will, hint=f"There is no terminal to ask at: devplane attach {run_id} --yes")
    print(will, file=sys.stderr)
    if not is_agreed:
        print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Refused("not attached", hint="Nothing was changed.")
    ask_daemon(r.Stop(run_id))


def _note(row: RunRow, program: TerminalProgram) -> None:
    """Have it on record that this process holds the session, where a daemon is there to write it."""
    from devplane.control import requests as r

    if has_daemon():
        with suppress(NoDaemon):
            ask_daemon(r.HandOver(row["id"], program.agent, os.getpid()), start=False)


def _become(path: str, program: TerminalProgram) -> NoReturn:
    from devplane.agents.tree import HOME_VARIABLE, RUN_VARIABLE

    own = {name: value for name, value in os.environ.items() if name not in (RUN_VARIABLE, HOME_VARIABLE)}
    sys.stdout.flush()
    sys.stderr.flush()
    # The interpreter ignores these, and what is ignored would stay so.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(program.cwd)
        os.execve(path, program.command, {**own, "PWD": program.cwd})
    except OSError as error:
        raise DevplaneError(
            f"cannot start {one_line(program.command[0])}: {error.strerror or error}",
            hint=f"Type: {program.line}",
        ) from None
