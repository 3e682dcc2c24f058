"""Dataclasses go to plain values and come back, and what does not fit is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.store.facts import KINDS, WORK_KINDS, plain
from devplane.store.rebuild import rebuilt


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    leaves: tuple[Leaf, ...]
    pair: tuple[str, int]
    colour: Colour
    anything: dict[str, Any]
    top: Leaf | None = None
    words: tuple[str, ...] = ()
    number: int | float | str = 0


TREE = Tree((Leaf("a", 1.5), Leaf("b")), ("x", 1), Colour.RED, {"k": [1, None]}, Leaf("c"), ("w",), "many")
GOOD = json.loads(json.dumps(plain(TREE)))


def test_what_was_made_plain_comes_back() -> None:
    found = rebuilt(Tree, GOOD)
    assert found == TREE
    assert isinstance(found.colour, Colour)


def test_a_record_of_an_older_version_takes_the_defaults_and_one_of_a_newer_is_read() -> None:
    older = {key: GOOD[key] for key in ("leaves", "pair", "colour", "anything")}
    assert rebuilt(Tree, older) == Tree(TREE.leaves, TREE.pair, TREE.colour, TREE.anything)
    assert rebuilt(Tree, {**GOOD, "later": 1}) == TREE


@pytest.mark.parametrize(
    "change",
    [
        {"leaves": None},
        {"leaves": "ab"},
        {"leaves": [{"weight": 1.0}]},
        {"leaves": [{"name": 3}]},
        {"pair": ["x"]},
        {"pair": ["x", True]},
        {"colour": "blue"},
        {"anything": []},
        {"top": 3},
        {"top": {"name": "c", "weight": "heavy"}},
        {"words": ["a", None]},
        {"number": None},
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no |lacks|is not a valid|shorter"):
        rebuilt(Tree, {**GOOD, **change})


@pytest.mark.parametrize("value", [None, [], "x", 3, {}])
def test_what_is_no_object_of_it_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"is no Tree|lacks"):
        rebuilt(Tree, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def made(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for a hint; what may be anything is JSON, as all that is stored."""
    if hint is Any:
        return JSON
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{each.name: made(hints[each.name]) for each in fields(hint)})
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of([made(each) for each in args])
    if origin in (dict, Mapping):
        return st.dictionaries(st.text(), made(args[1]), max_size=3)
    if origin is list:
        return st.lists(made(args[0]), max_size=3)
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(made(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(made, args))
    if hint is float:
        return st.floats(allow_nan=False)
    return st.from_type(hint)


@pytest.mark.parametrize("kind", [*KINDS, *WORK_KINDS])
@given(data=st.data())
def test_every_fact_comes_back_from_its_json(kind: str, data: st.DataObject) -> None:
    cls = {**KINDS, **WORK_KINDS}[kind]
    fact = data.draw(made(cls))
    text = json.dumps(plain(fact))
    assert plain(rebuilt(cls, json.loads(text))) == json.loads(text)
