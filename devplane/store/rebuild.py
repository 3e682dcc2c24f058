"""Dataclasses, from the plain values that were made of them.

For what Devplane wrote itself. A library that validates takes a tenth of a second to load, which every
command that reads would pay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Builder = Callable[[Any], Any]


def rebuilt(cls: type[T], value: Any) -> T:
    """Return the `cls` that `value` was made of. Keys that it does not know are left out.

    Raises:
        ValueError: A field is missing that has no default, or does not have the type that it should.
    """
    hint: Any = cls
    found: T = _builder(hint)(value)
    return found


@cache
def _builder(hint: Any) -> Builder:
    if hint is Any:
        return _as_it_is
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _union(get_args(hint))
    if origin is tuple:
        return _tuple(get_args(hint))
    if origin is list:
        return _list(_builder(get_args(hint)[0]))
    if origin in (dict, Mapping):
        return _mapping(_builder(get_args(hint)[1]))
    if is_dataclass(hint):
        return _dataclass(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return _atom(origin or hint)


def _as_it_is(value: Any) -> Any:
    return value


def _atom(kind: type) -> Builder:
    def build(value: Any) -> Any:
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)
        raise ValueError(f"{value!r} is no {kind.__name__}")

    return build


def _union(members: tuple[Any, ...]) -> Builder:
    builders = [_builder(each) for each in members if each is not NoneType]
    takes_none = NoneType in members

    def build(value: Any) -> Any:
        if value is None and takes_none:
            return None
        for each in builders[:-1]:
            try:
                return each(value)
            except ValueError:
                continue
        return builders[-1](value)

    return build


def _sequence(value: Any) -> Any:
    if type(value) not in (list, tuple):
        raise ValueError(f"{value!r} is no sequence")
    return value


def _tuple(members: tuple[Any, ...]) -> Builder:
    if len(members) == 2 and members[1] is Ellipsis:
        each = _builder(members[0])
        return lambda value: tuple(map(each, _sequence(value)))
    builders = [_builder(member) for member in members]
    return lambda value: tuple(build(part) for build, part in zip(builders, _sequence(value), strict=True))


def _list(each: Builder) -> Builder:
    return lambda value: list(map(each, _sequence(value)))


def _mapping(each: Builder) -> Builder:
    def build(value: Any) -> Any:
        if type(value) is not dict:
            raise ValueError(f"{value!r} is no object")
        return {key: each(part) for key, part in value.items()}

    return build


def _dataclass(cls: Any) -> Builder:
    hints = get_type_hints(cls)
    parts = [(each.name, _builder(hints[each.name])) for each in fields(cls) if each.init]
    needed = {
        each.name for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING
    }

    def build(value: Any) -> Any:
        if type(value) is not dict:
            raise ValueError(f"{value!r} is no {cls.__name__}")
        if missing := needed - value.keys():
            raise ValueError(f"{cls.__name__} lacks {', '.join(sorted(missing))}")
        return cls(**{name: part(value[name]) for name, part in parts if name in value})

    return build
