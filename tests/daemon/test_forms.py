"""What a person typed, in the types that a form wants (G-51)."""

from __future__ import annotations

from typing import Any

import pytest

from devplane.daemon.forms import fitted
from devplane.errors import UsageError

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "count": {"type": "number", "minimum": 0, "maximum": 10},
        "whole": {"type": "integer"},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b"]}},
        "level": {"type": "integer", "default": 3},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ("name", "Ada", "Ada"),
        ("count", "3.5", 3.5),
        ("count", 0, 0.0),
        ("whole", "-4", -4),
        ("colour", "green", "green"),
        ("size", "l", "l"),
        ("sure", "Yes", True),
        ("sure", False, False),
        ("tags", "a, b", ["a", "b"]),
        ("tags", ["b"], ["b"]),
    ],
)
def test_a_value_becomes_what_its_field_wants(field: str, typed: Any, value: Any) -> None:
    found = fitted(FORM, {"name": "Ada", field: typed})[field]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("field", "typed", "complaint"),
    [
        ("name", "", "at least 1 characters"),
        ("name", "Charles", "at most 5"),
        ("name", 5, "no text"),
        ("count", "many", "no number"),
        ("count", True, "no number"),
        ("count", "nan", "no number"),
        ("count", "inf", "no number"),
        ("count", -1, "at least 0"),
        ("count", 11, "at most 10"),
        ("whole", "1.5", "no integer"),
        ("colour", "blue", "no choice"),
        ("size", "m", "no choice"),
        ("sure", "perhaps", "neither yes nor no"),
        ("tags", "a,c", "no choice"),
        ("tags", [], "at least 1 choices"),
        ("tags", [1], "no text"),
        ("weight", 1, "no field 'weight'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_its_fields_name(
    field: str, typed: Any, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as refused:
        fitted(FORM, {"name": "Ada", field: typed})
    assert field in str(refused.value)


def test_a_required_field_is_missed_unless_it_has_a_default() -> None:
    with pytest.raises(UsageError, match="wants a value for 'name'"):
        fitted(FORM, {"count": 1})
    assert fitted({**FORM, "required": ["level"]}, {}) == {"level": 3}


@pytest.mark.parametrize(
    "form", [{}, {"properties": None, "required": None}, {"properties": [], "required": 3}], ids=str
)
def test_a_form_that_is_none_takes_only_nothing(form: dict[str, Any]) -> None:
    assert fitted(form, {}) == {}
    with pytest.raises(UsageError, match="no field"):
        fitted(form, {"name": "Ada"})


def test_a_field_of_a_shape_that_nobody_knows_takes_text() -> None:
    odd = {"properties": {"a": None, "b": {"type": "string", "enum": "red", "minLength": "1", "oneOf": [1]}}}
    assert fitted(odd, {"a": "x", "b": "y"}) == {"a": "x", "b": "y"}
