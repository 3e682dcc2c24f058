"""One agent process: spawned in a session of its own, drained, and ended with everything it started.

Knows nothing of the protocol. What the agent writes to stderr goes to a bounded
log file, its last lines are kept for failure messages.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import IO

import anyio
import psutil
from anyio.abc import ByteStream, Process
from anyio.streams.stapled import StapledByteStream

from devplane import children
from devplane.agents import tree
from devplane.errors import AgentFailed

EOF_GRACE_S = 2.5
"""How long an agent may take to end after its stdin was closed."""
TERM_GRACE_S = 3.0
"""How long its processes may take to end after SIGTERM."""
KILL_GRACE_S = 3.0
"""How long the system may take to remove killed processes."""
DRAIN_GRACE_S = 0.5
"""How long its last words may be on their way once it is gone."""
LOG_LIMIT_BYTES = 4 << 20
"""Size at which an agent's log file stops growing; the newest lines are still kept in memory."""
TAIL_LINES = 40
TAIL_LINE_CHARS = 500


class CannotStart(AgentFailed):
    """The agent's command could not be run at all (case G-09)."""


class AgentLog:
    """What one agent wrote beside the protocol: a bounded file, and the last lines in memory."""

    def __init__(self, path: Path | None) -> None:
        self._file: IO[bytes] | None = None
        self._written = 0
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.lines = 0
        self.last_line_at_s = 0.0
        if path is not None:
            with suppress(OSError):
                self._file = path.open("ab", buffering=0)

    def write(self, source: str, line: bytes) -> None:
        """Keep one line that came from `source` (``stderr`` or ``stdout``)."""
        self.lines += 1
        text = line[: TAIL_LINE_CHARS * 4].decode("utf-8", "replace").rstrip("\r\n")
        if text.strip():
            self._tail.append(text[:TAIL_LINE_CHARS])
        if self._file is not None and self._written < LOG_LIMIT_BYTES:
            entry = source.encode() + b": " + line[:65536].rstrip(b"\r\n") + b"\n"
            with suppress(OSError):
                self._written += self._file.write(entry)

    def last(self, lines: int = 5) -> str:
        """Return the last `lines` non-blank lines, newest last, or "" when there are none."""
        return "\n".join(list(self._tail)[-lines:])

    def first_and_last(self) -> list[str]:
        return list(self._tail)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class AgentProcess:
    """A running agent. Made by `start`; ended, with its whole tree, when that context ends."""

    def __init__(self, process: Process, stream: ByteStream, log: AgentLog, mark: tuple[str, str]) -> None:
        self._process = process
        self._mark = mark
        self.stream = stream
        self.log = log
        self.pid = process.pid
        self.started_s = tree.started_s(process.pid) or 0.0
        self.exited = anyio.Event()
        self.drained = anyio.Event()
        self._had_to_be_ended = False

    async def watch(self) -> None:
        """Wait for the process's own end, whoever still holds its pipes; sets `exited`."""
        await self._process.wait()
        self.exited.set()

    async def drain_stderr(self) -> None:
        """Read stderr to its end, whatever it holds: a full pipe would stop the agent (G-05)."""
        stderr = self._process.stderr
        if stderr is None:
            return
        rest = b""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for data in stderr:
                self.log.last_line_at_s = anyio.current_time()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.log.write("stderr", line)
                if len(rest) > 65536:
                    self.log.write("stderr", rest)
                    rest = b""
        if rest:
            self.log.write("stderr", rest)
        self.drained.set()

    def describe_end(self) -> str:
        """Say how the process ended, with its last words: for failure messages."""
        code = self._process.returncode
        if code is None or self._had_to_be_ended:
            how = "it closed its output but did not exit"
        elif code < 0:
            with suppress(ValueError):
                how = f"killed by {signal.Signals(-code).name}"
                return self._with_last_words(how)
            how = f"killed by signal {-code}"
        else:
            how = f"exit status {code}"
        return self._with_last_words(how)

    def _with_last_words(self, how: str) -> str:
        words = self.log.last(3).replace("\n", " / ")
        return f"{how}; its last words: {words}" if words else how

    async def end(self, eof_grace_s: float = EOF_GRACE_S) -> None:
        """End the agent and everything below it: EOF, then SIGTERM, then SIGKILL, each bounded.

        The tree is collected before the first signal, since several agents start
        shells in sessions of their own that no group signal reaches (G-32).
        """
        self._had_to_be_ended = not self.exited.is_set()
        # Every process of the machine is looked at: not in the event loop.
        members = await anyio.to_thread.run_sync(self._members)
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await self.stream.send_eof()
        with anyio.move_on_after(eof_grace_s):
            await self.exited.wait()
        members |= await anyio.to_thread.run_sync(self._members)
        await tree.end(members, term_grace_s=TERM_GRACE_S, kill_grace_s=KILL_GRACE_S)
        with anyio.move_on_after(KILL_GRACE_S):
            await self.exited.wait()

    def _members(self) -> set[psutil.Process]:
        home, run = self._mark
        found = tree.collect(self.pid, self.started_s, home)
        return found | tree.marked(home, run) if home else found


@asynccontextmanager
async def start(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: AgentLog,
    eof_grace_s: float = EOF_GRACE_S,
) -> AsyncIterator[AgentProcess]:
    """Run `command` in `cwd` and yield it; whatever is left of it is ended on the way out.

    Raises:
        CannotStart: Not there, not executable, a folder, or a script whose interpreter is missing.
    """
    try:
        process = await children.start(command, cwd=cwd, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    except (OSError, ValueError) as error:
        log.close()
        raise _cannot_start(command, cwd, error) from error
    assert process.stdin is not None
    assert process.stdout is not None
    mark = (env.get(tree.HOME_VARIABLE, ""), env.get(tree.RUN_VARIABLE, ""))
    agent = AgentProcess(process, StapledByteStream(process.stdin, process.stdout), log, mark)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.watch)
        tasks.start_soon(agent.drain_stderr)
        try:
            yield agent
        finally:
            with anyio.CancelScope(shield=True):
                await agent.end(0 if agent.exited.is_set() else eof_grace_s)
                with anyio.move_on_after(DRAIN_GRACE_S):
                    await agent.drained.wait()
                tasks.cancel_scope.cancel()
                # Without this the event loop keeps the pipes of a process whose children still hold them.
                with anyio.move_on_after(1):
                    await process.aclose()
                children.OWN.discard(process.pid)
                log.close()


def _cannot_start(command: Sequence[str], cwd: Path, error: OSError | ValueError) -> CannotStart:
    program = command[0] if command else ""
    shown = shlex.join(command)
    if isinstance(error, OSError) and error.errno == errno.ENOENT and not cwd.is_dir():
        return CannotStart(f"cannot start the agent: its directory {cwd} is gone")
    if isinstance(error, OSError) and error.errno == errno.ENOENT:
        if os.path.exists(program):
            return CannotStart(
                f"cannot start the agent: the interpreter that {program} names is missing",
                hint="Look at the first line of that script.",
            )
        return CannotStart(
            f"cannot start the agent: {program} was not found (command: {shown})",
            hint="Install it, or correct its command: devplane agents.",
        )
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return CannotStart(
        f"cannot start the agent: {program}: {reason} (command: {shown})",
        hint="The command must be an executable file.",
    )
