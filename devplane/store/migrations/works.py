"""Version 2 to 3: works, what is snoozed, and runs that ended badly found without reading the others."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


def step(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE works (id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL,"
        " state TEXT NOT NULL, open INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
        " updated_ms INTEGER NOT NULL, snapshot TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX works_open ON works (created_ms) WHERE open = 1")
    db.execute("CREATE INDEX works_by_time ON works (created_ms)")
    db.execute(
        "CREATE TABLE snoozed (subject TEXT NOT NULL, kind TEXT NOT NULL, until_ms INTEGER NOT NULL,"
        " PRIMARY KEY (subject, kind)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX runs_cut_short ON runs (updated_ms) WHERE state IN ('failed', 'interrupted')")
