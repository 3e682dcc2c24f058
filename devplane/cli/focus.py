"""``devplane focus``: raise the editor window that has the directory of a run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from devplane import editors
from devplane.cli import render
from devplane.cli.attach import program_of, row_of
from devplane.cli.common import verb
from devplane.cli.complete import run_argument
from devplane.cli.exits import told
from devplane.core.text import one_line, visible
from devplane.errors import DevplaneError, Refused

if TYPE_CHECKING:
    from devplane.store.answers import RunRow

app = verb("devplane focus r-4k2")

LAUNCH_LIMIT_S = 10.0


@app.command()
def focus(
    run: str = run_argument(),
    print_only: bool = typer.Option(False, "--print", help="Print the command, and do nothing."),
) -> None:
    """Raise the window of the editor that has a run's directory open.

    It knows the VS Code family, Zed and the JetBrains editors, by their command-line launchers. Where
    it cannot, it says why, and prints how to go on in a terminal.
    """
    row = row_of(run)
    try:
        window = window_for(row["snapshot"]["cwd"])
        if print_only:
            print(visible(shlex.join((window.launcher, window.folder))))
            return
        launch(window)
    except Refused:
        raise
    except DevplaneError as error:
        status = told(error)
        for line in _other_ways(row):
            print(line)
        sys.exit(status)
    print(f"{window.editor.name} was told to show {render.home_path(window.folder)}")


def window_for(cwd: str) -> editors.Window:
    """Return the window to raise for a run in `cwd`.

    Raises:
        Refused: The directory is gone.
        DevplaneError: No window can be raised; the message says why.
    """
    from devplane.worktrees.checkout import root_of, worktree_of

    if not os.path.isdir(cwd):
        raise Refused(f"the directory is gone: {one_line(cwd, 500)}")
    directory = Path(os.path.realpath(cwd))
    root = root_of(directory)
    around = (directory, worktree_of(root, directory), root)
    chosen = editors.choose(
        os.environ,
        running(),
        list(dict.fromkeys(str(each) for each in around if each is not None)),
        is_desktop=editors.has_desktop(os.environ, sys.platform),
        find=shutil.which,
    )
    if isinstance(chosen, str):
        raise DevplaneError(f"no window was raised: {chosen}")
    return chosen


def running() -> Iterator[editors.Running]:
    """Yield the editors that run as this user."""
    import psutil

    above = {each.pid for each in psutil.Process().parents()}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                if process.uids().real != os.getuid():
                    continue
                words = process.cmdline()
                editor = editors.editor_of(process.exe() or process.name(), words)
                if editor is None:
                    continue
                named = map(os.path.realpath, editors.paths_in(words, process.cwd()))
                yield editors.Running(
                    editor, tuple(named), process.create_time(), is_above=process.pid in above
                )
        except (psutil.Error, OSError):
            continue


def launch(window: editors.Window, limit_s: float = LAUNCH_LIMIT_S) -> None:
    """Run the launcher, and wait for it at most `limit_s`. One that goes on may have become the editor.

    Raises:
        DevplaneError: It failed or did not end; the message repeats what it wrote.
    """
    program = os.path.basename(window.launcher)
    # A file and no pipe: what goes on must be able to write after this process has ended.
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                [window.launcher, window.folder],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            raise DevplaneError(f"cannot start {program}: {error.strerror or error}") from None
        try:
            status = child.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise DevplaneError(
                f"{program} has not ended after {limit_s:g} s (pid {child.pid}); it was left alone"
            ) from None
        if status:
            output.seek(0)
            wrote = output.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
            why = f": {one_line(wrote[-1], 300)}" if wrote else ""
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            raise DevplaneError(f"no window was raised: {program} failed ({how}){why}")


def _other_ways(row: RunRow) -> Iterator[str]:
    """Yield the commands that go on with a run without an editor."""
    try:
        yield f"devplane attach {row['id']}    here: {program_of(row).line}"
    except Refused as error:
        yield f"devplane attach is not possible: {visible(str(error))}"
    if row["snapshot"]["session"]:
        yield f"devplane resume {row['id']}    in Devplane"
