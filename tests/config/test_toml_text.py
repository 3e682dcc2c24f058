"""Where things stand in TOML, whatever strings and arrays pretend."""

from __future__ import annotations

import tomllib

import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from devplane.toml_text import line_of, split_lines, statements, trailing_comment

KEYS = st.text("ab#[]\"'. =\n", min_size=1, max_size=4)
VALUES = st.recursive(
    st.integers() | st.booleans() | st.text("a#[]\"'\n\\=", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def test_a_header_inside_a_string_or_an_array_is_not_one() -> None:
    text = 'a = """\n[b]\n# no comment\n"""\nc = [\n  [1],\n]\n["d.e".f]\ng.h = 1 # yes\n'
    assert [(s.start, s.end, s.path, s.is_header) for s in statements(text)] == [
        (0, 4, ("a",), False),
        (4, 7, ("c",), False),
        (7, 8, ("d.e", "f"), True),
        (8, 9, ("d.e", "f", "g", "h"), False),
    ]


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_the_statements_of_a_document_put_together_are_the_document(document: dict[str, object]) -> None:
    text = tomli_w.dumps(document)
    lines = split_lines(text)
    kept = "".join("".join(lines[s.start : s.end]) for s in statements(text))
    assert tomllib.loads(kept) == tomllib.loads(text)


def test_a_key_without_a_statement_of_its_own_is_found_where_its_table_is() -> None:
    text = "\nx = {a = 1, b = 2}\n"
    assert line_of(text, ("x", "b")) == 2


def test_a_comment_behind_a_value_is_told_from_a_hash_inside_it() -> None:
    assert trailing_comment('a = "x # y" # z \n') == "# z"
    assert trailing_comment('a = "x # y"\n') == ""
    assert trailing_comment("a = [ # one\n 1,\n] # two\n") == "# two"
