"""Patterns of path rules: what they mean, and that every way of asking says the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core.policy.paths import PathPattern, any_of, normal
from devplane.core.policy.words import ANY, ONE, STAR

SEGMENTS = ["src", ".env", "a.py", "*", "**", "*.py", "s?c", "secrets", "[ab].py"]
texts = st.builds(
    lambda lead, parts, tail: lead + "/".join(parts) + tail,
    st.sampled_from(["", "/", "//", "~/", "./"]),
    st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3),
    st.sampled_from(["", "/", "/**"]),
)
names = st.sampled_from(["src", ".env", "a.py", "b.py", "secrets", "x"])
paths = st.lists(names, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))
anchors = st.sampled_from(["/", "/src", "/x/src", "/home"])


@given(st.lists(st.tuples(texts, anchors), max_size=4), paths)
def test_many_patterns_at_once_match_what_one_of_them_does(given: list[tuple[str, str]], path: str) -> None:
    starts = tuple((PathPattern.parse(text, "/x").floating(), anchor) for text, anchor in given)
    alone = any(pattern.matches(path, anchor, anywhere=True) for pattern, anchor in starts)

    assert (any_of(starts).match(path) is not None) == alone


@given(texts, anchors, paths)
def test_a_glob_that_is_a_plain_path_meets_what_it_matches(text: str, anchor: str, path: str) -> None:
    pattern = PathPattern.parse(text, "/x").floating()
    if pattern.matches(path, anchor, anywhere=True):
        assert pattern.meets(path, anchor, anywhere=True)


@given(texts, anchors, paths, st.data())
def test_a_glob_meets_whatever_one_of_its_paths_matches(
    text: str, anchor: str, path: str, data: st.DataObject
) -> None:
    pattern = PathPattern.parse(text, "/x").floating()
    if not pattern.matches(path, anchor, anywhere=True):
        return
    parts = path[1:].split("/")
    at = data.draw(st.integers(0, len(parts) - 1))
    # The shell's star takes no leading dot; an expansion takes anything.
    mark = ANY if parts[at].startswith(".") else data.draw(st.sampled_from([STAR, ANY]))
    parts[at] = data.draw(st.sampled_from([mark, parts[at][0] + mark, parts[at][:-1] + ONE]))
    known = "." in path.rpartition("/")[2][1:] or ".env" in path
    if mark != ANY or not known:
        assert pattern.meets("/" + "/".join(parts), anchor, anywhere=True)


@pytest.mark.parametrize(
    ("path", "made"),
    [("/a/../b", "/b"), ("//a//b/", "/a/b"), ("/..", "/"), ("/a/./b", "/a/b"), ("/a/b/../../..", "/")],
)
def test_a_path_is_read_where_it_lands(path: str, made: str) -> None:
    assert normal(path) == made
