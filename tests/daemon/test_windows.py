"""Parts of texts: lines of a file (G-28), and the end of what a command printed (G-30)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.daemon.windows import OutputWindow, lines_of

THREE = b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("line", "limit", "wanted"),
    [
        (1, 1, b"one\n"),
        (None, 2, b"one\ntwo\n"),
        (3, None, b"three\n"),
        (4, None, b""),
        (99, 5, b""),
        (2, 99, b"two\nthree\n"),
        (None, None, THREE),
        (0, 1, b"one\n"),
        (1, 0, b""),
    ],
)
def test_g28_lines_are_counted_from_one_and_limited(
    line: int | None, limit: int | None, wanted: bytes
) -> None:
    assert lines_of(THREE, line, limit) == wanted


def test_g28_line_ends_and_a_missing_last_one_come_back_as_they_are() -> None:
    data = b"one\r\ntwo\rstill two\r\n\nlast"
    assert lines_of(data, None, None) == data
    assert lines_of(data, 2, 1) == b"two\rstill two\r\n"
    assert lines_of(data, 3, 9) == b"\nlast"
    assert lines_of(data, 4, 1) == b"last"


LINES = st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5), max_size=6)
COUNTS = st.none() | st.integers(0, 8)


@given(LINES, st.booleans(), COUNTS, COUNTS)
def test_g28_any_part_of_any_file_is_what_splitting_it_gives(
    lines: list[str], has_last_newline: bool, line: int | None, limit: int | None
) -> None:
    text = "\n".join(lines) + ("\n" if has_last_newline else "")
    parts = text.split("\n")
    whole = [*(part + "\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
    first = max((line or 1) - 1, 0)
    wanted = whole[first:] if limit is None else whole[first : first + limit]
    assert lines_of(text.encode(), line, limit) == "".join(wanted).encode()


PIECES = st.lists(st.binary(max_size=9), max_size=12)


@given(st.lists(st.text(max_size=6), max_size=12), st.integers(0, 40))
def test_g30_the_newest_whole_characters_are_kept(pieces: list[str], limit: int) -> None:
    window = OutputWindow(limit)
    for piece in pieces:
        window.add(piece.encode("utf-8", "surrogatepass"))
    everything = "".join(pieces).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    text = window.text(is_final=True)
    size = len(text.encode())
    assert everything.endswith(text)
    assert size <= limit
    if window.is_truncated:
        assert len(everything.encode()) > limit or "\ufffd" in everything
    else:
        assert text == everything
    rest = everything.removesuffix(text)
    if rest and "\ufffd" not in everything:
        assert size + len(rest[-1].encode()) > limit, "not a character less than there is room for"


@given(PIECES, st.integers(0, 30), st.booleans())
def test_g30_whatever_a_command_prints_the_reply_is_text_within_the_limit(
    pieces: list[bytes], limit: int, is_final: bool
) -> None:
    window = OutputWindow(limit)
    for piece in pieces:
        window.add(piece)
        text = window.text(is_final=is_final)
        assert len(text.encode()) <= limit


@given(st.text(min_size=1, max_size=30), st.data())
def test_g30_half_a_character_at_the_end_waits_for_its_other_half(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    cut = data.draw(st.integers(0, len(encoded)))
    window = OutputWindow(1000)
    window.add(encoded[:cut])
    first = window.text(is_final=False)
    assert text.startswith(first)
    assert "\ufffd" not in first or "\ufffd" in text
    window.add(encoded[cut:])
    assert window.text(is_final=False) == text


def test_g30_what_is_thrown_away_is_not_kept_in_memory() -> None:
    window = OutputWindow(100)
    for _ in range(1000):
        window.add(b"x" * 10_000)
    assert len(window._kept) < 200_000
    assert (window.text(is_final=True), window.is_truncated) == ("x" * 100, True)
