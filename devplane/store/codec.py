"""Turns a `Batch` into statements whose parameters are ready for SQLite. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, TypeAlias

from devplane.store.rows import Batch

SUBJECT_LIMIT = 2000
"""Characters of a decision's subject that are kept."""

ROW_OVERHEAD_BYTES = 64

Statement: TypeAlias = tuple[str, tuple[str | int | None, ...]]

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

ADD_EVENT = "INSERT INTO events (run, pos, at_ms, kind, payload) VALUES (?, ?, ?, ?, ?)"
_INDEX_EVENT = "INSERT INTO search (text, run, kind, ref, at_ms) VALUES (?, ?, ?, ?, ?)"
_PUT_RUN = """
INSERT INTO runs (id, project, agent, name, state, live, created_ms, updated_ms, snapshot, seq)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
        coalesce((SELECT seq FROM events WHERE run = ?1 ORDER BY pos DESC LIMIT 1), 0))
ON CONFLICT (id) DO UPDATE SET project = excluded.project, agent = excluded.agent, name = excluded.name,
    state = excluded.state, live = excluded.live, created_ms = excluded.created_ms,
    updated_ms = excluded.updated_ms, snapshot = excluded.snapshot, seq = excluded.seq
"""
_PUT_FRAGMENT = """
INSERT INTO fragments (run, pos, at_ms, role, turn, message_id, open, continues, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run, pos) DO UPDATE SET role = excluded.role, turn = excluded.turn,
    message_id = excluded.message_id, open = excluded.open, continues = excluded.continues,
    text = excluded.text
"""
_PUT_ASK = """
INSERT INTO asks (id, run, asked_ms, kind, state, title, payload, closed_ms, closed_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET run = excluded.run, asked_ms = excluded.asked_ms, kind = excluded.kind,
    state = excluded.state, title = excluded.title, payload = excluded.payload,
    closed_ms = excluded.closed_ms, closed_by = excluded.closed_by
"""
_ADD_DECISION = """
INSERT INTO decisions
    (at_ms, run, ask, tool, subject, verdict, authority, rule, file, line, option_id, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_TRUST = 'INSERT INTO trust (root, at_ms, "by") VALUES (?, ?, ?) ON CONFLICT (root) DO NOTHING'
_DROP_TRUST = "DELETE FROM trust WHERE root = ?"
_PUT_SEEN = """
INSERT INTO agents_seen (agent, command, version, seen_ms, payload) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (agent, command) DO UPDATE SET version = excluded.version, seen_ms = excluded.seen_ms,
    payload = excluded.payload
"""
_PUT_QUEUED = """
INSERT INTO prompts_queued (run, turn, at_ms, text) VALUES (?, ?, ?, ?)
ON CONFLICT (run, turn) DO UPDATE SET at_ms = excluded.at_ms, text = excluded.text
"""
_PUT_WORK = """
INSERT INTO works (id, project, name, state, open, created_ms, updated_ms, snapshot)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, state = excluded.state, open = excluded.open,
    updated_ms = excluded.updated_ms, snapshot = excluded.snapshot
"""
_PUT_SNOOZE = """
INSERT INTO snoozed (subject, kind, until_ms) VALUES (?, ?, ?)
ON CONFLICT (subject, kind) DO UPDATE SET until_ms = excluded.until_ms
"""
_DROP_QUEUED = "DELETE FROM prompts_queued WHERE run = ? AND turn = ?"


class Encoded(NamedTuple):
    """One batch as statements, in order. `size_bytes` is about what it adds to memory and disk."""

    statements: list[Statement]
    size_bytes: int


def storable(text: str) -> str:
    """Return `text` as SQLite can keep it.

    The two halves of a surrogate pair, which an agent may send in different chunks,
    become their character; half a pair alone becomes U+FFFD.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def to_json(value: dict[str, Any]) -> str:
    return storable(_to_json(value))


def encode(batch: Batch) -> Encoded:
    """Write `batch` out; what its dicts become later does not matter.

    Raises:
        TypeError: A payload holds what JSON cannot say.
    """
    statements = [*_about_runs(batch), *_about_permission(batch), *_about_the_rest(batch)]
    size = 0
    for _, values in statements:
        size += ROW_OVERHEAD_BYTES
        for value in values:
            if isinstance(value, str):
                size += len(value)
    return Encoded(statements, size)


def _about_runs(batch: Batch) -> list[Statement]:
    out: list[Statement] = []
    for event in batch.events:
        run, kind = storable(event.run), event.kind
        out.append((ADD_EVENT, (run, event.pos, event.at_ms, kind, to_json(event.payload))))
        if event.searched:
            out.append((_INDEX_EVENT, (storable(event.searched), run, kind, event.pos, event.at_ms)))
    for each in batch.fragments:
        spoken = (storable(each.run), each.pos, each.at_ms, each.role, _optional(each.turn))
        shape = (_optional(each.message_id), int(each.open), int(each.continues))
        out.append((_PUT_FRAGMENT, (*spoken, *shape, storable(each.text))))
    if batch.snapshot is not None:
        row = batch.snapshot
        names = (storable(row.id), storable(row.project), storable(row.agent), storable(row.name))
        life = (row.state, int(row.live), row.created_ms, row.updated_ms, to_json(row.snapshot))
        # Comes after the events, since it looks up the last of them.
        out.append((_PUT_RUN, (*names, *life)))
    return out


def _about_permission(batch: Batch) -> list[Statement]:
    out: list[Statement] = []
    for ask in batch.asks:
        asked = (storable(ask.id), storable(ask.run), ask.asked_ms, ask.kind, ask.state, storable(ask.title))
        out.append((_PUT_ASK, (*asked, to_json(ask.payload), ask.closed_ms, _optional(ask.closed_by))))
    for each in batch.decisions:
        subject = storable(each.subject)
        if len(subject) > SUBJECT_LIMIT:
            subject = subject[: SUBJECT_LIMIT - 1] + "…"
        what = (each.at_ms, storable(each.run), _optional(each.ask), storable(each.tool), subject)
        why = (each.verdict, storable(each.authority), _optional(each.rule), _optional(each.file), each.line)
        out.append((_ADD_DECISION, (*what, *why, _optional(each.option_id), _optional(each.reason))))
    for root in batch.distrusted:
        out.append((_DROP_TRUST, (storable(root),)))
    for given in batch.trusted:
        out.append((_ADD_TRUST, (storable(given.root), given.at_ms, storable(given.by))))
    return out


def _about_the_rest(batch: Batch) -> list[Statement]:
    out: list[Statement] = []
    for seen in batch.seen:
        name = (storable(seen.agent), storable(seen.command), _optional(seen.version))
        out.append((_PUT_SEEN, (*name, seen.seen_ms, to_json(seen.payload))))
    for prompt in batch.queued:
        place = (storable(prompt.run), storable(prompt.turn))
        out.append((_PUT_QUEUED, (*place, prompt.at_ms, storable(prompt.text))))
    for run, turn in batch.unqueued:
        out.append((_DROP_QUEUED, (storable(run), storable(turn))))
    for work in batch.works:
        names = (storable(work.id), storable(work.project), storable(work.name), work.state, int(work.open))
        out.append((_PUT_WORK, (*names, work.created_ms, work.updated_ms, to_json(work.snapshot))))
    for each in batch.snoozed:
        out.append((_PUT_SNOOZE, (storable(each.subject), each.kind, each.until_ms)))
    return out


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)
