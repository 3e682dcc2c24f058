from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import devplane
from devplane.errors import NotFound
from devplane.store.failure import StoreFailed
from devplane.store.migrations import SCHEMA_VERSION
from devplane.store.queries import PAGE_ROWS, Reader
from devplane.store.rows import Batch, EventRow, QueuedPrompt, SeenRow, TrustRow
from tests.store.build import RUN, ask, decision, event, fill, fragment, run

HEAVY = ("anyio", "asyncio", "dataclasses", "inspect", "pydantic", "urllib", "importlib.resources")


def test_reading_imports_next_to_nothing() -> None:
    code = f"import sys, devplane.store.queries; print([m for m in {HEAVY!r} if m in sys.modules])"
    root = Path(devplane.__file__).parents[1]
    # Without `site`, whose own imports (an editable install's, say) are not ours.
    shown = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert shown.stdout == "[]\n", shown.stderr


def test_where_there_is_no_store_every_answer_is_empty(path: Path) -> None:
    with Reader.open(path) as reader:
        assert reader.runs(all=True) == reader.asks() == reader.decisions() == reader.trusted() == []
        assert reader.agents_seen() == reader.search("word") == reader.queued(RUN) == []
        assert reader.run(RUN) is reader.ask("a-1") is None
        assert list(reader.transcript(RUN)) == list(reader.transcript(RUN, last=5)) == []
        assert list(reader.events(RUN)) == []
        assert reader.check() == {"path": str(path), "exists": False, "problems": []}
        with pytest.raises(NotFound):
            reader.resolve("anything")
    assert not path.exists()


def test_a_store_that_is_just_being_made_is_empty_too(path: Path) -> None:
    path.touch()
    with Reader.open(path) as reader:
        assert reader.runs() == []


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    folder = tmp_path / "a b?mode=rw&x#y%41 ü"
    folder.mkdir()
    fill(folder / "devplane.db", Batch(snapshot=run()))
    with Reader.open(folder / "devplane.db") as reader:
        assert len(reader.runs()) == 1


def test_a_reader_cannot_write(path: Path) -> None:
    fill(path, Batch(snapshot=run()))
    with Reader.open(path) as reader, pytest.raises(StoreFailed, match="no permission to write"):
        reader._select("DELETE FROM runs")


def test_a_file_of_something_else_is_said(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StoreFailed, match="not a database"):
        Reader.open(path)


def test_an_older_store_is_refused_and_the_remedy_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    monkeypatch.setattr("devplane.store.queries.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    older = f"version {SCHEMA_VERSION}, older than {SCHEMA_VERSION + 1}"
    with pytest.raises(StoreFailed, match=older) as caught:
        Reader.open(path)
    assert "devplane serve" in str(caught.value.hint)


def test_a_damaged_store_is_reported_by_check_and_never_a_traceback(path: Path) -> None:
    fill(path, *(Batch(events=(event(pos, text="x" * 3000),)) for pos in range(100)))
    content = bytearray(path.read_bytes())
    content[len(content) // 3 :] = b"\xff" * (len(content) - len(content) // 3)
    path.write_bytes(content)
    with Reader.open(path) as reader:
        assert reader.check()["problems"]
        with pytest.raises(StoreFailed, match="damaged"):
            list(reader.events(RUN))


def test_listing_shows_runs_in_play_newest_first_and_all_when_asked(path: Path) -> None:
    old, ended, new = run("r-1", created_ms=1), run("r-2", live=False, created_ms=2), run("r-3", created_ms=3)
    other = run("r-4", created_ms=4, project="/home/me/blog")
    fill(path, *(Batch(snapshot=each) for each in (new, old, other, ended)))
    with Reader.open(path) as reader:
        assert [each["id"] for each in reader.runs()] == ["r-4", "r-3", "r-1"]
        assert [each["id"] for each in reader.runs(all=True)] == ["r-4", "r-3", "r-2", "r-1"]
        assert [each["id"] for each in reader.runs(project="/home/me/shop")] == ["r-3", "r-1"]
        assert reader.runs(all=True)[2]["live"] is False


def test_a_snapshot_is_at_its_runs_last_event(path: Path) -> None:
    fill(
        path,
        Batch(events=(event(1), event(2)), snapshot=run()),
        Batch(events=(event(1, run="r-other"),)),
        Batch(snapshot=run(state="working")),
    )
    with Reader.open(path) as reader:
        found = reader.run(RUN)
    assert found is not None
    assert (found["seq"], found["state"]) == (2, "working")


RUNS = (
    run("r-abc1111111", "fix-login", live=False),
    run("r-abc2222222", "fix-login"),
    run("r-abd3333333", "tidy", live=False),
    run("r-xyz4444444", "tests"),
    run("r-xyz5555555", "tests"),
)


@pytest.fixture
def named(path: Path) -> Reader:
    fill(path, *(Batch(snapshot=each) for each in RUNS))
    return Reader.open(path)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("r-abc1111111", "r-abc1111111"),
        ("r-abd", "r-abd3333333"),
        ("abd", "r-abd3333333"),
        ("r-xyz4", "r-xyz4444444"),
        ("tidy", "r-abd3333333"),
        ("fix-login", "r-abc2222222"),
        ("r-abc", "r-abc2222222"),
    ],
    ids=["whole", "beginning", "without r-", "beginning in play", "name", "name in play", "one in play"],
)
def test_a_run_is_meant_by_its_id_its_beginning_or_its_name(named: Reader, text: str, meant: str) -> None:
    with named:
        assert named.resolve(text) == meant


@pytest.mark.parametrize("text", ["tests", "r-xyz", "xyz"])
def test_what_could_be_several_runs_lists_them_and_chooses_none(named: Reader, text: str) -> None:
    with named, pytest.raises(NotFound, match="could be 2 runs") as caught:
        named.resolve(text)
    assert caught.value.hint is not None
    assert "r-xyz4444444 (tests)" in caught.value.hint
    assert "r-xyz5555555 (tests)" in caught.value.hint


@pytest.mark.parametrize("text", ["", "zzz", "r-abc%", "r-ab_1111111", "FIX-LOGIN' OR 1=1 --", "\0"])
def test_what_no_run_is_called_is_not_found(named: Reader, text: str) -> None:
    with named, pytest.raises(NotFound, match="no run"):
        named.resolve(text)


def test_many_candidates_are_counted_and_only_the_first_are_named(path: Path) -> None:
    fill(path, *(Batch(snapshot=run(f"r-{number:010}")) for number in range(12)))
    with Reader.open(path) as reader, pytest.raises(NotFound, match="12 runs") as caught:
        reader.resolve("r-")
    assert str(caught.value.hint).endswith("and 4 more.")


def test_a_transcript_is_what_was_said_and_what_happened_in_one_order(path: Path) -> None:
    fill(
        path,
        Batch(fragments=(fragment(3, "Hello", turn="t-1", message_id="m", continues=True),)),
        Batch(events=(event(4, kind="turn_ended"),)),
        Batch(fragments=(fragment(2, "hm", role="thought", open=True),), events=(event(1, text="é"),)),
        Batch(events=(event(2, run="r-other"),)),
    )
    with Reader.open(path) as reader:
        assert list(reader.transcript(RUN)) == [
            {"type": "event", "pos": 1, "at_ms": 1, "kind": "noted", "payload": {"text": "é"}},
            {
                "type": "fragment",
                "pos": 2,
                "at_ms": 2,
                "role": "thought",
                "turn": None,
                "message_id": None,
                "open": True,
                "continues": False,
                "text": "hm",
            },
            {
                "type": "fragment",
                "pos": 3,
                "at_ms": 3,
                "role": "agent",
                "turn": "t-1",
                "message_id": "m",
                "open": False,
                "continues": True,
                "text": "Hello",
            },
            {"type": "event", "pos": 4, "at_ms": 4, "kind": "turn_ended", "payload": {}},
        ]
        assert [each["pos"] for each in reader.transcript(RUN, after_pos=2)] == [3, 4]
        assert [each["pos"] for each in reader.transcript(RUN, last=3)] == [2, 3, 4]
        assert [each["pos"] for each in reader.transcript(RUN, last=0)] == []


def test_a_long_transcript_is_read_to_its_end(path: Path) -> None:
    count = 2 * PAGE_ROWS + 1
    fill(path, Batch(events=tuple(event(pos) for pos in range(count))))
    with Reader.open(path) as reader:
        assert [each["pos"] for each in reader.transcript(RUN)] == list(range(count))
        assert [each["pos"] for each in reader.events(RUN)] == list(range(count))


def test_a_fragment_is_replaced_in_place_and_keeps_its_time(path: Path) -> None:
    fill(
        path,
        Batch(fragments=(fragment(1, "Hel", open=True, at_ms=5),)),
        Batch(fragments=(fragment(1, "Hello", at_ms=9),)),
    )
    with Reader.open(path) as reader:
        (entry,) = reader.transcript(RUN)
    assert entry["type"] == "fragment"
    assert (entry["text"], entry["at_ms"], entry["open"]) == ("Hello", 5, False)


def test_asks_are_listed_oldest_first_and_by_state(path: Path) -> None:
    fill(
        path,
        Batch(asks=(ask("a-new", at_ms=9), ask("a-old", at_ms=1), ask("a-done", at_ms=2))),
        Batch(asks=(ask("a-done", "answered", at_ms=2, closed_ms=5, closed_by="you"),)),
    )
    with Reader.open(path) as reader:
        assert [each["id"] for each in reader.asks()] == ["a-old", "a-new"]
        assert [each["id"] for each in reader.asks(state=None)] == ["a-old", "a-done", "a-new"]
        assert reader.asks(run="r-other") == []
        done = reader.ask("a-done")
        assert reader.resolve_ask("d") == "a-done"
        assert reader.resolve_ask("a-n") == "a-new"
        with pytest.raises(NotFound, match="2 asks"):
            reader.resolve_ask("a-")
        with pytest.raises(NotFound, match="no ask"):
            reader.resolve_ask("r-1")
    assert done is not None
    assert (done["state"], done["closed_ms"], done["closed_by"]) == ("answered", 5, "you")


def test_decisions_come_newest_first_also_within_one_millisecond(path: Path) -> None:
    rows = tuple(decision(str(number), run=f"r-{number % 2}") for number in range(6))
    fill(path, Batch(decisions=rows))
    with Reader.open(path) as reader:
        assert [each["subject"] for each in reader.decisions()] == ["5", "4", "3", "2", "1", "0"]
        assert [each["subject"] for each in reader.decisions("r-1", limit=2)] == ["5", "3"]


def test_decisions_are_found_by_their_ask_and_by_their_authority(path: Path) -> None:
    rows = (decision("one"), replace(decision("two"), ask="a-2", authority="person", file="x.toml", line=7))
    fill(path, Batch(decisions=rows))
    with Reader.open(path) as reader:
        assert [each["subject"] for each in reader.decisions(ask="a-2")] == ["two"]
        assert [(each["file"], each["line"]) for each in reader.decisions(authority="person")] == [
            ("x.toml", 7)
        ]
        assert [each["subject"] for each in reader.decisions(authority="rule", limit=1)] == ["one"]
        assert reader.decisions("r-other", authority="rule") == []


def asked(pos: int, ask: str, **more: Any) -> EventRow:
    return event(pos, kind="PermissionAsked", ask=ask, **more)


def test_every_request_is_found_newest_first_with_its_calls_and_its_answer(path: Path) -> None:
    calls = [{"tool": "Bash", "subject": "ls", "cwd": "/w", "paths": [], "input": {"command": "ls"}}]
    answered = tuple(
        replace(decision(), ask=ask, verdict=verdict, authority=authority)
        for ask, verdict, authority in (("a-1", "allow", "rule"), ("a-2", "deny", "person"))
    )
    fill(path, Batch(events=(asked(1, "a-1", calls=calls), event(2), asked(3, "a-2")), decisions=answered))
    fill(path, Batch(events=(asked(4, "a-3", calls=calls),)))
    with Reader.open(path) as reader:
        found = list(reader.calls())
        assert [each["ask"] for each in reader.calls(limit=2)] == ["a-3", "a-2"]
        assert list(reader.calls(limit=0)) == []
    assert [(each["ask"], each["calls"], each["verdict"], each["authority"]) for each in found] == [
        ("a-3", calls, None, None),
        ("a-2", [], "deny", "person"),
        ("a-1", calls, "allow", "rule"),
    ]
    assert {(each["run"], each["at_ms"]) for each in found} == {(RUN, 1), (RUN, 3), (RUN, 4)}


def test_requests_are_read_page_by_page_to_the_first(path: Path) -> None:
    count = 2 * PAGE_ROWS + 1
    fill(path, Batch(events=tuple(asked(pos, f"a-{pos}") for pos in range(count))))
    with Reader.open(path) as reader:
        assert [each["ask"] for each in reader.calls()] == [f"a-{pos}" for pos in reversed(range(count))]
        assert len(list(reader.calls(limit=PAGE_ROWS + 1))) == PAGE_ROWS + 1


def test_a_decisions_subject_is_cut_with_a_mark(path: Path) -> None:
    fill(path, Batch(decisions=(decision("x" * 5000),)))
    with Reader.open(path) as reader:
        assert reader.decisions()[0]["subject"] == "x" * 1999 + "…"


def test_trust_stays_as_it_was_given_until_it_is_taken_back(path: Path) -> None:
    fill(path, Batch(trusted=(TrustRow("/b", 1, "you"), TrustRow("/a", 2, "you"))))
    fill(path, Batch(trusted=(TrustRow("/b", 99, "an event"),)))
    with Reader.open(path) as reader:
        assert reader.trusted() == [
            {"root": "/a", "at_ms": 2, "by": "you"},
            {"root": "/b", "at_ms": 1, "by": "you"},
        ]
    fill(path, Batch(distrusted=("/b", "/never")))
    with Reader.open(path) as reader:
        assert [each["root"] for each in reader.trusted()] == ["/a"]


def test_an_agent_is_remembered_as_it_was_last_seen(path: Path) -> None:
    first, then = (
        SeenRow("demo", "demo --acp", "1.0", 1, {}),
        SeenRow("demo", "demo --acp", None, 2, {"a": 1}),
    )
    fill(path, Batch(seen=(first, SeenRow("demo", "other", "3", 0, {}))), Batch(seen=(then,)))
    with Reader.open(path) as reader:
        assert [(each["command"], each["version"], each["payload"]) for each in reader.agents_seen()] == [
            ("demo --acp", None, {"a": 1}),
            ("other", "3", {}),
        ]


def test_queued_prompts_keep_their_order_and_leave_when_dropped(path: Path) -> None:
    fill(
        path, Batch(queued=tuple(QueuedPrompt(RUN, turn, f"do {turn}", 1) for turn in ("t-9", "t-1", "t-5")))
    )
    fill(path, Batch(unqueued=((RUN, "t-1"),)))
    with Reader.open(path) as reader:
        assert [each["turn"] for each in reader.queued(RUN)] == ["t-9", "t-5"]
        assert reader.queued("r-other") == []


def test_check_counts_what_is_there(path: Path) -> None:
    fill(path, Batch(events=(event(1),), snapshot=run(), fragments=(fragment(2, "x", open=True),)))
    with Reader.open(path) as reader:
        health = reader.check()
    assert health["problems"] == []
    assert health["open_fragments"] == 1
    assert health["counts"]["events"] == health["counts"]["runs"] == health["counts"]["fragments"] == 1
