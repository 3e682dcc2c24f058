"""What the rules say of a request that can be read in several ways, and what the record keeps of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core import events as e
from devplane.core.permission import Call, Judge, Option, Ruling, Verdict
from devplane.daemon import rulings
from devplane.daemon.rulings import Rules, kept
from devplane.store.facts import decode_fact, encode_fact

COMMAND = Call("Bash", "cp a b", "/w")
READING = Call("Read", "a", "/w", ("a",))
WRITING = Call("Edit", "b", "/w", ("b",))


def says(**verdicts: Verdict) -> Judge:
    return lambda call: (
        Ruling(verdicts[call.tool], rule=call.tool)
        if call.tool in verdicts
        else Ruling(Verdict.UNDECIDED, call.tool, call.subject)
    )


@pytest.mark.parametrize(
    ("verdicts", "holds", "about"),
    [
        ({"Bash": Verdict.ALLOW, "Edit": Verdict.DENY, "Read": Verdict.ASK}, Verdict.DENY, WRITING),
        ({"Bash": Verdict.ALLOW, "Edit": Verdict.ALLOW, "Read": Verdict.ASK}, Verdict.ASK, READING),
        ({"Bash": Verdict.ALLOW, "Edit": Verdict.ALLOW}, Verdict.UNDECIDED, READING),
        (dict.fromkeys(("Bash", "Edit", "Read"), Verdict.ALLOW), Verdict.ALLOW, COMMAND),
    ],
)
def test_the_strictest_ruling_on_a_request_holds_and_says_what_it_is_about(
    verdicts: dict[str, Verdict], holds: Verdict, about: Call
) -> None:
    ruling, call = Rules(lambda cwd: says(**verdicts), "/w", "r-1").on((COMMAND, READING, WRITING))
    assert (ruling.verdict, call) == (holds, about)


def test_rules_that_cannot_be_read_leave_the_request_to_a_person() -> None:
    def broken(call: Call) -> Ruling:
        raise OSError("the disk is gone")

    ruling, call = Rules(lambda cwd: broken, "/w", "r-1").on((COMMAND,))
    assert (ruling.verdict, call) == (Verdict.ASK, COMMAND)
    assert ruling.reason == "the rules could not be read: the disk is gone"


def test_a_judge_that_cannot_be_had_at_the_start_is_asked_for_again() -> None:
    asked_in: list[str] = []

    def judge_in(cwd: str) -> Judge:
        asked_in.append(cwd)
        if len(asked_in) < 3:
            raise ValueError("half a file")
        return says(Bash=Verdict.ALLOW)

    rules = Rules(judge_in, "/w", "r-1")
    assert rules.on((COMMAND,))[0].reason == "the rules could not be read: half a file"
    assert rules.on((COMMAND,))[0].verdict is Verdict.ALLOW
    assert rules.on((COMMAND,))[0].verdict is Verdict.ALLOW
    assert asked_in == ["/w"] * 3, "and once it is there, it is asked for no more"


def test_what_is_kept_of_a_call_is_bounded_and_plain() -> None:
    long = "x" * 5_000
    arguments: dict[str, Any] = {
        "command": long,
        "deep": {"a": 1},
        "list": [1],
        "n": 3,
        "no": None,
        "y": True,
    }
    arguments |= {"inf": float("inf"), "k" * 300: "v", **{f"key{n}": n for n in range(100)}}
    (call,) = kept((Call("Bash", "y" * 100_000, "/w", ("p", "q" * 5_000) * 200, arguments),))
    assert len(call.subject) < 66_000
    assert call.subject.endswith("characters cut]")
    assert set(call.paths) == {"p"}
    assert len(call.paths) <= rulings.PATHS_KEPT
    assert call.input["command"] == "x" * 2_000
    assert (call.input["n"], call.input["no"], call.input["y"]) == (3, None, True)
    assert not {"deep", "list", "inf", "k" * 300} & call.input.keys()
    assert len(call.input) == 64
    assert len(kept((COMMAND,) * 100)) == rulings.CALLS_KEPT


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=6), st.text(), st.lists(st.text(), max_size=3))
def test_a_recorded_request_can_be_put_to_other_rules(
    arguments: dict[str, Any], subject: str, paths: list[str]
) -> None:
    calls = kept((Call("Edit", subject, "/w", tuple(paths), arguments),))
    asked = e.PermissionAsked("a", "c", "t", "Edit", "s", (Option("y", "Yes", "allow_once"),), calls)
    kind, payload = encode_fact(asked)
    assert decode_fact(kind, json.loads(json.dumps(payload))) == asked


def test_what_an_older_store_recorded_has_no_calls() -> None:
    payload = {"ask": "a", "call": "c", "title": "t", "tool": "Bash", "subject": "ls", "options": []}
    fact = decode_fact("PermissionAsked", payload)
    assert isinstance(fact, e.PermissionAsked)
    assert fact.calls == ()
