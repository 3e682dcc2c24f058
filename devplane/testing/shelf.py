"""What a scripted agent remembers of its sessions.

A session is the fold of its entries, so a shelf only has to keep entries: in memory
here, on disk in `devplane.demo.disk`.
"""

from __future__ import annotations

import uuid
from typing import Any, Protocol

Entry = dict[str, Any]
"""``{"prompt": text}``, ``{"update": a session/update}`` or ``{"spent_usd": total, "used": tokens}``."""


class Session:
    """One conversation: what was said, and the mode and options that hold now.

    Mode and options belong to the process and start over after a load, as they do
    with real agents; only entries last.
    """

    def __init__(self, cwd: str, session_id: str | None = None) -> None:
        self.id = session_id or str(uuid.uuid4())
        self.cwd = cwd
        self.mode = ""
        self.options: dict[str, str] = {}
        self.grants: set[str] = set()
        """What a person allowed for the rest of this process, in the agent's own words."""
        self.prompts: list[str] = []
        self.updates: list[Entry] = []
        self.spent_usd = 0.0
        self.used = 0
        """Size of the context in tokens."""

    def take(self, entry: Entry) -> None:
        """Apply one entry, new or read back."""
        if "prompt" in entry:
            self.prompts.append(entry["prompt"])
            self.updates.append(
                {"sessionUpdate": "user_message_chunk", "content": text_block(entry["prompt"])}
            )
        elif "update" in entry:
            self.updates.append(entry["update"])
        elif "spent_usd" in entry:
            self.spent_usd, self.used = entry["spent_usd"], entry["used"]

    @property
    def title(self) -> str | None:
        """The first line of the first prompt, cut to 60 characters."""
        return self.prompts[0].strip().split("\n")[0][:60] if self.prompts else None


class Shelf(Protocol):
    """Where sessions are found again."""

    def add(self, session: Session) -> None: ...

    def find(self, session_id: str) -> Session | None:
        """Return the session, with everything that was kept of it."""
        ...

    def keep(self, session: Session, entry: Entry) -> None:
        """Apply `entry` to the session and remember it."""
        ...

    def listing(self) -> list[Entry]:
        """Return one ``SessionInfo`` object for each session, in no promised order."""
        ...


class MemoryShelf:
    """Sessions that last as long as the process."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def add(self, session: Session) -> None:
        self._sessions[session.id] = session

    def find(self, session_id: str) -> Session | None:
        return self._sessions.get(session_id)

    def keep(self, session: Session, entry: Entry) -> None:
        session.take(entry)

    def listing(self) -> list[Entry]:
        return [info(session) for session in self._sessions.values()]


def info(session: Session) -> Entry:
    """Return the session as ``session/list`` shows it."""
    shown: Entry = {"sessionId": session.id, "cwd": session.cwd}
    if session.title:
        shown["title"] = session.title
    return shown


def text_block(text: str) -> Entry:
    return {"type": "text", "text": text}
