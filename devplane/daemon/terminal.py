"""One command that Devplane runs for an agent: its process, and the end of what it prints."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE, STDOUT

import anyio
import psutil
from anyio.abc import Process

from devplane import children
from devplane.agents import tree
from devplane.daemon.windows import OutputWindow
from devplane.errors import DevplaneError

READ_BYTES = 1 << 16
DRAIN_S = 0.5
"""How long what a command wrote may take to come out of the pipe once it has ended (G-31)."""
PACE_S = 0.002
"""Pause after each read of output that is thrown away: a command that prints for ever costs little."""
TERM_GRACE_S = 1.0
KILL_GRACE_S = 3.0
CLOSE_S = 1.0


class CannotRun(DevplaneError):
    """The command could not be started at all."""


class Terminal:
    """A running or ended command. Made by `start`; `tend` must run for it to live."""

    def __init__(self, process: Process, window: OutputWindow, home: str) -> None:
        self._process = process
        self._window = window
        self._home = home
        self._started_s = tree.started_s(process.pid) or time.time()
        self._scope = anyio.CancelScope()
        self.exited = anyio.Event()
        """Set once it has ended and what it wrote until then is read, whoever else holds its pipe."""

    @property
    def status(self) -> tuple[int | None, str | None] | None:
        """Its exit code or the name of the signal that ended it; ``None`` while it runs."""
        code = self._process.returncode
        if code is None or not self.exited.is_set():
            return None
        if code >= 0:
            return code, None
        with suppress(ValueError):
            return None, signal.Signals(-code).name
        return None, f"signal {-code}"

    def output(self) -> tuple[str, bool]:
        """The newest of what it printed, and whether that is not all."""
        text = self._window.text(is_final=self.exited.is_set())
        return text, self._window.is_truncated

    async def tend(self) -> None:
        """Read what it prints and wait for its end, until `release`."""
        try:
            with self._scope:
                drained = anyio.Event()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._read, drained)
                    await self._process.wait()
                    with anyio.move_on_after(DRAIN_S):
                        await drained.wait()
                    self.exited.set()
        finally:
            # Its children may hold the pipe; the event loop would keep it for them.
            with anyio.move_on_after(CLOSE_S, shield=True):
                await self._process.aclose()
            children.OWN.discard(self._process.pid)
            self.exited.set()

    async def _read(self, drained: anyio.Event) -> None:
        assert self._process.stdout is not None
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                self._window.add(await self._process.stdout.receive(READ_BYTES))
                if self._window.is_truncated:
                    await anyio.sleep(PACE_S)
        drained.set()

    async def kill(self) -> None:
        """End the command and everything that it started. Its output can still be read."""
        await self._end_tree()
        with anyio.move_on_after(KILL_GRACE_S):
            await self.exited.wait()

    async def release(self) -> None:
        """End it, and let go of it."""
        await self._end_tree()
        self._scope.cancel()

    async def _end_tree(self) -> None:
        members: set[psutil.Process] = await anyio.to_thread.run_sync(
            tree.collect, self._process.pid, self._started_s, self._home
        )
        await tree.end(members, term_grace_s=TERM_GRACE_S, kill_grace_s=KILL_GRACE_S)


async def start(command: Sequence[str], *, cwd: str, env: Mapping[str, str], limit_bytes: int) -> Terminal:
    """Run `command`, in a session of its own, with nothing to read and both outputs joined.

    Raises:
        CannotRun: Not there, or not to be executed.
    """
    try:
        process = await children.start(command, cwd=cwd, env=env, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CannotRun(f"cannot run {command[0]}: {reason}") from error
    return Terminal(process, OutputWindow(limit_bytes), env.get(tree.HOME_VARIABLE, ""))
