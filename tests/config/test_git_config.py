"""Git's configuration format."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devplane.git_config import entries


def test_sections_quotes_comments_and_continuations_are_read_as_git_does() -> None:
    text = (
        "[core]\n\tHooksPath = .hooks ; here\n\tbare\n"
        '[filter "a.\\"b"] clean = "run; x" \\\n  # y\n[Old.Sub]\nk = a  b\n'
    )
    assert [(e.name, e.value) for e in entries(text)] == [
        ("core.hookspath", ".hooks"),
        ("core.bare", "true"),
        ('filter.a."b.clean', "run; x"),
        ("old.sub.k", "a  b"),
    ]


@given(st.text('[]"\\=#; \nab.', max_size=60))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    list(entries(text))
