"""The only file that knows both ACP's words and ours: updates become facts, requests become calls.

An agent repeats itself (OpenCode sends the same ``in_progress`` many times, Claude
streams a call's input piece by piece), so a `ToolBook` remembers each call and only a
change becomes a fact. Everything here is lenient: a field of the wrong type is absent.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devplane.acp.messages import PermissionRequest, content_text
from devplane.agents.agent import Agent, AskFirst
from devplane.core import events as e
from devplane.core.permission import Call, Option
from devplane.core.text import clipped

CONTENT_LIMIT_CHARS = 64 * 1024
"""Longest content of one tool call that the log keeps; the cut is marked."""
RAW_LIMIT_CHARS = 4 * 1024
"""Longest JSON kept of an update of an unknown kind."""
TITLE_LIMIT_CHARS = 2_000
BOOK_LIMIT = 512
"""Calls that a book remembers; an agent that never closes any cannot make it grow for ever."""

IGNORED_KINDS = ("user_message_chunk", "config_option_update", "current_mode_update")
OPEN = ("pending", "in_progress")
FINAL = ("completed", "failed", "cancelled")


@dataclass(slots=True)
class ToolRecord:
    """What is known of one tool call, from every message that named it."""

    title: str = ""
    kind: str = ""
    status: str = ""
    raw_input: dict[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    content: str = ""


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
        raw = update.get("rawInput")
        if isinstance(raw, dict) and raw:
            known.raw_input = raw
        paths = _paths(update)
        if paths:
            known.paths = paths
        title = _changed(known.title, clipped(_string(update.get("title")), TITLE_LIMIT_CHARS))
        kind = _changed(known.kind, _string(update.get("kind")))
        status = _changed(known.status, _string(update.get("status")))
        content = _changed(known.content, clipped(content_text(update.get("content")), CONTENT_LIMIT_CHARS))
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
            known.raw_input = {}  # it can be a whole file, and nothing more will be asked of this call
        return e.ToolChanged(call, title, kind, status, subject or None, content)

    def forget_closed(self) -> None:
        """Forget the calls that have ended: with another turn an agent may count its ids from the start."""
        self._calls = {call: each for call, each in self._calls.items() if each.status not in FINAL}

    def get(self, call: str) -> ToolRecord:
        return self._calls.get(call) or ToolRecord()


def facts_of(update: Mapping[str, Any], book: ToolBook) -> Iterable[e.Fact]:
    """Return the facts that one ``session/update`` brings, in order; chunks of speech are not among them."""
    kind = update.get("sessionUpdate")
    if kind in ("tool_call", "tool_call_update"):
        return _tool(update, book)
    if kind == "plan":
        entries = update.get("entries")
        return (e.PlanChanged(_plan(entries)),) if isinstance(entries, list) else ()
    if kind == "usage_update":
        return _usage(update)
    if kind == "session_info_update":
        title = _string(update.get("title"))
        return (e.TitleGiven(clipped(title, 200)),) if title else ()
    if kind == "available_commands_update":
        named = [command.get("name") for command in _objects(update.get("availableCommands"))]
        return (e.CommandsSeen(tuple(name for name in named if isinstance(name, str))[:200]),)
    if kind in IGNORED_KINDS:
        return ()
    return (e.UpdateKept(_string(kind) or "?", clipped(_json(update), RAW_LIMIT_CHARS)),)


def settings_of(source: Mapping[str, Any], asking: AskFirst) -> list[e.Fact]:
    """Return the mode and options that a session result or an update reports.

    Reads ``modes``, ``configOptions`` and the ``currentModeId`` of a mode update.
    """
    facts: list[e.Fact] = []
    modes = source.get("modes")
    names: dict[str, str] = {}
    mode = source.get("currentModeId")
    if isinstance(modes, dict):
        mode = modes.get("currentModeId") or mode
        for each in _objects(modes.get("availableModes")):
            names[_string(each.get("id"))] = _string(each.get("name"))
    for option in _objects(source.get("configOptions")):
        value, category = option.get("currentValue"), _string(option.get("category"))
        shown = value if isinstance(value, str) else "" if value is None else json.dumps(value)
        if category == "mode" or option.get("id") == "mode":
            mode = shown or mode
            for choice in _objects(option.get("options")):
                names.setdefault(_string(choice.get("value")), _string(choice.get("name")))
        else:
            facts.append(e.OptionSeen(_string(option.get("id")), category, clipped(shown, 200)))
    if isinstance(mode, str) and mode:
        facts.insert(0, e.ModeSeen(mode, names.get(mode, ""), asks_first(mode, asking)))
    return facts


def asks_first(mode: str, asking: AskFirst) -> bool | None:
    """Whether the agent asks in `mode`; ``None`` when its table names no modes."""
    if asking.via == "environment" and not asking.modes:
        return True
    return mode in asking.modes if asking.modes else None


TOOLS = {
    "execute": "Bash",
    "read": "Read",
    "search": "Read",
    "edit": "Edit",
    "delete": "Edit",
    "move": "Edit",
    "fetch": "WebFetch",
}
"""The rule tool for each ACP tool kind; any other kind is judged by its arguments."""


def call_of(record: ToolRecord, agent: Agent, cwd: str) -> Call:
    """Say what a permission request asks for, in the words that rules use."""
    tool = TOOLS.get(record.kind, "")
    if not tool:
        tool = "Bash" if command_of(record) else tool
        tool = "WebFetch" if not tool and _string(record.raw_input.get("url")) else tool
    # A place that a command touches is not what will run: without the command there is its title.
    subject = command_of(record) if tool == "Bash" else subject_of(record)
    return Call(tool, subject or record.title, cwd)


def calls_of(record: ToolRecord, agent: Agent, cwd: str) -> tuple[Call, ...]:
    """Return every call that a request can be read as; the strictest verdict on them holds. Never empty."""
    return (call_of(record, agent, cwd),)


def command_of(record: ToolRecord) -> str:
    """Return the command line of a call, or "" when its arguments name none."""
    command = record.raw_input.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return _string(command)


def subject_of(record: ToolRecord) -> str:
    """Return the command, URL or path that a call is about, or "" when it does not say."""
    if command := command_of(record):
        return command
    for key in ("url", "file_path", "filepath", "fileName", "path"):
        if text := _string(record.raw_input.get(key)):
            return text
    return record.paths[0] if record.paths else ""


def options_of(request: PermissionRequest) -> tuple[Option, ...]:
    """Return the offered options in order, ids untouched."""
    return tuple(Option(each.id, each.name or each.id, each.kind or "") for each in request.options)


def _tool(update: Mapping[str, Any], book: ToolBook) -> Iterable[e.Fact]:
    call = update.get("toolCallId")
    if not isinstance(call, str) or not call:
        return ()
    # An announcement that comes late does not open again what is closed already (G-26).
    is_late = update.get("sessionUpdate") == "tool_call" and book.get(call).status in FINAL
    if is_late and update.get("status") in OPEN:
        update = {**update, "status": None}
    changed = book.merge(call, update)
    return (changed,) if changed else ()


def _usage(update: Mapping[str, Any]) -> Iterable[e.Fact]:
    used, size, cost = update.get("used"), update.get("size"), update.get("cost")
    amount = _amount(cost.get("amount")) if isinstance(cost, dict) else None
    currency = _string(cost.get("currency")) if isinstance(cost, dict) else ""
    fact = e.UsageSeen(
        used if _is_count(used) else None,
        size if _is_count(size) and size else None,
        amount,
        (currency or "USD").upper(),
    )
    return () if fact.used is fact.size is fact.amount is None else (fact,)


def _amount(value: object) -> float | None:
    """A running total as a number, or ``None``: an agent's JSON may hold NaN or a number beyond any float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plan(entries: list[Any]) -> tuple[e.PlanEntry, ...]:
    return tuple(
        e.PlanEntry(clipped(_string(each.get("content")), 500), _string(each.get("status")) or "pending")
        for each in entries[:200]
        if isinstance(each, dict)
    )


def _paths(update: Mapping[str, Any]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for source in (update.get("locations"), update.get("content")):
        for each in source if isinstance(source, list) else ():
            path = each.get("path") if isinstance(each, dict) else None
            if isinstance(path, str):
                found[path] = None
    return tuple(found)


def _changed(before: str, after: str) -> str | None:
    return after if after and after != before else None


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
