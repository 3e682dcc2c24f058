"""A place for a store, and another process that will not let go of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "devplane.db"


@pytest.fixture
def lock(path: Path) -> Iterator[Callable[[], Callable[[], None]]]:
    """Return a function that has another process take the write lock, and returns one that gives it back."""
    held: list[subprocess.Popen[bytes]] = []

    def release() -> None:
        for holder in held:
            with holder:
                pass  # leaving closes its stdin, which ends it, and waits
        held.clear()

    def take() -> Callable[[], None]:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        held.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        return release

    yield take
    release()
