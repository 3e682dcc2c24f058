"""What is said of a tool call is put together by its id, and told once."""

from __future__ import annotations

from typing import Any

import pytest

from devplane.agents.toolbook import BOOK_LIMIT, CONTENT_LIMIT_CHARS, PLACES_LIMIT, ToolBook, ToolRecord
from devplane.agents.translate import facts_of
from devplane.core import events as e


def facts(update: dict[str, Any], book: ToolBook | None = None) -> list[e.Fact]:
    return list(facts_of(update, book or ToolBook()))


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


def tool(update: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": update, "toolCallId": "c-1", **fields}


def test_a_repeated_update_says_nothing_new() -> None:
    book = ToolBook()
    running = tool("tool_call_update", status="in_progress", rawInput={"command": "ls"})
    (first,) = facts(tool("tool_call", title="ls", kind="execute", status="pending"), book)
    (second,) = facts(running, book)
    assert first == e.ToolChanged("c-1", "ls", "execute", "pending", None, None)
    assert second == e.ToolChanged("c-1", None, None, "in_progress", "ls", None)
    assert [facts(running, book) for _ in range(5)] == [[]] * 5


def test_content_that_streams_is_told_once_when_the_call_ends() -> None:
    book = ToolBook()
    facts(tool("tool_call", title="ls", kind="execute", status="in_progress"), book)
    for count in range(1, 4):
        assert facts(tool("tool_call_update", content=[text("out " * count)]), book) == []
    (done,) = facts(tool("tool_call_update", status="completed"), book)
    assert done == e.ToolChanged("c-1", None, None, "completed", None, "out out out ")


def test_content_is_bounded_and_says_what_was_cut() -> None:
    (fact,) = facts(tool("tool_call", status="completed", content=[text("x" * 100_000)]))
    assert isinstance(fact, e.ToolChanged)
    assert fact.content is not None
    assert fact.content.endswith(f"[{100_000 - CONTENT_LIMIT_CHARS} characters cut]")


def test_g26_an_update_or_a_request_may_be_the_first_that_names_a_call() -> None:
    book = ToolBook()
    asked = book.merge("t9", {"toolCallId": "t9", "title": "mcp: get code", "kind": "other"})
    assert asked == e.ToolChanged("t9", "mcp: get code", "other", None, None, None)
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "t9", "status": "completed"}
    assert facts({**done, "content": [text("the code")]}, book) == [
        e.ToolChanged("t9", None, None, "completed", None, "the code")
    ]


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed", None])
def test_g26_an_announcement_that_comes_late_opens_nothing_again(status: str | None) -> None:
    book = ToolBook()
    facts(tool("tool_call_update", title="ls", kind="execute", status="completed"), book)
    assert facts(tool("tool_call", title="ls", kind="execute", status=status), book) == []
    assert book.get("c-1").status == "completed"


def test_an_id_may_be_used_again_in_another_turn() -> None:
    book = ToolBook()
    facts(tool("tool_call", title="ls", kind="execute", status="completed"), book)
    facts({**tool("tool_call", title="pwd", status="in_progress"), "toolCallId": "c-2"}, book)
    book.forget_closed()
    (again,) = facts(tool("tool_call", title="id", kind="execute", status="pending"), book)
    assert again == e.ToolChanged("c-1", "id", "execute", "pending", None, None)
    assert book.get("c-2").title == "pwd"


def test_the_input_of_a_closed_call_is_let_go() -> None:
    book = ToolBook()
    facts(tool("tool_call", status="pending", rawInput={"content": "a whole file"}), book)
    facts(tool("tool_call_update", status="completed"), book)
    assert book.get("c-1").announced.raw_input == {}


def test_a_book_forgets_the_oldest_calls() -> None:
    book = ToolBook()
    for n in range(BOOK_LIMIT + 1):
        book.merge(f"c-{n}", {"title": str(n)})
    assert book.get("c-0") == ToolRecord()
    assert book.get(f"c-{BOOK_LIMIT}").title == str(BOOK_LIMIT)


def test_places_that_were_named_before_are_kept_when_a_later_update_names_others() -> None:
    book = ToolBook()
    facts(tool("tool_call", locations=[{"path": "/a"}, {"path": "/b"}]), book)
    diff = {"type": "diff", "path": "/d", "newText": "x"}
    facts(tool("tool_call_update", locations=[{"path": "/c"}], content=[diff]), book)
    facts(tool("tool_call_update", locations=[], content=[]), book)
    said = book.get("c-1").announced
    assert (list(said.locations), list(said.diffs)) == (["/a", "/b", "/c"], ["/d"])


def test_a_request_is_kept_apart_from_the_updates_and_replaces_the_one_before() -> None:
    book = ToolBook()
    facts(tool("tool_call", kind="edit", rawInput={"filePath": "/a"}), book)
    book.merge("c-1", {"kind": "other", "rawInput": {"parentDir": "/"}}, is_asked=True)
    book.merge("c-1", {"kind": "edit", "locations": [{"path": "/a"}]}, is_asked=True)
    record = book.get("c-1")
    assert (record.announced.kind, record.announced.raw_input) == ("edit", {"filePath": "/a"})
    assert (record.asked.kind, record.asked.raw_input, list(record.asked.locations)) == ("edit", {}, ["/a"])


@pytest.mark.parametrize("empty", [None, {}, [], "x"])
def test_an_empty_input_replaces_nothing(empty: object) -> None:
    book = ToolBook()
    facts(tool("tool_call", rawInput={"command": "ls"}), book)
    facts(tool("tool_call_update", rawInput=empty), book)
    assert book.get("c-1").announced.raw_input == {"command": "ls"}


def test_a_title_that_may_be_a_command_is_kept_whole() -> None:
    command = "true; " * 1_000 + "rm -rf ~"
    book = ToolBook()
    changed = book.merge("c", {"title": command, "kind": "execute"}, is_asked=True)
    assert book.get("c").asked.title == command
    assert changed is not None
    assert len(changed.title or "") < len(command)


def test_places_are_remembered_up_to_a_bound_that_is_told() -> None:
    locations = [{"path": f"/f{number}"} for number in range(PLACES_LIMIT + 1)]
    book = ToolBook()
    book.merge("c", {"locations": locations[:-1]})
    assert not book.get("c").announced.is_cut
    book.merge("c", {"locations": locations})
    said = book.get("c").announced
    assert (len(said.locations), said.is_cut) == (PLACES_LIMIT, True)
