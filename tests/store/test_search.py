from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.store.queries import Reader
from devplane.store.rows import Batch, EventRow
from tests.store.build import RUN, ask, fill, fragment


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = tmp_path_factory.mktemp("search") / "devplane.db"
    fill(
        path,
        Batch(
            fragments=(
                fragment(1, "Please fix the login page", role="user", at_ms=100),
                fragment(2, "The page for login is in café.py, see foo_bar()", at_ms=300),
                fragment(3, "not finished yet: login page", open=True, at_ms=400),
            ),
            asks=(ask("a-1", title="Run make login", at_ms=200),),
            events=(EventRow(RUN, 4, 150, "tool_changed", {"title": "Edit login.css"}, "Edit login.css"),),
        ),
        Batch(asks=(ask("a-1", "answered", title="Run make login", at_ms=200),)),
    )
    with Reader.open(path) as opened:
        yield opened


def test_speech_asks_and_tool_calls_are_found_newest_first(reader: Reader) -> None:
    assert [(hit["kind"], hit["ref"], hit["at_ms"]) for hit in reader.search("login")] == [
        ("agent", 2, 300),
        ("permission", "a-1", 200),
        ("tool_changed", 4, 150),
        ("user", 1, 100),
    ]
    assert {hit["run"] for hit in reader.search("login")} == {RUN}
    assert len(reader.search("login", limit=2)) == 2


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        ("login page", [2, 1]),
        ('"login page"', [1]),
        ("page login", [2, 1]),
        ('"page login"', []),
        ('"LOGIN PAGE"', [1]),
        ("cafe.py", [2]),
        ("foo_bar()", [2]),
        ('fix "the" login', [1]),
        ("login OR page", []),
        ("log*", []),
        ("text:login", []),
    ],
)
def test_all_words_are_found_phrases_side_by_side_and_operators_are_words(
    reader: Reader, text: str, refs: list[int]
) -> None:
    assert [hit["ref"] for hit in reader.search(text)] == refs


@given(
    st.text(st.characters(codec=None), max_size=30) | st.text("\"'*()^:-+ANDORNEAR{}\0 \ud800", max_size=15)
)
def test_whatever_a_person_types_is_safe(reader: Reader, text: str) -> None:
    for hit in reader.search(text):
        assert hit["run"] == RUN


def test_a_closed_fragment_that_is_corrected_is_found_by_its_new_words_only(path: Path) -> None:
    fill(path, Batch(fragments=(fragment(1, "first words"), fragment(2, "other words"))))
    fill(path, Batch(fragments=(fragment(1, "second words"),)))
    with Reader.open(path) as reader:
        assert reader.search("first") == []
        assert [hit["ref"] for hit in reader.search("second")] == [1]
        assert [hit["ref"] for hit in reader.search("words")] == [2, 1]


def test_a_snippet_of_a_long_text_is_short_and_holds_the_words(path: Path) -> None:
    fill(path, Batch(fragments=(fragment(1, "before " * 5000 + "needle " + "after " * 5000),)))
    with Reader.open(path) as reader:
        (hit,) = reader.search("needle")
    assert "needle" in hit["snippet"]
    assert len(hit["snippet"]) < 300
