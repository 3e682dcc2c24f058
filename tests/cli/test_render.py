"""Columns, colours, ages, money; and that no agent's text reaches a terminal raw (G-49)."""

from __future__ import annotations

import io

import pytest

from devplane.cli import render
from devplane.cli.stream import Printer

HOSTILE = "ls\x1b[2K\rrm -rf ~\x1b]52;c;ZWNobw==\x07\x1b]8;;http://evil\x1b\\ok\x9b6n\u202e"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_take_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "has_colour", lambda stream: True)
    coloured = render.column("abc", 6, "red")
    assert coloured == "\x1b[31mabc\x1b[0m   "
    assert coloured.replace("\x1b[31m", "").replace("\x1b[0m", "") == render.column("abc", 6)


def test_colours_are_for_terminals_and_for_those_who_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert render.paint("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    assert render.paint("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert render.paint("x", "red", Terminal()) == "x"


@pytest.mark.parametrize(
    ("text", "columns"), [("漢字漢字", 5), ("e\u0301e\u0301e\u0301", 2), ("abcdef", 3), ("", 4)]
)
def test_columns_count_what_is_seen(text: str, columns: int) -> None:
    assert render.width(render.column(text, columns)) == columns


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0s"), (59, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (200_000, "2d")]
)
def test_ages_have_one_unit(seconds: int, shown: str) -> None:
    assert render.age(0, seconds * 1000) == shown


def test_cost_that_nobody_reports_is_not_zero() -> None:
    assert render.cost([]) == "not reported by this agent"
    assert render.context(None, None) == "not reported by this agent"
    assert render.cost([{"spent": 0.5, "currency": "USD"}]) == "$0.5000"
    assert render.context(50, 200) == "50 of 200 tokens (25%)"


@pytest.mark.parametrize(
    "frame",
    [
        {"kind": "text", "pos": 1, "role": "agent", "continues": False, "text": HOSTILE},
        {"kind": "text", "pos": 1, "role": "thought", "continues": False, "text": HOSTILE},
        {"kind": "fact", "name": "Noted", "fact": {"level": "warning", "text": HOSTILE}},
        {"kind": "fact", "name": "TurnFailed", "fact": {"turn": "t", "error": HOSTILE, "cancelled": False}},
        {"kind": "fact", "name": "RunEnded", "fact": {"ending": "failed", "reason": HOSTILE, "hint": ""}},
        {
            "kind": "fact",
            "name": "PlanChanged",
            "fact": {"entries": [{"content": HOSTILE, "status": "pending"}]},
        },
        {
            "kind": "fact",
            "name": "ToolChanged",
            "fact": {
                "call": "c",
                "title": HOSTILE,
                "subject": HOSTILE,
                "status": "failed",
                "content": HOSTILE,
            },
        },
        {
            "kind": "fact",
            "name": "PermissionAsked",
            "fact": {
                "ask": "a-1",
                "call": "c",
                "title": HOSTILE,
                "tool": "Bash",
                "subject": HOSTILE,
                "options": [{"id": HOSTILE, "name": HOSTILE, "kind": "allow_always"}],
            },
        },
        {
            "kind": "fact",
            "name": "QuestionAsked",
            "fact": {"ask": "a-1", "message": HOSTILE, "form": {"properties": {HOSTILE: {"title": HOSTILE}}}},
        },
        {"kind": "fact", "name": "AskWithdrawn", "fact": {"ask": "a-1", "why": HOSTILE}},
    ],
)
def test_g49_no_escape_of_an_agent_reaches_the_terminal(
    frame: dict[str, object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    printer = Printer(thinking=True)
    printer.show(frame)
    printer.line()
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\r\x07\x9b\u202e")
    assert "rm -rf ~" in shown


def test_a_streamed_answer_is_printed_as_it_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    for number, text in enumerate(["The answer", " is ", "42.\n", "Done"]):
        printer.show({"kind": "text", "pos": 3, "role": "agent", "continues": number == 2, "text": text})
    printer.show({"kind": "text", "pos": 4, "role": "thought", "continues": False, "text": "hidden"})
    printer.line()
    assert capsys.readouterr().out == "The answer is 42.\nDone\n\n"


def test_a_tool_call_is_shown_when_it_says_something_new(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    for fact in (
        {"call": "c", "title": "Terminal", "status": "pending", "subject": None, "content": None},
        {"call": "c", "title": "ls", "status": None, "subject": "ls", "content": None},
        {"call": "c", "title": None, "status": "in_progress", "subject": "ls", "content": None},
        {"call": "c", "title": None, "status": "completed", "subject": "ls", "content": "a\nb"},
    ):
        printer.show({"kind": "fact", "name": "ToolChanged", "fact": fact})
    assert capsys.readouterr().out == "● Terminal\n● ls\n✓ ls\n    a\n    b\n"
