"""What a scripted agent heard, for the test to read: JSON lines in ``$SCRIPTED_LOG``.

Each line is one of ``{"heard": message}`` (or ``{"heard": text}`` for what is no JSON),
``{"eof": true}``, ``{"signal": number}`` and ``{"note": anything}``. A line is one write, so
several processes may share the file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def record(**entry: Any) -> None:
    """Append one entry, or do nothing where no log was asked for."""
    path = os.environ.get("SCRIPTED_LOG")
    if not path:
        return
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(fd)


def heard(line: bytes) -> None:
    """Record one line as it came."""
    try:
        record(heard=json.loads(line))
    except ValueError:
        record(heard=line.decode(errors="replace"))


def read(path: Path) -> list[dict[str, Any]]:
    """Return every entry of a log, oldest first; none where there is no log yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def messages(path: Path, method: str | None = None) -> list[dict[str, Any]]:
    """Return the messages heard; with `method` only the calls of that method."""
    found = [entry["heard"] for entry in read(path) if isinstance(entry.get("heard"), dict)]
    return [m for m in found if method is None or m.get("method") == method]
