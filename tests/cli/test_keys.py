"""Answering with a key: a, d, a number; never what was not shown, and never by accident."""

from __future__ import annotations

import pytest

from devplane.cli.asking import Request
from devplane.cli.keys import answer_of
from devplane.cli.stream import Printer
from devplane.control import requests as r
from tests.cli.program import Program
from tests.cli.terminal import Terminal

ONCE = {"id": "once", "name": "Allow once", "kind": "allow_once"}
ALWAYS = {"id": "always", "name": "Always allow", "kind": "allow_always"}
NO = {"id": "no", "name": "Reject", "kind": "reject_once"}
FOLLOW = ("dispatch", "--agent", "demo", "--follow")


@pytest.mark.parametrize(
    ("key", "options", "answer"),
    [
        ("a", [ONCE, NO], r.Decide("a-1", decision="allow")),
        ("d", [ONCE, NO], r.Decide("a-1", decision="deny")),
        ("d", [], r.Decide("a-1", decision="deny")),
        ("2", [ONCE, ALWAYS, NO], r.Decide("a-1", option="always")),
        ("a", [ALWAYS, NO], None),
        ("3", [ONCE, NO], None),
        ("0", [ONCE], None),
        ("²", [ONCE, ALWAYS], None),
        ("\r", [ONCE], None),
        ("\x1b[3~", [ONCE, ALWAYS, NO], None),
        ("aa", [ONCE], None),
        ("", [ONCE], None),
    ],
)
def test_one_key_is_one_answer_and_anything_else_is_none(
    key: str, options: list[dict[str, str]], answer: r.Decide | None
) -> None:
    assert answer_of(key, Request("a-1", False, "x", options=options)) == answer


def test_keys_answer_what_was_shown(trusted: Program) -> None:
    with Terminal(trusted, *FOLLOW, "permissions 3") as terminal:
        for shown, key, outcome in (
            ("    echo 1", "a", "allow by person"),
            ("    echo 2", "d", "deny by person"),
            ("    echo 3", "2", "allow_always by person"),
        ):
            terminal.until(shown)
            terminal.until("[a] allow once   [d] deny   [2] Always allow")
            terminal.press(key)
            terminal.until(outcome)
        terminal.until("2 of 3 were allowed.")
        assert terminal.ended() == 0


def test_a_key_that_means_nothing_explains_and_answers_nothing(trusted: Program) -> None:
    with Terminal(trusted, *FOLLOW, "permissions 1") as terminal:
        terminal.until("[a] allow once")
        terminal.press("x")
        terminal.until("[a] allow once")
        terminal.press("\x1b[D")
        terminal.until("[a] allow once")
        assert len(trusted("inbox", "--json").objects) == 1
        terminal.press("d")
        terminal.until("deny by person")
        assert terminal.ended() == 0


def test_what_was_typed_before_a_request_was_shown_does_not_answer_it(trusted: Program) -> None:
    with Terminal(trusted, *FOLLOW, "permissions 1") as terminal:
        terminal.press("a")
        terminal.until("[a] allow once")
        assert len(trusted("inbox", "--json").objects) == 1
        terminal.press("d")
        terminal.until("deny by person")
        assert terminal.ended() == 0
        assert "allow by person" not in terminal.seen


def test_tail_can_be_answered_from_too_and_is_told_of_an_answer_from_elsewhere(trusted: Program) -> None:
    run = trusted.dispatch("permissions 2")
    with Terminal(trusted, "tail", run) as terminal:
        terminal.until("[a] allow once")
        trusted.ok("decide", run, "--decision", "deny")
        terminal.until("deny by person")
        terminal.until("    echo 2")
        terminal.until("[a] allow once")
        terminal.press("a")
        terminal.until("1 of 2 were allowed.")
        terminal.press("\x03")
        terminal.until(f"{run} goes on. Stop it: devplane stop {run}")
        assert terminal.ended() == 130


def ask_frame(ask: str, subject: str) -> dict[str, object]:
    fact = {"ask": ask, "call": ask, "title": "x", "tool": "Bash", "subject": subject, "options": [ONCE, NO]}
    return {"kind": "fact", "name": "PermissionAsked", "fact": fact}


def answered_frame(ask: str) -> dict[str, object]:
    fact = {"ask": ask, "outcome": "allow", "option": "once", "authority": "person", "by": "person"}
    return {"kind": "fact", "name": "AskAnswered", "fact": fact}


def test_keys_stay_with_the_oldest_request_and_what_was_typed_is_forgotten_at_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    forgotten: list[str | None] = []
    printer = Printer()
    printer.caught_up()
    printer.offer_keys(lambda: forgotten.append(printer.offered and printer.offered.id))
    for frame in (ask_frame("a-1", "ls"), ask_frame("a-2", "rm")):
        printer.show(frame)
        assert printer.offered is not None
        assert printer.offered.id == "a-1"
    capsys.readouterr()
    printer.show(answered_frame("a-1"))
    assert printer.offered.id == "a-2"
    assert forgotten == ["a-1", "a-2"]
    printer.show(answered_frame("a-2"))
    assert printer.offered is None


def test_the_request_that_keys_turn_to_is_named_again(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    printer.caught_up()
    printer.offer_keys(lambda: None)
    for frame in (ask_frame("a-1", "ls"), ask_frame("a-2", "rm one"), ask_frame("a-3", "rm two")):
        printer.show(frame)
    capsys.readouterr()
    printer.show(answered_frame("a-1"))
    assert "a-2: rm one" in capsys.readouterr().out
    printer.show(answered_frame("a-2"))
    assert "a-3: rm two" in capsys.readouterr().out


def test_a_request_that_is_not_shown_whole_gets_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    printer.caught_up()
    printer.offer_keys(lambda: None)
    printer.show(ask_frame("a-1", "x" * 2000))
    assert printer.offered is None
    assert "read all of it with devplane inbox" in capsys.readouterr().out
