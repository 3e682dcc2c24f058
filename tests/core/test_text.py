"""Nothing that an agent wrote steers a terminal (G-49)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core.text import clipped, one_line, visible

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
STEERING = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0)))) + BIDI + "\ud800\udfff"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls\x1b[2K\rrm -rf ~", "ls␛[2K␍rm -rf ~"),
        ("\x1b]52;c;ZWNobyBwd25lZA==\x07", "␛]52;c;ZWNobyBwd25lZA==␇"),
        ("\x9b2J", "<U+009B>2J"),
        ("a\x7fb", "a␡b"),
        ("\u202egnp.exe", "<U+202E>gnp.exe"),
        ("half \ud83d", "half <U+D83D>"),
        ("two\n\tlines", "two\n\tlines"),
    ],
)
def test_g49_what_would_steer_a_terminal_is_shown_instead(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT)
def test_g49_no_control_character_survives(text: str) -> None:
    shown = visible(text)
    assert not set(shown) & (set(STEERING) - {"\n", "\t"})
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in shown if char not in "\n\t")
    shown.encode()


@pytest.mark.parametrize("char", sorted(set(STEERING) - {"\n", "\t"}), ids=lambda char: f"U+{ord(char):04X}")
def test_g49_each_of_them_leaves_a_mark(char: str) -> None:
    assert len(visible(f"a{char}b")) >= 3
    assert char not in visible(f"a{char}b")


@given(ANY_TEXT)
def test_g49_what_is_visible_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text().filter(str.isprintable))
def test_g49_printable_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


@given(ANY_TEXT, st.integers(min_value=1, max_value=50))
def test_a_line_is_one_line_and_no_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert not set(line) & set(STEERING)


def test_a_line_that_was_cut_says_so() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_clipped_text_keeps_its_beginning_and_counts_the_rest(text: str, limit: int) -> None:
    kept = clipped(text, limit)
    assert kept.startswith(text[:limit])
    if len(text) > limit:
        assert kept.endswith(f"[{len(text) - limit} characters cut]")
    else:
        assert kept == text
