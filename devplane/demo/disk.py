"""Sessions as files, one a session and one JSON object a line, so that they outlive the process."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from devplane.testing.shelf import Entry, Session, info
from devplane.testing.wire import encode

SESSION_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
"""What an id may look like: it becomes a file's name, and it comes from outside."""


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return where `environ` says that sessions are kept."""
    if named := environ.get("DEVPLANE_DEMO_STATE"):
        return Path(os.path.abspath(named))
    base = environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(base):  # the specification has relative values ignored
        base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return Path(base) / "devplane-demo"


class DiskShelf:
    """Sessions in `folder`, which is made when the first one is.

    Each line is appended with one write, so a process that is killed leaves whole
    lines and at most one cut one, which is skipped when read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, session: Session) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._append(session, {"cwd": session.cwd})

    def find(self, session_id: str) -> Session | None:
        if not SESSION_ID.fullmatch(session_id):
            return None
        entries = self._read(self._folder / f"{session_id}.jsonl")
        first = next(entries, {})
        if "cwd" not in first:
            return None
        session = Session(first["cwd"], session_id)
        for entry in entries:
            session.take(entry)
        return session

    def keep(self, session: Session, entry: Entry) -> None:
        session.take(entry)
        self._append(session, entry)

    def listing(self) -> list[Entry]:
        listed = []
        for path in sorted(self._folder.glob("*.jsonl")):
            session = self.find(path.stem)
            if session is not None:
                changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(path.stat().st_mtime))
                listed.append({**info(session), "updatedAt": changed})
        return listed

    def _append(self, session: Session, entry: Entry) -> None:
        fd = os.open(
            self._folder / f"{session.id}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(fd, encode(entry))
        finally:
            os.close(fd)

    def _read(self, path: Path) -> Iterator[Entry]:
        try:
            with path.open("rb") as lines:
                for line in lines:
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue
                    if isinstance(entry, dict):
                        yield entry
        except FileNotFoundError:
            return
