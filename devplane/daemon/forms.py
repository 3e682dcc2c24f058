"""Fits a person's answers to the form of a question: an agent reads the types that it asked for (G-51).

A form is the flat schema of an elicitation: strings, numbers, booleans, choices, lists of
choices. Of its bounds only a ``pattern`` is left to the agent: an expression of its own
making could keep the daemon busy for ever.
"""

from __future__ import annotations

import math
from typing import Any

from devplane.errors import UsageError

_YES_AND_NO = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}


def fitted(form: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Return `content` with each value in the type that its field wants; text is read as one.

    Raises:
        UsageError: An unknown field, a missing one, or a value that does not fit.
    """
    fields = form.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    known = ", ".join(fields) or "none"
    fitting: dict[str, Any] = {}
    for name, value in content.items():
        if name not in fields:
            raise UsageError(f"the form has no field {name!r}", hint=f"Its fields are: {known}.")
        fitting[name] = _fitted(name, _object(fields[name]), value)
    required = form.get("required")
    for name in required if isinstance(required, list) else ():
        if name in fitting:
            continue
        default = _object(fields.get(name)).get("default")
        if default is None:
            raise UsageError(f"the form wants a value for {name!r}", hint=f"Its fields are: {known}.")
        fitting[name] = default
    return fitting


def _fitted(name: str, schema: dict[str, Any], value: Any) -> Any:
    match schema.get("type"):
        case "array":
            return _list(name, schema, value)
        case "boolean":
            return _boolean(name, value)
        case "integer" | "number" as kind:
            return _number(name, schema, kind, value)
        case _:
            return _string(name, schema, value)


def _list(name: str, schema: dict[str, Any], value: Any) -> list[str]:
    values = value if isinstance(value, list) else [each.strip() for each in str(value).split(",")]
    items = _object(schema.get("items"))
    _check_bounds(name, schema, len(values), "minItems", "maxItems", "choices")
    return [_string(name, items, each) for each in values]


def _boolean(name: str, value: Any) -> bool:
    found = value if isinstance(value, bool) else _YES_AND_NO.get(str(value).lower())
    if found is None:
        raise UsageError(f"{name}: {value!r} is neither yes nor no")
    return found


def _number(name: str, schema: dict[str, Any], kind: str, value: Any) -> int | float:
    text = "" if isinstance(value, bool) else str(value)
    try:
        number = float(text) if kind == "number" else int(text)
    except ValueError:
        number = math.nan
    # JSON knows neither "not a number" nor infinity.
    if not math.isfinite(number):
        raise UsageError(f"{name}: {value!r} is no {kind}")
    _check_bounds(name, schema, number, "minimum", "maximum", "")
    return number


def _string(name: str, schema: dict[str, Any], value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}: {value!r} is no text")
    choices = _choices(schema)
    if choices and value not in choices:
        raise UsageError(f"{name}: {value!r} is no choice", hint=f"One of: {', '.join(choices)}.")
    _check_bounds(name, schema, len(value), "minLength", "maxLength", "characters")
    return value


def _check_bounds(
    name: str, schema: dict[str, Any], size: int | float, least: str, most: str, unit: str
) -> None:
    low, high = schema.get(least), schema.get(most)
    if isinstance(low, int | float) and size < low:
        raise UsageError(f"{name}: at least {low} {unit}".rstrip())
    if isinstance(high, int | float) and size > high:
        raise UsageError(f"{name}: at most {high} {unit}".rstrip())


def _choices(schema: dict[str, Any]) -> list[str]:
    found = [str(each) for each in _array(schema.get("enum"))]
    for key in ("oneOf", "anyOf"):
        found.extend(str(each["const"]) for each in _array(schema.get(key)) if "const" in _object(each))
    return found


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
