from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.store.codec import encode, storable, to_json
from devplane.store.queries import Reader
from devplane.store.rows import Batch, QueuedPrompt, TrustRow
from tests.store.build import RUN, ask, decision, event, fill, fragment, run

ANY_TEXT = st.text(st.characters(codec=None))


def test_the_halves_of_a_character_from_two_chunks_become_it() -> None:
    assert storable("smile \ud83d" + "\ude00!") == "smile 😀!"


def test_half_a_character_alone_becomes_a_mark() -> None:
    assert storable("a\ud83db") == "a\ufffdb"


@given(ANY_TEXT)
def test_any_text_becomes_storable_and_what_is_storable_stays(text: str) -> None:
    stored = storable(text)
    assert stored.encode().decode() == stored
    assert storable(stored) == stored
    if all(not 0xD800 <= ord(char) <= 0xDFFF for char in text):
        assert stored == text


@given(st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers() | st.none() | st.lists(ANY_TEXT), max_size=4))
def test_any_payload_is_storable_json(payload: dict[str, object]) -> None:
    written = to_json(payload)
    written.encode()
    assert isinstance(json.loads(written), dict)


def test_what_json_cannot_say_is_refused_at_once() -> None:
    with pytest.raises(TypeError):
        encode(Batch(events=(event(1, value=object()),)))


def test_lone_surrogates_and_zeros_anywhere_do_not_stop_a_batch(path: Path) -> None:
    odd = "\ud800 and \0"
    outcome = fill(
        path,
        Batch(
            events=(event(1, text=odd, **{odd: [odd]}),),
            fragments=(fragment(2, odd, message_id=odd, turn=odd),),
            snapshot=run(name=odd, agent=odd, project=odd, snapshot={"title": odd}),
            asks=(ask("a-1", title=odd, closed_by=odd),),
            decisions=(decision(odd),),
            trusted=(TrustRow(odd, 1, odd),),
            queued=(QueuedPrompt(RUN, "t", odd, 1),),
        ),
    )
    assert outcome == [1]
    kept = "\ufffd and \0"
    with Reader.open(path) as reader:
        (spoken,) = reader.transcript(RUN, after_pos=1)
        assert spoken["type"] == "fragment"
        assert (spoken["text"], spoken["turn"]) == (kept, kept)
        assert reader.runs()[0]["snapshot"] == {"title": kept}
        assert reader.asks()[0]["title"] == reader.decisions()[0]["subject"] == kept
        assert reader.trusted()[0]["root"] == reader.queued(RUN)[0]["text"] == kept
