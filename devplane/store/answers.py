"""The shapes in which `queries` answers. Types alone: nothing needs them at run time but a type checker."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

JsonObject = dict[str, Any]


class RunRow(TypedDict):
    id: str
    project: str
    agent: str
    name: str
    state: str
    live: bool
    created_ms: int
    updated_ms: int
    seq: int
    """Of the last event that the snapshot takes in."""
    snapshot: JsonObject


class WorkRow(TypedDict):
    id: str
    project: str
    name: str
    state: str
    open: bool
    created_ms: int
    updated_ms: int
    snapshot: JsonObject


class EventEntry(TypedDict):
    type: Literal["event"]
    pos: int
    at_ms: int
    kind: str
    payload: JsonObject


class FragmentEntry(TypedDict):
    """What was said. `continues`: the entry before it is its beginning; `open`: more may come."""

    type: Literal["fragment"]
    pos: int
    at_ms: int
    role: str
    turn: str | None
    message_id: str | None
    open: bool
    continues: bool
    text: str


class EventRow(TypedDict):
    seq: int
    run: str
    pos: int
    at_ms: int
    kind: str
    payload: JsonObject


class AskRow(TypedDict):
    id: str
    run: str
    asked_ms: int
    kind: str
    state: str
    title: str
    payload: JsonObject
    closed_ms: int | None
    closed_by: str | None


class DecisionRow(TypedDict):
    seq: int
    at_ms: int
    run: str
    ask: str | None
    tool: str
    subject: str
    verdict: str
    authority: str
    rule: str | None
    file: str | None
    line: int | None
    option_id: str | None
    reason: str | None


class AskedCalls(TypedDict):
    """One permission request and what it was judged as: `calls` holds the fields of `core.permission.Call`.

    `calls` is empty for a request that was recorded before stores of version 2. `verdict` and
    `authority` say how it was answered: the newest decision on it; ``None`` while it waits.
    """

    run: str
    at_ms: int
    ask: str
    calls: list[JsonObject]
    verdict: str | None
    authority: str | None


class TrustRow(TypedDict):
    root: str
    at_ms: int
    by: str


class SeenRow(TypedDict):
    agent: str
    command: str
    version: str | None
    seen_ms: int
    payload: JsonObject


class QueuedPrompt(TypedDict):
    run: str
    turn: str
    at_ms: int
    text: str


class Hit(TypedDict):
    """`kind` is who said it, or what it is; `ref` is the place in the run, or the ask's id."""

    run: str
    kind: str
    ref: int | str
    at_ms: int
    snippet: str


class Health(TypedDict):
    """What `Reader.check` found. `problems` is empty when the file is sound."""

    path: str
    exists: bool
    schema_version: NotRequired[int]
    problems: list[str]
    size_bytes: NotRequired[int]
    log_bytes: NotRequired[int]
    open_fragments: NotRequired[int]
    counts: NotRequired[dict[str, int]]
