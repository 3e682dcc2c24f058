"""The protocol's words become facts and calls; what does not fit is absent and never fatal (G-41)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.agents.agent import Agent, AskFirst
from devplane.agents.translate import RAW_LIMIT_CHARS, ToolBook, calls_of, facts_of, settings_of
from devplane.core import events as e

ASKING = AskFirst(modes=("default", "plan"), set_mode="default", via="mode")
AGENT = Agent("custom", "Custom", ("custom",), "command line")


def facts(update: dict[str, Any], book: ToolBook | None = None) -> list[e.Fact]:
    return list(facts_of(update, book or ToolBook()))


# ---- each kind of update


@pytest.mark.parametrize(
    ("update", "wanted"),
    [
        (
            {"sessionUpdate": "plan", "entries": [{"content": "look", "status": "completed"}, {}, None]},
            [e.PlanChanged((e.PlanEntry("look", "completed"), e.PlanEntry("", "pending")))],
        ),
        (
            {
                "sessionUpdate": "usage_update",
                "used": 5,
                "size": 10,
                "cost": {"amount": 1, "currency": "eur"},
            },
            [e.UsageSeen(5, 10, 1.0, "EUR")],
        ),
        ({"sessionUpdate": "usage_update", "used": None, "size": 10}, [e.UsageSeen(None, 10, None, "USD")]),
        ({"sessionUpdate": "usage_update", "used": None}, []),
        ({"sessionUpdate": "session_info_update", "title": "T"}, [e.TitleGiven("T")]),
        ({"sessionUpdate": "session_info_update", "title": None}, []),
        (
            {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "review"}, {}, 1]},
            [e.CommandsSeen(("review",))],
        ),
        ({"sessionUpdate": "available_commands_update", "availableCommands": None}, [e.CommandsSeen(())]),
        ({"sessionUpdate": "plan", "entries": None}, []),
        ({"sessionUpdate": "config_option_update", "configOptions": []}, []),
        ({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}, []),
        ({"sessionUpdate": "tool_call", "toolCallId": None}, []),
        ({"sessionUpdate": None}, [e.UpdateKept("?", '{"sessionUpdate": null}')]),
        ({"sessionUpdate": ["odd"]}, [e.UpdateKept("?", '{"sessionUpdate": ["odd"]}')]),
        ({}, [e.UpdateKept("?", "{}")]),
    ],
    ids=lambda value: str(value.get("sessionUpdate")) if isinstance(value, dict) else "",
)
def test_an_update_brings_its_facts(update: dict[str, Any], wanted: list[e.Fact]) -> None:
    assert facts(update) == wanted


def test_g41_an_unknown_kind_is_kept_as_it_came_and_bounded() -> None:
    (kept,) = facts({"sessionUpdate": "brand_new_thing", "nested": {"deep": "x" * 10_000}})
    assert isinstance(kept, e.UpdateKept)
    assert kept.kind == "brand_new_thing"
    assert kept.raw.startswith('{"sessionUpdate": "brand_new_thing", "nested"')
    assert len(kept.raw) < RAW_LIMIT_CHARS + 100


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), 10**400, -1, "1", True, None])
def test_an_amount_that_is_no_sum_of_money_is_absent(amount: object) -> None:
    (fact,) = facts({"sessionUpdate": "usage_update", "used": 1, "cost": {"amount": amount}})
    assert fact == e.UsageSeen(1, None, None, "USD")


# ---- settings


def test_a_session_says_its_mode_and_options() -> None:
    result = {
        "modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}, None]},
        "configOptions": [
            {"id": "model", "category": "model", "currentValue": "big"},
            {"id": "fast", "currentValue": True},
        ],
    }
    assert settings_of(result, ASKING) == [
        e.ModeSeen("plan", "Plan", True),
        e.OptionSeen("model", "model", "big"),
        e.OptionSeen("fast", "", "true"),
    ]


def test_a_mode_may_be_an_option_or_an_update() -> None:
    choices = [{"value": "yolo", "name": "Yolo"}]
    option = {"id": "mode", "category": "mode", "currentValue": "yolo", "options": choices}
    assert settings_of({"configOptions": [option]}, ASKING) == [e.ModeSeen("yolo", "Yolo", False)]
    update = {"sessionUpdate": "current_mode_update", "currentModeId": "default"}
    assert settings_of(update, ASKING) == [e.ModeSeen("default", "", True)]


def test_whether_an_unknown_agent_asks_first_is_unknown() -> None:
    assert settings_of({"currentModeId": "x"}, AskFirst()) == [e.ModeSeen("x", "", None)]
    assert settings_of({"currentModeId": "x"}, AskFirst(via="environment")) == [e.ModeSeen("x", "", True)]


# ---- whatever an agent sends

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "session_info_update",
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "new",
    ]
)
FIELDS = (
    *("toolCallId", "title", "kind", "status", "rawInput", "content", "locations", "entries", "used", "size"),
    *("cost", "availableCommands", "modes", "configOptions", "currentModeId"),
)
UPDATES = st.fixed_dictionaries(
    {"sessionUpdate": KINDS | JSON}, optional={name: JSON | st.lists(JSON) for name in FIELDS}
)
MODES = st.fixed_dictionaries({}, optional={"currentModeId": JSON, "availableModes": JSON})
OPTIONS = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "category", "currentValue", "options"), JSON))
)


@given(st.lists(UPDATES, max_size=5))
def test_g41_no_update_is_fatal_whatever_its_fields_hold(updates: list[dict[str, Any]]) -> None:
    book = ToolBook()
    for update in updates:
        for fact in (*facts_of(update, book), *settings_of(update, ASKING)):
            assert fact is not None
    assert calls_of(book.get("c-1"), AGENT, "/p")


@given(st.fixed_dictionaries({}, optional={"modes": MODES | JSON, "configOptions": OPTIONS | JSON}))
def test_g41_no_session_result_is_fatal_whatever_its_fields_hold(result: dict[str, Any]) -> None:
    for fact in settings_of(result, ASKING):
        assert isinstance(fact, e.ModeSeen | e.OptionSeen)
