"""Facts and runs as JSON objects and back. The kind of an event is the name of its fact's class."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args

from devplane.core import events
from devplane.core import work as w
from devplane.core.run import Run
from devplane.store.rebuild import rebuilt

KINDS: dict[str, type] = {each.__name__: each for each in get_args(events.Fact)}


def plain(value: Any) -> Any:
    """Return a dataclass (or what it holds) as what JSON knows.

    Several times as fast as `dataclasses.asdict`, and called for every fact.
    """
    cls: type = type(value)
    if cls in _ATOMS:
        return value
    names = _names(cls)
    if names is not None:
        return {each: plain(getattr(value, each)) for each in names}
    if cls is tuple or cls is list:
        return [plain(each) for each in value]
    if cls is dict:
        return {key: plain(each) for key, each in value.items()}
    return value


_ATOMS = frozenset({str, int, float, bool, type(None)})


@cache
def _names(cls: type) -> tuple[str, ...] | None:
    return tuple(each.name for each in fields(cls)) if is_dataclass(cls) else None


WORK_KINDS: dict[str, type] = {each.__name__: each for each in get_args(w.WorkFact)}


def encode_fact(fact: events.Fact | w.WorkFact) -> tuple[str, dict[str, Any]]:
    """Return the fact's kind and its fields."""
    return type(fact).__name__, plain(fact)


def decode_fact(kind: str, payload: dict[str, Any]) -> events.Fact:
    """Rebuild a fact. Raises `KeyError` for an unknown kind, `ValueError` for a payload that does not fit."""
    fact: events.Fact = rebuilt(KINDS[kind], payload)
    return fact


def decode_run(snapshot: dict[str, Any]) -> Run:
    """Rebuild a run from its snapshot. Raises `ValueError` when it does not fit."""
    return rebuilt(Run, snapshot)


def decode_work_fact(kind: str, payload: dict[str, Any]) -> w.WorkFact:
    """Rebuild a fact of a work. Raises as `decode_fact`."""
    fact: w.WorkFact = rebuilt(WORK_KINDS[kind], payload)
    return fact


def decode_work(snapshot: dict[str, Any]) -> w.Work:
    """Rebuild a work from its snapshot. Raises `ValueError` when it does not fit."""
    return rebuilt(w.Work, snapshot)
