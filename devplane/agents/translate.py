"""What ACP's updates, results and options mean: updates become facts, requests become calls.

With the modules that it opens, the only place that knows both ACP's words and ours.
An agent repeats itself (OpenCode sends the same ``in_progress`` many times, Claude
streams a call's input piece by piece), so a `ToolBook` remembers each call and only a
change becomes a fact. Everything here is lenient: a field of the wrong type is absent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from devplane.acp.messages import PermissionRequest
from devplane.agents.agent import AskFirst
from devplane.agents.calls import calls_of
from devplane.agents.toolbook import FINAL, OPEN, ToolBook, ToolRecord
from devplane.core import events as e
from devplane.core.permission import Option
from devplane.core.text import clipped

__all__ = ["ToolBook", "ToolRecord", "asks_first", "calls_of", "facts_of", "options_of", "settings_of"]

RAW_LIMIT_CHARS = 4 * 1024
"""Longest JSON kept of an update of an unknown kind."""
IGNORED_KINDS = ("user_message_chunk", "config_option_update", "current_mode_update")


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


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
