"""Bytes become lines, however the pipe cuts them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.acp.framing import LineBuffer


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def lines_of(parts: list[bytes]) -> list[str]:
    buffer = LineBuffer()
    return [line for part in parts for line in buffer.feed(part)] + buffer.finish()


@given(st.binary() | st.text().map(str.encode), st.lists(st.integers(0, 200)))
def test_where_the_reads_are_cut_makes_no_difference(data: bytes, places: list[int]) -> None:
    assert lines_of(cut(data, places)) == lines_of([data])


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_lines_come_out_as_they_went_in(lines: list[str]) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    assert lines_of([data]) == lines


def test_g03_a_character_split_over_two_reads_stays_whole() -> None:
    data = "a€b漢😀\n".encode()
    assert lines_of([bytes([byte]) for byte in data]) == ["a€b漢😀"]
    assert lines_of([data[:2], data[2:3], data[3:]]) == ["a€b漢😀"]


def test_bytes_that_are_no_utf8_do_not_swallow_the_newline_after_them() -> None:
    assert lines_of([b"caf\xc3\nnext\n"]) == ["caf\ufffd", "next"]


def test_separators_of_unicode_do_not_end_a_line() -> None:
    assert lines_of(["one\u2028still\x85one\x0b\n".encode()]) == ["one\u2028still\x85one\x0b"]


def test_g04_what_stands_after_the_last_newline_is_a_line_too() -> None:
    assert lines_of([b"one\ntwo"]) == ["one", "two"]
    assert lines_of([b"one\n"]) == ["one"]


def test_a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    for parts in ([b"12345\n"], [b"123", b"45\n"], [b"12345", b"\n"]):
        buffer = LineBuffer(limit_bytes=5)
        assert [line for part in parts for line in buffer.feed(part)] == ["12345"]
        assert not buffer.is_overrun
    for parts in ([b"123456\n"], [b"123", b"456\n"], [b"123456"], [b"12345", b"6"]):
        buffer = LineBuffer(limit_bytes=5)
        assert [line for part in parts for line in buffer.feed(part)] == []
        assert buffer.is_overrun


@pytest.mark.parametrize("too_long", [b"123456\nlast\n", b"123456"])
def test_lines_in_front_of_one_that_is_too_long_are_not_lost(too_long: bytes) -> None:
    buffer = LineBuffer(limit_bytes=5)
    assert buffer.feed(b"one\ntwo\n" + too_long) == ["one", "two"]
    assert buffer.is_overrun
    assert buffer.feed(b"three\n") == []
    assert buffer.finish() == []
