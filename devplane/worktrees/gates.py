"""Runs a project's own commands over a worktree: its set-up, and the gate that checks a work.

Each command is a process group of its own without standard input; one limit holds for all of them, on
a clock that stands still while the machine sleeps (G-39). When a command has ended, whatever it left
running is ended too (G-31, G-33). What they printed is kept bounded, its end and its failures.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT

import anyio
import psutil
from anyio.abc import ByteReceiveStream, Process

from devplane import children
from devplane.core.failures import failures_in
from devplane.core.gates import (
    EARLIER_FAILED,
    TAIL_LIMIT_BYTES,
    TIME_UP,
    CommandReport,
    GateReport,
    Outcome,
    SetupReport,
    newest,
)

WINDOW_BYTES = 1 << 20
"""How much of the end of an output is searched for failures."""
TERM_GRACE_S = 2.0
DRAIN_GRACE_S = 2.0
KILL_GRACE_S = 5.0
NAMED = 3
"""How many of the programs that a command left running are named."""

Sweep = Callable[[], Awaitable[None]]
"""Ends what a command started and detached from its group."""


async def run_gate(
    commands: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    timeout_s: float,
    commit: str,
    clock_ms: Callable[[], int],
    sweep: Sweep,
) -> GateReport:
    """Run `commands` in `cwd`, in order, until one does not pass; return what became of each.

    `environ` is passed on without the ``GIT_*`` that would lead git to another tree. Cancelling ends
    what runs.
    """
    started_ms = clock_ms()
    reports = await _run_all(commands, cwd, environ, timeout_s, sweep)
    return GateReport(reports, started_ms, clock_ms(), commit, timeout_s)


async def run_setup(
    commands: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    timeout_s: float,
    clock_ms: Callable[[], int],
    sweep: Sweep,
) -> SetupReport:
    """Run the set-up `commands` as `run_gate` does."""
    started_ms = clock_ms()
    reports = await _run_all(commands, cwd, environ, timeout_s, sweep)
    return SetupReport(reports, started_ms, clock_ms(), timeout_s)


async def _run_all(
    commands: Sequence[str], cwd: Path, environ: Mapping[str, str], timeout_s: float, sweep: Sweep
) -> tuple[CommandReport, ...]:
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    env["PWD"] = str(cwd)
    ends_s = anyio.current_time() + timeout_s
    reports: list[CommandReport] = []
    for command in commands:
        if reports and not reports[-1].passed:
            why = TIME_UP if reports[-1].outcome is Outcome.TIMED_OUT else EARLIER_FAILED
            reports.append(CommandReport(command, Outcome.NEVER_STARTED, reason=why))
        elif anyio.current_time() >= ends_s:
            reports.append(CommandReport(command, Outcome.NEVER_STARTED, reason=TIME_UP))
        else:
            reports.append(await _run(command, cwd, env, ends_s, timeout_s, sweep))
    return tuple(reports)


class _Output:
    """What a command printed: counted and digested whole, its end kept."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._end = b""
        self.size_bytes = 0

    def add(self, data: bytes) -> None:
        self._digest.update(data)
        self.size_bytes += len(data)
        self._end += data
        if len(self._end) > 2 * WINDOW_BYTES:
            self._end = self._end[-WINDOW_BYTES:]

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def end(self) -> bytes:
        return self._end[-WINDOW_BYTES:]

    async def drain(self, stream: ByteReceiveStream) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for data in stream:
                self.add(data)


async def _run(
    command: str, cwd: Path, env: Mapping[str, str], ends_s: float, timeout_s: float, sweep: Sweep
) -> CommandReport:
    began_s = anyio.current_time()
    try:
        process = await children.start(
            ["sh", "-c", command], cwd=cwd, env=env, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
        )
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return CommandReport(command, Outcome.NEVER_STARTED, reason=reason)
    output, drained = _Output(), anyio.Event()
    left: list[str] = []
    assert process.stdout is not None
    stream = process.stdout

    async def drain() -> None:
        await output.drain(stream)
        drained.set()

    is_late = True
    ended_s = ends_s
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain)
            try:
                with anyio.move_on_at(ends_s):
                    await process.wait()
                    is_late = False
                ended_s = anyio.current_time()
                if is_late:
                    await _terminate(process)
            finally:
                with anyio.CancelScope(shield=True):
                    left = await anyio.to_thread.run_sync(_left_over, process.pid)
                    _signal(process.pid, signal.SIGKILL)
                    with anyio.move_on_after(KILL_GRACE_S):
                        await process.wait()
                    await sweep()
            with anyio.move_on_after(DRAIN_GRACE_S):
                await drained.wait()
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await process.aclose()
        children.OWN.discard(process.pid)
    return _report(
        command, process.returncode, output, int((ended_s - began_s) * 1000), is_late, timeout_s, left
    )


async def _terminate(process: Process) -> None:
    _signal(process.pid, signal.SIGTERM)
    with anyio.move_on_after(TERM_GRACE_S):
        await process.wait()


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _left_over(leader: int) -> list[str]:
    """Return the names of what still runs in the session or group of `leader`, which itself may be gone."""
    names = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if pid != leader and leader in (os.getsid(pid), os.getpgid(pid)):
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE:
                    names.append(process.name())
    return names


def _report(
    command: str,
    code: int | None,
    output: _Output,
    duration_ms: int,
    is_late: bool,
    timeout_s: float,
    left: list[str],
) -> CommandReport:
    outcome, reason = Outcome.EXITED, ""
    if is_late:
        outcome, reason = Outcome.TIMED_OUT, f"the limit is {timeout_s:g} s for all commands"
    elif code is None or code < 0:
        outcome, reason = (
            Outcome.UNKNOWN,
            f"killed by {_signal_name(code)}" if code else "its end was not seen",
        )
    elif left:
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        reason = f"left {', '.join(left[:NAMED])}{more} running, which was ended"
    tail, is_cut = newest(output.end, TAIL_LIMIT_BYTES)
    has_passed = outcome is Outcome.EXITED and code == 0
    return CommandReport(
        command,
        outcome,
        code if outcome is Outcome.EXITED else None,
        reason,
        duration_ms,
        output.size_bytes,
        output.sha256,
        tail,
        is_cut or output.size_bytes > len(output.end),
        () if has_passed else failures_in(output.end.decode("utf-8", "replace")),
    )


def _signal_name(code: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
