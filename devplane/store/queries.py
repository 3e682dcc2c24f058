"""Answers questions about a store, read-only: with a daemon at work or without one, or with no store at all.

Every command that only reads pays for what this imports, so that is sqlite3, json and
next to nothing else. Times are epoch milliseconds; payloads and snapshots come decoded.
"""

from __future__ import annotations

import json
import os
import sqlite3

from devplane.errors import NotFound
from devplane.store.failure import StoreFailed, explain, too_new
from devplane.store.migrations import SCHEMA_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Any, Self

    from devplane.store.answers import (
        AskedCalls,
        AskRow,
        DecisionRow,
        EventEntry,
        EventRow,
        FragmentEntry,
        Health,
        Hit,
        QueuedPrompt,
        RunRow,
        SeenRow,
        TrustRow,
        WorkRow,
    )

BUSY_TIMEOUT_S = 5.0
PAGE_ROWS = 256
"""Rows fetched at a time: between pages no read is open that would keep the log from being cut."""

CANDIDATES_NAMED = 8

_MOST = (1 << 63) - 1
"""Above every `seq` and every number of rows."""

_BEGINS = "(id >= :text AND id < :end OR id >= '{0}' || :text AND id < '{0}' || :end)"
_LAST = "\U0010ffff"
"""Sorts after every character that an id goes on with."""


_RUN = "id", "project", "agent", "name", "state", "live", "created_ms", "updated_ms", "seq", "snapshot"
_WORK = "id", "project", "name", "state", "open", "created_ms", "updated_ms", "snapshot"
_EVENT = "seq", "run", "pos", "at_ms", "kind", "payload"
_ASK = "id", "run", "asked_ms", "kind", "state", "title", "payload", "closed_ms", "closed_by"
_DECISION = (
    *("seq", "at_ms", "run", "ask", "tool", "subject", "verdict", "authority"),
    *("rule", "file", "line", "option_id", "reason"),
)
_TRUST = "root", "at_ms", "by"
_SEEN = "agent", "command", "version", "seen_ms", "payload"
_QUEUED = "run", "turn", "at_ms", "text"
_TRUTHS = frozenset({"live", "open"})
_JSON = frozenset({"payload", "snapshot"})

COUNTED = (
    "events",
    "runs",
    "fragments",
    "asks",
    "decisions",
    "trust",
    "agents_seen",
    "prompts_queued",
    "works",
)

_TRANSCRIPT = """
SELECT pos, at_ms, kind AS what, payload AS body, NULL, NULL, NULL, NULL, 1 FROM events
WHERE run = :run AND pos > :after
UNION ALL
SELECT pos, at_ms, role, text, turn, message_id, open, continues, 0 FROM fragments
WHERE run = :run AND pos > :after
ORDER BY pos {} LIMIT :rows
"""

_CALLS = """
SELECT e.seq, e.run, e.at_ms, e.payload, d.verdict, d.authority FROM events AS e
LEFT JOIN decisions AS d ON d.seq =
    (SELECT max(seq) FROM decisions WHERE ask = json_extract(e.payload, '$.ask'))
WHERE e.kind = 'PermissionAsked' AND e.seq < :before
ORDER BY e.seq DESC LIMIT :rows
"""


class Reader:
    """A store, read-only. Close it, or use it as a context manager.

    Any thread may use it, one at a time. Methods answer as of the moment they are called,
    and raise `StoreFailed` when the file is damaged or stays locked.
    """

    def __init__(self, path: Path, db: sqlite3.Connection | None) -> None:
        self.path = path
        self._db = db

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open `path`. Where there is no store yet, every answer is empty.

        Raises:
            StoreFailed: It cannot be read, or is of another version.
        """
        if not os.path.exists(path):
            return cls(path, None)
        try:
            db = sqlite3.connect(
                f"file:{_uri_path(path)}?mode=ro",
                uri=True,
                timeout=BUSY_TIMEOUT_S,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise explain(path, error, doing="open") from error
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            db.close()
            raise explain(path, error, doing="read") from error
        if version == SCHEMA_VERSION:
            return cls(path, db)
        db.close()
        if version == 0:
            # Its writer is just making it.
            return cls(path, None)
        if version > SCHEMA_VERSION:
            raise too_new(path, version, SCHEMA_VERSION)
        reason = f"its schema is version {version}, older than {SCHEMA_VERSION}"
        raise StoreFailed(
            f"cannot read {path}: {reason}",
            reason=reason,
            hint="Start the daemon once (`devplane serve`); it brings the file up to date.",
        )

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Runs

    def runs(self, *, all: bool = False, project: str | None = None) -> list[RunRow]:  # noqa: A002
        """Return the runs in play, or all of them, newest first."""
        where = [*([] if all else ["live = 1"]), *([] if project is None else ["project = :project"])]
        return self._rows("runs", _RUN, where, "created_ms DESC, id", project=project)

    def run(self, run: str) -> RunRow | None:
        return next(iter(self._rows("runs", _RUN, ["id = :run"], "id", run=run)), None)

    def resolve(self, text: str) -> str:
        """Return the id of the run that `text` means: its id, the beginning of it, or its name.

        Runs in play come first: an ended one is meant only where none in play could be.

        Raises:
            NotFound: No run is meant, or several are; then the hint lists them.
        """
        found = self._select(
            f"SELECT id, name, live FROM runs WHERE name = :text OR {_BEGINS.format('r-')}"
            " ORDER BY live DESC, created_ms DESC",
            {"text": text, "end": text + _LAST},
        )
        return _the_one(text, "run", found, "`devplane ls --all` lists every run.")

    def events(self, run: str, after_pos: int = -1) -> Iterator[EventRow]:
        """Yield a run's events in the order of its log."""
        where = ["run = :run", "pos > :after"]
        while rows := self._rows("events", _EVENT, where, "pos", PAGE_ROWS, run=run, after=after_pos):
            yield from rows
            after_pos = rows[-1]["pos"]

    def transcript(
        self, run: str, after_pos: int = -1, last: int | None = None
    ) -> Iterator[EventEntry | FragmentEntry]:
        """Yield what was said and what happened in a run, merged, after `after_pos`.

        `last`: only that many entries, the newest.
        """
        if last is not None:
            newest = self._select(_TRANSCRIPT.format("DESC"), {"run": run, "after": after_pos, "rows": last})
            yield from map(_entry, reversed(newest))
            return
        sql = _TRANSCRIPT.format("ASC")
        while rows := self._select(sql, {"run": run, "after": after_pos, "rows": PAGE_ROWS}):
            yield from map(_entry, rows)
            after_pos = rows[-1][0]

    def tool_calls(self, run: str) -> set[str]:
        """Return the ids of every tool call on record in a run."""
        sql = (
            "SELECT DISTINCT json_extract(payload, '$.call') FROM events"
            " WHERE run = :run AND kind = 'ToolChanged'"
        )
        return {row[0] for row in self._select(sql, {"run": run})}

    def queued(self, run: str) -> list[QueuedPrompt]:
        """Return the prompts that wait in a run, in the order they are sent."""
        return self._rows("prompts_queued", _QUEUED, ["run = :run"], "rowid", run=run)

    def cut_short(self, after_ms: int) -> list[RunRow]:
        """Return the runs that failed or were interrupted after `after_ms`, the oldest first."""
        where = ["state IN ('failed', 'interrupted')", "updated_ms > :after"]
        return self._rows("runs", _RUN, where, "updated_ms, id", after=after_ms)

    # Works

    def works(self, *, all: bool = False, project: str | None = None) -> list[WorkRow]:  # noqa: A002
        """Return the works that are not finished, or all of them, newest first."""
        where = [*([] if all else ["open = 1"]), *([] if project is None else ["project = :project"])]
        return self._rows("works", _WORK, where, "created_ms DESC, id", project=project)

    def work(self, work: str) -> WorkRow | None:
        return next(iter(self._rows("works", _WORK, ["id = :work"], "id", work=work)), None)

    def resolve_work(self, text: str) -> str:
        """Return the id of the work that `text` means: its id, the beginning of it, its name, or its run.

        Raises:
            NotFound: No work is meant, or several are; then the hint lists them.
        """
        if text.startswith("r-") and (row := self.run(self.resolve(text))) and row["snapshot"].get("work"):
            return str(row["snapshot"]["work"])
        found = self._select(
            f"SELECT id, name, open FROM works WHERE name = :text OR {_BEGINS.format('w-')}"
            " ORDER BY open DESC, created_ms DESC",
            {"text": text, "end": text + _LAST},
        )
        return _the_one(text, "work", found, "`devplane work list --all` lists every work.")

    def snoozed(self, now_ms: int) -> set[tuple[str, str]]:
        """Return the (subject, kind) of what is not to be shown now."""
        found = self._select("SELECT subject, kind FROM snoozed WHERE until_ms > :now", {"now": now_ms})
        return {(subject, kind) for subject, kind in found}

    # Permission

    def asks(self, state: str | None = "open", run: str | None = None) -> list[AskRow]:
        """Return asks in one state (``None``: in any), the oldest first."""
        where = [*(["state = :state"] if state else []), *(["run = :run"] if run else [])]
        return self._rows("asks", _ASK, where, "asked_ms, rowid", state=state, run=run)

    def ask(self, ask: str) -> AskRow | None:
        return next(iter(self._rows("asks", _ASK, ["id = :ask"], "id", ask=ask)), None)

    def resolve_ask(self, text: str) -> str:
        """Return the id of the ask that `text` is, or begins; open ones come first.

        Raises:
            NotFound: No ask is meant, or several are; then the hint lists them.
        """
        found = self._select(
            f"SELECT id, title, state = 'open' AS is_open FROM asks WHERE {_BEGINS.format('a-')}"
            " ORDER BY is_open DESC, asked_ms DESC",
            {"text": text, "end": text + _LAST},
        )
        return _the_one(text, "ask", found, "`devplane inbox` lists what waits for you.")

    def decisions(
        self,
        run: str | None = None,
        limit: int | None = None,
        *,
        ask: str | None = None,
        authority: str | None = None,
    ) -> list[DecisionRow]:
        """Return decisions, newest first: all, or those of one run, on one ask, on one authority."""
        wanted = {"run": run, "ask": ask, "authority": authority}
        where = [f"{name} = :{name}" for name, value in wanted.items() if value is not None]
        return self._rows("decisions", _DECISION, where, "seq DESC", limit, **wanted)

    def calls(self, limit: int | None = None) -> Iterator[AskedCalls]:
        """Yield every permission request on record, newest first, with what it was judged as."""
        left, before = _MOST if limit is None else limit, _MOST
        while rows := self._select(_CALLS, {"before": before, "rows": min(left, PAGE_ROWS)}):
            yield from map(_asked_calls, rows)
            left, before = left - len(rows), rows[-1][0]

    def trusted(self) -> list[TrustRow]:
        """Return the roots that a person trusts, by path."""
        return self._rows("trust", _TRUST, [], "root")

    # Everything else

    def agents_seen(self) -> list[SeenRow]:
        """Return what agents said of themselves, the last seen first."""
        return self._rows("agents_seen", _SEEN, [], "seen_ms DESC")

    def search(self, text: str, limit: int = 20) -> list[Hit]:
        """Return where every word of `text` stands, newest first. ``"two words"`` stand side by side.

        Whatever a person types is words: other operators mean nothing.
        """
        phrases = _phrases(text.replace("\0", " ").encode("utf-8", "replace").decode())
        if not phrases:
            return []
        found = self._select(
            "SELECT run, kind, ref, at_ms, snippet(search, 0, '', '', '…', 24) FROM search"
            " WHERE search MATCH :phrase ORDER BY rowid DESC LIMIT :limit",
            {"phrase": " ".join(phrases), "limit": limit},
        )
        hits: list[Hit] = [
            {"run": run, "kind": kind, "ref": ref, "at_ms": at_ms, "snippet": snippet}
            for run, kind, ref, at_ms, snippet in found
        ]
        # The index is in the order of closing, and long messages of several runs overlap.
        hits.sort(key=lambda hit: hit["at_ms"], reverse=True)
        return hits

    def check(self) -> Health:
        """Read the whole file and say whether it is sound. Damage is an answer here, not an error."""
        if self._db is None:
            return {"path": str(self.path), "exists": os.path.exists(self.path), "problems": []}
        health: Health = {"path": str(self.path), "exists": True, "problems": []}
        try:
            health["schema_version"] = self._select("PRAGMA user_version")[0][0]
            said = [row[0] for row in self._select("PRAGMA quick_check")]
            health["problems"] = [] if said == ["ok"] else said
            health["size_bytes"] = os.path.getsize(self.path)
            log = f"{self.path}-wal"
            health["log_bytes"] = os.path.getsize(log) if os.path.exists(log) else 0
            health["open_fragments"] = self._select("SELECT count(*) FROM fragments WHERE open = 1")[0][0]
            health["counts"] = {t: self._select(f"SELECT count(*) FROM {t}")[0][0] for t in COUNTED}
        except (StoreFailed, OSError) as error:
            health["problems"].append(str(error))
        return health

    def _rows(
        self,
        table: str,
        columns: tuple[str, ...],
        where: list[str],
        order: str,
        limit: int | None = None,
        **values: str | int | None,
    ) -> list[Any]:
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        names = ", ".join(f'"{column}"' for column in columns)
        sql = f"SELECT {names} FROM {table}{condition} ORDER BY {order} LIMIT :limit"
        found = self._select(sql, {**values, "limit": -1 if limit is None else limit})
        return [
            {name: _decoded(name, value) for name, value in zip(columns, row, strict=True)} for row in found
        ]

    def _select(self, sql: str, values: Mapping[str, str | int | None] | None = None) -> list[Any]:
        if self._db is None:
            return []
        try:
            return self._db.execute(sql, values or {}).fetchall()
        except sqlite3.Error as error:
            raise explain(self.path, error, doing="read") from error


def _asked_calls(row: tuple[Any, ...]) -> AskedCalls:
    _, run, at_ms, payload, verdict, authority = row
    asked = json.loads(payload)
    return {
        "run": run,
        "at_ms": at_ms,
        "ask": asked["ask"],
        "calls": asked.get("calls", []),
        "verdict": verdict,
        "authority": authority,
    }


def _phrases(text: str) -> list[str]:
    """Return the words and quoted phrases of `text` as the index wants them: each in quotes."""
    found = []
    for number, part in enumerate(text.split('"')):
        found += [part] if number % 2 else part.split()
    return [f'"{each}"' for each in found if any(char.isalnum() for char in each)]


def _decoded(column: str, value: Any) -> Any:
    if column in _JSON:
        return json.loads(value)
    return bool(value) if column in _TRUTHS else value


def _entry(row: tuple[Any, ...]) -> EventEntry | FragmentEntry:
    pos, at_ms, what, body, turn, message_id, is_open, continues, is_event = row
    if is_event:
        return {"type": "event", "pos": pos, "at_ms": at_ms, "kind": what, "payload": json.loads(body)}
    return {
        "type": "fragment",
        "pos": pos,
        "at_ms": at_ms,
        "role": what,
        "turn": turn,
        "message_id": message_id,
        "open": bool(is_open),
        "continues": bool(continues),
        "text": body,
    }


def _the_one(text: str, what: str, found: list[tuple[str, str, int]], where_to_look: str) -> str:
    """Return the id among `found` (id, label, whether it is in play) that `text` means."""
    if not text or not found:
        raise NotFound(f"no {what} {text!r}", hint=where_to_look)
    if any(row[0] == text for row in found):
        return text
    meant = [row for row in found if row[2]] or found
    if len(meant) == 1:
        return meant[0][0]
    named = ", ".join(f"{each} ({label})" if label else each for each, label, _ in meant[:CANDIDATES_NAMED])
    more = len(meant) - CANDIDATES_NAMED
    rest = f" and {more} more" if more > 0 else ""
    raise NotFound(f"{text!r} could be {len(meant)} {what}s", hint=f"One of: {named}{rest}.")


def _uri_path(path: Path) -> str:
    # What quote() of urllib does, without 1.5 ms of imports. Bytes, since a path need not be UTF-8.
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(path))
