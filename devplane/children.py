"""Child processes of this process that somebody waits for: whoever reaps the others is to spare them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


def is_spawning() -> bool:
    return _spawning > 0


def is_foreign(pid: int) -> bool:
    """Whether nobody here waits for the child `pid`, as far as can be told at this moment."""
    # In this order: a child whose spawning is over is in `OWN`.
    return not is_spawning() and pid not in OWN
