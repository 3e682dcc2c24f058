"""The program at a real terminal: what it prints is read until it says something, and keys are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
from types import TracebackType
from typing import Self

from tests.cli.program import Program

LIMIT_S = 30.0


class Terminal:
    """A command with a pseudo-terminal as its own. Leaving ends it."""

    def __init__(self, program: Program, *words: str) -> None:
        self.seen = ""
        """Everything that was printed so far."""
        self._passed = 0
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "devplane", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=program.project,
            env={**program.env, "TERM": "xterm", "NO_COLOR": "1"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def until(self, words: str) -> None:
        """Read on until `words` are printed after what was waited for before."""
        while (found := self.seen.find(words, self._passed)) < 0:
            if not self._read():
                raise AssertionError(f"it ended without saying {words!r}: {self.seen}")
        self._passed = found + len(words)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def ended(self) -> int:
        """Read to the end; return the exit status."""
        while self._read():
            pass
        return self._process.wait(LIMIT_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], LIMIT_S)
        if not ready:
            raise AssertionError(f"it says nothing more: {self.seen}")
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False  # the other end was closed
        self.seen += data.decode("utf-8", "replace")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)
