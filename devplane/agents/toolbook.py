"""What one session's agent has said of its tool calls, put together by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devplane.acp.messages import content_text
from devplane.agents.arguments import command_lines, named_paths, urls
from devplane.core import events as e
from devplane.core.text import clipped

CONTENT_LIMIT_CHARS = 64 * 1024
"""Longest content of one tool call that the log keeps; the cut is marked."""
TITLE_LIMIT_CHARS = 2_000
BOOK_LIMIT = 512
"""Calls that a book remembers; an agent that never closes any cannot make it grow for ever."""
PLACES_LIMIT = 50_000
"""Paths that are remembered of one call."""

OPEN = ("pending", "in_progress")
FINAL = ("completed", "failed", "cancelled")


@dataclass(slots=True)
class Said:
    """What updates, or one request, say that a call is. Nothing of it is cut."""

    title: str = ""
    kind: str = ""
    raw_input: Mapping[str, Any] = field(default_factory=dict)
    locations: dict[str, None] = field(default_factory=dict)
    diffs: dict[str, None] = field(default_factory=dict)
    """The paths of the diffs in its content."""
    text: str = ""
    """Its content as text, bounded."""
    is_cut: bool = False
    """Whether it named more paths than are remembered."""

    def hear(self, update: Mapping[str, Any], text: str) -> None:
        """Take in one update: a text or input replaces the one before, paths are added to those before."""
        self.title = _string(update.get("title")) or self.title
        self.kind = _string(update.get("kind")) or self.kind
        self.text = text or self.text
        raw = update.get("rawInput")
        if isinstance(raw, dict) and raw:
            self.raw_input = raw
        for each in _objects(update.get("locations")):
            self._add(self.locations, each)
        for each in _objects(update.get("content")):
            is_diff = each.get("type") == "diff" or "newText" in each
            self._add(self.diffs if is_diff else self.locations, each)

    def _add(self, places: dict[str, None], named: Mapping[str, Any]) -> None:
        path = named.get("path")
        if not isinstance(path, str) or not path or path in places:
            return
        if len(places) >= PLACES_LIMIT:
            self.is_cut = True
        else:
            places[path] = None


@dataclass(slots=True)
class ToolRecord:
    """What is known of one tool call, from every message that named it."""

    title: str = ""
    kind: str = ""
    status: str = ""
    content: str = ""
    announced: Said = field(default_factory=Said)
    """From ``tool_call`` and its updates."""
    asked: Said = field(default_factory=Said)
    """From the last permission request. Apart from the updates: one call may be asked about twice, for
    different things (OpenCode), and one id may stand for any call (fast-agent)."""


class ToolBook:
    """The tool calls of one session, by id."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolRecord] = {}

    def merge(self, call: str, update: Mapping[str, Any], *, is_asked: bool = False) -> e.ToolChanged | None:
        """Take in one ``tool_call``, ``tool_call_update`` or (`is_asked`) the call of a permission request.

        Returns the fact that says what changed, or ``None`` when nothing that a
        person would see did. An update for an unknown call begins it (G-26).
        """
        known = self._calls.get(call)
        is_new = known is None
        if known is None:
            while len(self._calls) >= BOOK_LIMIT:
                del self._calls[next(iter(self._calls))]
            known = self._calls[call] = ToolRecord()
        text = clipped(content_text(update.get("content")), CONTENT_LIMIT_CHARS)
        if is_asked:
            known.asked = Said()
        (known.asked if is_asked else known.announced).hear(update, text)
        title = _changed(known.title, clipped(_string(update.get("title")), TITLE_LIMIT_CHARS))
        kind = _changed(known.kind, _string(update.get("kind")))
        status = _changed(known.status, _string(update.get("status")))
        content = _changed(known.content, text)
        known.title, known.kind = title or known.title, kind or known.kind
        known.status, known.content = status or known.status, content or known.content
        if not is_new and title is kind is status is content is None:
            return None
        # Content that still streams would be an event a chunk; it is recorded when the call moves on.
        is_streaming = known.status in OPEN and not is_asked
        if not is_new and title is kind is status is None and is_streaming:
            return None
        if status in FINAL and content is None:
            content = known.content or None
        subject = subject_of(known)
        if known.status in FINAL and not is_asked:
            # It can hold a whole file, and what is asked under this id from now on is another call.
            known.announced, known.asked = Said(), Said()
        return e.ToolChanged(call, title, kind, status, subject or None, content)

    def forget_closed(self) -> None:
        """Forget the calls that have ended: with another turn an agent may count its ids from the start."""
        self._calls = {call: each for call, each in self._calls.items() if each.status not in FINAL}

    def get(self, call: str) -> ToolRecord:
        return self._calls.get(call) or ToolRecord()


def subject_of(record: ToolRecord) -> str:
    """Return the command, URL or path that a call is about, for people, or "" when it does not say."""
    said = (record.asked, record.announced)
    arguments = {**record.announced.raw_input, **record.asked.raw_input}
    if lines := command_lines(arguments):
        return lines[0]
    if found := urls(arguments) or named_paths(arguments):
        return found[0]
    return next((path for each in said for path in (*each.locations, *each.diffs)), "")


def _changed(before: str, after: str) -> str | None:
    return after if after and after != before else None


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
