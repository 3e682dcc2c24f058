"""Owns the writing connection: opens, migrates, and writes groups of batches. Blocks; knows no event loop."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from devplane.store.codec import ADD_EVENT, Encoded
from devplane.store.failure import StoreFailed, explain, is_busy, too_new
from devplane.store.migrations import SCHEMA_VERSION, STEPS

if TYPE_CHECKING:
    from devplane.store.migrations import Step

CACHE_KIB = 8192
WAL_LEFT_BYTES = 16 << 20
"""A write-ahead log that grew beyond this is cut back once it has been checkpointed."""


class Writer:
    """One open store. Every method is called from the thread that made it.

    Raises:
        StoreFailed: The file cannot be opened or brought to this version.
    """

    def __init__(self, path: Path, *, busy_timeout_ms: int, steps: Sequence[Step] = STEPS) -> None:
        self.path = path
        try:
            _make_private(path)
            self._connection = sqlite3.connect(path, timeout=busy_timeout_ms / 1000, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise explain(path, error, doing="open") from error
        try:
            self._prepare(steps)
        except (OSError, sqlite3.Error) as error:
            self._connection.close()
            raise explain(path, error, doing="open") from error
        except StoreFailed:
            self._connection.close()
            raise

    @property
    def connection(self) -> sqlite3.Connection:
        return self._connection

    def _prepare(self, steps: Sequence[Step]) -> None:
        db = self._connection
        # Before the first change of anything: what is not ours stays as it is.
        version_of(db, self.path, 1 + len(steps))
        db.execute("PRAGMA journal_mode = WAL")
        # With a write-ahead log, NORMAL hands each commit to the system before it returns: it outlives
        # this process, by whatever signal that ends. FULL adds an fsync to every commit and so covers
        # power loss too, at 0.17 ms against 0.01 ms for an awaited commit on an SSD, and tens of times
        # that on a busy disk, while a streaming agent causes five commits a second. After power loss
        # NORMAL may miss the last commits but is never inconsistent, and the agents are gone as well.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        db.execute(f"PRAGMA journal_size_limit = {WAL_LEFT_BYTES}")
        db.execute("BEGIN IMMEDIATE")
        try:
            migrate(db, self.path, steps)
            # Their writer was killed. The triggers index them, so that a search finds them from now on.
            db.execute("UPDATE fragments SET open = 0 WHERE open = 1")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def write(self, group: Sequence[Encoded]) -> list[int | StoreFailed | None]:
        """Write `group` and return for each batch the seq of its last event, or why it is not stored.

        All in one transaction. When that fails, the group is halved until what cannot be
        written stands alone; the order stays. A lock that outlasts the busy timeout fails
        all of them at once, since waiting again for each would take for ever.
        """
        if not group:
            return []
        try:
            return list(self._transaction(group))
        except (sqlite3.Error, ArithmeticError, ValueError) as error:
            # The last two: a number or a text that SQLite cannot hold.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            failure = explain(self.path, error, doing="write")
            if is_busy(error):
                return [failure] * len(group)
            if len(group) == 1:
                return [failure]
        middle = len(group) // 2
        return [*self.write(group[:middle]), *self.write(group[middle:])]

    def _transaction(self, group: Sequence[Encoded]) -> list[int | None]:
        execute = self._connection.execute
        last_events: list[int | None] = []
        execute("BEGIN IMMEDIATE")
        for batch in group:
            last: int | None = None
            for statement, values in batch.statements:
                cursor = execute(statement, values)
                if statement is ADD_EVENT:
                    last = cursor.lastrowid
            last_events.append(last)
        execute("COMMIT")
        return last_events

    def close(self) -> None:
        """Close the file. Its write-ahead log is folded in, unless somebody is still reading."""
        # Upkeep alone: what was committed is safe, and a full disk or a lock may well be why we close.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 1000")
            self._connection.execute("PRAGMA optimize")
        self._connection.close()


def migrate(db: sqlite3.Connection, path: Path, steps: Sequence[Step] = STEPS) -> None:
    """Bring a store, inside the caller's transaction, to the version after the last of `steps`.

    Before an older one is touched, a copy of it is put beside the file.

    Raises:
        StoreFailed: The store is newer than this Devplane, or not a store at all.
    """
    latest = 1 + len(steps)
    version = version_of(db, path, latest)
    if version == 0:
        _create(db)
        version = SCHEMA_VERSION
    elif version < latest:
        _copy(path, path.with_name(f"{path.name}.v{version}"))
    for step in steps[version - 1 :]:
        step(db)
    db.execute(f"PRAGMA user_version = {latest}")


def version_of(db: sqlite3.Connection, path: Path, latest: int) -> int:
    """Return the schema's version, 0 for a file that is still empty.

    Raises:
        StoreFailed: It is above `latest`, or the file is no store.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > latest:
        raise too_new(path, version, latest)
    if version == 0 and db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        reason = "it is a database of something else"
        raise StoreFailed(f"cannot open {path}: {reason}", reason=reason, hint="Move the file away.")
    return version


def _create(db: sqlite3.Connection) -> None:
    # Not executescript, which would commit the transaction that makes this all or nothing.
    script = resources.files("devplane.store").joinpath("schema.sql").read_text("utf-8")
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""


def _copy(path: Path, copy: Path) -> None:
    """Copy the store as it was last committed: a second connection sees that, and its log, in one piece."""
    unfinished = copy.with_name(copy.name + ".part")
    unfinished.unlink(missing_ok=True)
    _make_private(unfinished)
    source, target = sqlite3.connect(path), sqlite3.connect(unfinished)
    try:
        source.backup(target)
    finally:
        target.close()
        source.close()
    os.replace(unfinished, copy)


def _make_private(path: Path) -> None:
    """Make `path` readable by this user alone; SQLite gives its log the same mode."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
