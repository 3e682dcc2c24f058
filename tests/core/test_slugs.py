"""Names for works, and which names git takes for a branch."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core import ids
from devplane.core.slugs import LIMIT_CHARS, branch_of, is_branch_name, slug_of

IDS = st.binary(min_size=ids.ID_BYTES, max_size=ids.ID_BYTES).map(lambda random: ids.make("w", random))


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix the login page", "fix-the-login-page-456789"),
        ("One two three four five six", "one-two-three-four-five-456789"),
        ("  CPU: 100% (again)!  ", "cpu-100-again-456789"),
        ("Größe der Überschrift", "grosse-der-uberschrift-456789"),
        ("naïve café", "naive-cafe-456789"),
        ("smørrebrød", "smrrebrd-456789"),
        ("ﬁx ℋ Ａ", "fix-h-a-456789"),
        ("日本語 fix", "fix-456789"),
        ("日本語", "work-456789"),
        ("?!… ../..", "work-456789"),
        ("", "work-456789"),
        ("--force", "force-456789"),
        ("main.lock", "main-lock-456789"),
        ("a" * 200, "a" * 53 + "-456789"),
        ("a" * 52 + " bcd", "a" * 52 + "-456789"),
    ],
)
def test_a_slug_is_five_plain_words_and_the_end_of_the_id(title: str, slug: str) -> None:
    assert slug_of(title, "w-0123456789") == slug


@given(st.text(), IDS)
def test_a_slug_is_always_a_file_name_and_a_branch(title: str, id: str) -> None:  # noqa: A002
    slug = slug_of(title, id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
    assert len(slug) <= LIMIT_CHARS
    assert slug.endswith("-" + id[-6:])
    assert is_branch_name(branch_of(slug))


@given(st.text(), st.text())
def test_a_strange_id_does_no_harm(title: str, id: str) -> None:  # noqa: A002
    assert is_branch_name(branch_of(slug_of(title, id)))


NAMES = [
    *("main", "devplane/x", "a.b", "a@b", "@a", "(detached)", "a{b", "é", "a/-b", "v1.0", "x" * 100),
    *("", "HEAD", "-x", "--all", "/a", "a/", "a//b", "a..b", "a.", ".a", "a/.b", "a.lock", "a.lock/b"),
    *("a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "a\x7f", "a\tb", "a\nb"),
]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_taken_for_a_branch_name_is_what_git_takes(name: str) -> None:
    done = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    assert is_branch_name(name) == (done.returncode == 0)


@pytest.mark.parametrize("name", ["@", "@{-1}"])
def test_a_name_that_git_reads_as_something_else_is_no_branch_name(name: str) -> None:
    assert not is_branch_name(name)
