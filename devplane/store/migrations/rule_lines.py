"""Version 1 to 2: decisions say on which line their rule stands, and requests are found by kind."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


def step(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE decisions ADD COLUMN line INTEGER")
    db.execute("CREATE INDEX decisions_by_ask ON decisions (ask)")
    db.execute("CREATE INDEX events_asked ON events (seq) WHERE kind = 'PermissionAsked'")
