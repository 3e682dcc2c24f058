"""The ladder of schema versions: each step is a module of this package and brings a store one version up.

A step is a function of a connection that is inside a transaction; it runs plain statements
(`executescript` would commit) and leaves the version alone. `schema.sql` is the top of the
ladder: a new store starts there, and an old one must come out the same.
"""

from __future__ import annotations

from devplane.store.migrations import rule_lines, works

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import TypeAlias

    Step: TypeAlias = Callable[[sqlite3.Connection], None]

STEPS: tuple[Step, ...] = (rule_lines.step, works.step)
"""``STEPS[0]`` leads from version 1 to version 2, and so on."""

SCHEMA_VERSION = 1 + len(STEPS)
"""What `schema.sql` is, and what this Devplane reads and writes."""
