"""Chunks become fragments: joined, split and closed without losing a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devplane.daemon.transcript import FRAGMENT_LIMIT_CHARS, Transcript
from devplane.store.rows import FragmentRow


def said(transcript: Transcript, *chunks: str, role: str = "agent", message: str | None = None) -> None:
    for text in chunks:
        transcript.chunk(role, message, text, "t-1", 1)


def stored(*batches: tuple[FragmentRow, ...]) -> list[FragmentRow]:
    """What a store has that was given `batches`: a row replaces the one at its place."""
    kept: dict[int, FragmentRow] = {}
    for rows in batches:
        kept.update({row.pos: row for row in rows})
    return [kept[pos] for pos in sorted(kept)]


def texts(*batches: tuple[FragmentRow, ...]) -> list[str]:
    return [row.text for row in stored(*batches)]


def test_chunks_of_one_message_are_one_fragment() -> None:
    transcript = Transcript("r-1", 5)
    said(transcript, "Hel", "lo", ".")
    transcript.close()
    assert transcript.take_rows() == (FragmentRow("r-1", 5, 1, "agent", "Hello.", turn="t-1"),)
    assert transcript.take_rows() == ()


def test_an_open_fragment_is_written_where_it_began_until_it_closes() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "Hel")
    first = transcript.take_rows()
    assert [(row.pos, row.text, row.open) for row in first] == [(0, "Hel", True)]
    assert not transcript.has_news
    assert transcript.take_rows() == ()
    said(transcript, "lo")
    assert transcript.has_news
    transcript.close()
    assert [(row.pos, row.text, row.open) for row in transcript.take_rows()] == [(0, "Hello", False)]


def test_another_role_begins_another_fragment() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "hm", role="thought")
    said(transcript, "Hello")
    said(transcript, "hm again", role="thought")
    rows = transcript.take_rows()
    assert [(row.role, row.text, row.open) for row in rows] == [
        ("thought", "hm", False),
        ("agent", "Hello", False),
        ("thought", "hm again", True),
    ]


def test_another_message_begins_another_fragment_and_a_missing_id_does_not() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "a", message=None)
    said(transcript, "b", message="m1")
    said(transcript, "c", message=None)
    said(transcript, "d", message="m2")
    rows = transcript.take_rows()
    assert [(row.text, row.message_id) for row in rows] == [("abc", "m1"), ("d", "m2")]


def test_g14_what_is_said_outside_a_turn_is_a_fragment_of_its_own() -> None:
    transcript = Transcript("r-1", 0)
    for turn in (None, "t-1", "t-1", None, "t-2"):
        transcript.chunk("agent", None, "x", turn, 1)
    rows = transcript.take_rows()
    assert [(row.turn, row.text) for row in rows] == [(None, "x"), ("t-1", "xx"), (None, "x"), ("t-2", "x")]


def test_g17_late_text_goes_on_in_the_fragment_that_its_turn_left_open() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "The answer is ")
    at_the_end = transcript.take_rows()
    said(transcript, "42.")
    transcript.close()
    assert texts(at_the_end, transcript.take_rows()) == ["The answer is 42."]


def test_blank_fragments_leave_no_trace() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "", " \n")
    assert transcript.take_rows() == ()
    transcript.close()
    transcript.close()
    assert transcript.take_rows() == ()


def test_a_long_text_goes_on_in_rows_of_their_own() -> None:
    transcript = Transcript("r-1", 0)
    piece = "x" * 1000
    said(transcript, *[piece] * 40)
    transcript.close()
    rows = transcript.take_rows()
    assert [row.continues for row in rows] == [False, True, True]
    assert "".join(row.text for row in rows) == piece * 40
    assert all(len(row.text) < FRAGMENT_LIMIT_CHARS + len(piece) for row in rows)
    assert len({row.pos for row in rows}) == 3


def test_blanks_that_belong_to_a_long_text_are_kept() -> None:
    for parts in (("x" * FRAGMENT_LIMIT_CHARS, "\n"), (" " * FRAGMENT_LIMIT_CHARS, "x")):
        transcript = Transcript("r-1", 0)
        said(transcript, *parts)
        transcript.close()
        assert texts(transcript.take_rows()) == list(parts)


def test_a_prompt_is_whole_at_once_and_closes_what_was_open() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "Hello")
    pos = transcript.whole("user", "go on", "t-2", 9)
    rows = transcript.take_rows()
    assert [(row.pos, row.role, row.text, row.open) for row in rows] == [
        (0, "agent", "Hello", False),
        (pos, "user", "go on", False),
    ]


def test_facts_and_fragments_share_one_order() -> None:
    transcript = Transcript("r-1", 3)
    assert transcript.take_pos() == 3
    said(transcript, "a")
    assert transcript.take_pos() == 5
    assert transcript.place == (4, 1)
    transcript.close()
    assert transcript.place == (5, 0)


def test_watchers_hear_each_piece_once() -> None:
    transcript = Transcript("r-1", 0)
    said(transcript, "a", "b")
    assert transcript.take_heard() == [(0, "agent", False, "ab")]
    said(transcript, "c")
    said(transcript, "d", role="thought")
    assert transcript.take_heard() == [(0, "agent", False, "c"), (1, "thought", False, "d")]
    assert transcript.take_heard() == []


ROLES = st.sampled_from(["agent", "thought"])
PIECES = st.one_of(
    st.text(min_size=1, max_size=6).map(lambda text: f"{text}."),
    st.sampled_from(["x" * 9000, "y" * FRAGMENT_LIMIT_CHARS, "€" * 20_000]),
)
CHUNK = st.tuples(
    st.just("chunk"), ROLES, st.sampled_from([None, "m1", "m2"]), PIECES, st.sampled_from([None, "t-1"])
)
STEPS = st.lists(
    st.one_of(CHUNK, CHUNK, st.tuples(st.sampled_from(["close", "take", "hear", "fact"]))), max_size=25
)


@given(STEPS)
def test_what_is_stored_and_heard_is_what_was_said_however_it_was_cut(steps: list[tuple[str, ...]]) -> None:
    transcript = Transcript("r-1", 0)
    batches, heard = [], []
    for step in steps:
        match step:
            case ("chunk", role, message, text, turn):
                transcript.chunk(role, message, text, turn, 1)
            case ("close",):
                transcript.close()
            case ("take",):
                batches.append(transcript.take_rows())
            case ("hear",):
                heard += transcript.take_heard()
            case _:
                transcript.take_pos()
    transcript.close()
    batches.append(transcript.take_rows())
    heard += transcript.take_heard()
    spoken = [step for step in steps if step[0] == "chunk"]
    rows = stored(*batches)
    assert "".join(row.text for row in rows) == "".join(text for _, _, _, text, _ in spoken)
    assert "".join(text for *_, text in heard) == "".join(text for _, _, _, text, _ in spoken)
    for wanted in ("agent", "thought"):
        of_role = "".join(text for _, role, _, text, _ in spoken if role == wanted)
        assert "".join(row.text for row in rows if row.role == wanted) == of_role
    for turn in (None, "t-1"):
        of_turn = "".join(text for *_, text, when in spoken if when == turn)
        assert "".join(row.text for row in rows if row.turn == turn) == of_turn
    assert not any(row.open for row in rows)
    assert not transcript.has_news
