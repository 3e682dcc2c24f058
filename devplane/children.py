"""Child processes of this process that somebody waits for: whoever reaps the others is to spare them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

OWN: set[int] = set()
"""Pids of programs that this process started and still waits for."""

_lock = threading.Lock()
_spawning = 0


@contextmanager
def spawning() -> Iterator[None]:
    """Have nothing reaped meanwhile: a child may end before its pid is in `OWN`. For any thread."""
    global _spawning
    with _lock:
        _spawning += 1
    try:
        yield
    finally:
        with _lock:
            _spawning -= 1


async def start(
    command: Sequence[str], *, cwd: str | Path, env: Mapping[str, str], stdin: int, stdout: int, stderr: int
) -> Process:
    """Run `command` in a session of its own, and count it as one of `OWN` until the caller takes it out.

    `stdin`, `stdout` and `stderr` are what `subprocess.Popen` takes.

    Raises:
        OSError, ValueError: It cannot be run.
    """
    # Cancelled half-way, the program would run on with nobody who knows of it. It starts, and the
    # caller's next wait is cancelled instead.
    with spawning(), anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            list(command),
            cwd=cwd,
            env=dict(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        OWN.add(process.pid)
    return process


def is_spawning() -> bool:
    return _spawning > 0


def is_foreign(pid: int) -> bool:
    """Whether nobody here waits for the child `pid`, as far as can be told at this moment."""
    # In this order: a child whose spawning is over is in `OWN`.
    return not is_spawning() and pid not in OWN
