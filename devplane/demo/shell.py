"""Run the commands that were allowed, and leave none of them behind."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from subprocess import Popen

    from devplane.testing.turn import Turn

OUTPUT_LIMIT_BYTES = 256 * 1024
"""How much of a command's output is shown; the end is what matters, so the start is cut."""

LOCK_WAIT_S = 1.0


class Outcome(NamedTuple):
    """How a command ended; `status` is negative for a signal."""

    status: int
    output: str


class Shell:
    """Every command that runs now, each the leader of a process group."""

    def __init__(self) -> None:
        self._running: set[Popen[bytes]] = set()
        self._starting = threading.Lock()
        self._is_stopped = False

    def run(self, turn: Turn, command: str) -> Outcome:
        """Run `command` in the session's folder until it ends or the turn is cancelled.

        What it leaves in the background ends with it. Output goes to a file and not to a
        pipe, so that a child which keeps it open holds nobody up.
        """
        import subprocess  # these two cost a start without a command 15 ms
        import tempfile

        with tempfile.TemporaryFile() as output:
            with self._starting:
                if self._is_stopped:
                    return Outcome(-signal.SIGKILL, "")
                child = subprocess.Popen(
                    ["/bin/sh", "-c", command],
                    cwd=turn.session.cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    process_group=0,
                )
                self._running.add(child)
            turn.on_cancel(lambda: self._kill(child))
            try:
                status = child.wait()
            finally:
                self._kill(child)
                self._running.discard(child)
            return Outcome(status, _tail(output.fileno()))

    def stop_all(self) -> None:
        """Kill whatever runs, and let nothing start any more. Safe from any thread."""
        self._is_stopped = True
        # A command may be between its start and our knowing of it.
        if self._starting.acquire(timeout=LOCK_WAIT_S):
            self._starting.release()
        for child in tuple(self._running):
            self._kill(child)

    def _kill(self, child: Popen[bytes]) -> None:
        if child in self._running:
            # No such group, or (on macOS) only zombies in it: all of it is gone already.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)


def _tail(fd: int) -> str:
    size = os.fstat(fd).st_size
    data = os.pread(fd, OUTPUT_LIMIT_BYTES, max(0, size - OUTPUT_LIMIT_BYTES))
    text = data.decode("utf-8", "replace")
    return f"[{size - len(data)} bytes cut]\n{text}" if size > len(data) else text


def harmless_command(cwd: str) -> str:
    """Return a command that only looks: at the repository when `cwd` is in one, else at the folder."""
    folder = cwd
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return "ls"
        folder = parent
    return "git status --short"
