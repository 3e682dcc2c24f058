"""The files that a patch names, and no line of its hunks that only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.agents.patches import PATCH_LIMIT_CHARS, files_of


def named(patch: str, *known: str) -> tuple[str, ...]:
    found, is_whole = files_of(patch, known, "/p")
    assert is_whole
    return found


@pytest.mark.parametrize(
    ("patch", "files"),
    [
        ("--- old.txt\n+++ new.txt\n@@ -1 +1 @@\n-a\n+b\n", ("old.txt", "new.txt")),
        ("--- /q/x\t2026-01-01\n+++ /q/x\t2026-01-02\n", ("/q/x",)),
        ("Index: x.py\n====\n--- x.py\n+++ x.py\n", ("x.py",)),
        ("--- /dev/null\n+++ b/new\n", ("new", "/new")),
        ("diff --git a/x y b/x y\nnew file mode 100644\n", ("x y", "/x y")),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", ("x", "y")),
        ("*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@ def f\n-x\n+y\n", ("a.py", "b.py")),
        ("*** Add File: a\n+*** Delete File: no\n*** Delete File: b \r\n", ("a", "b")),
        ("no patch at all", ()),
        ("", ()),
    ],
)
def test_a_patch_names_its_files(patch: str, files: tuple[str, ...]) -> None:
    assert named(patch) == files


@pytest.mark.parametrize("known", ["src/a.py", "/p/src/a.py", "./src/a.py"])
def test_a_file_that_is_known_already_is_not_named_again(known: str) -> None:
    assert named("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n", known) == ()


def test_an_absolute_path_behind_the_letter_is_known_too() -> None:
    assert named("diff --git a/etc/x b/etc/x\n--- a/etc/x\n+++ b/etc/x\n", "/etc/x") == ()


def test_what_a_hunk_removes_or_adds_is_no_header() -> None:
    patch = "--- x\n+++ x\n@@ -1,3 +1,3 @@\n \n--- /etc/no\n-a\n+++ /etc/no\n+b\n--- y\n+++ y\n"
    assert named(patch) == ("x", "y")


def test_a_hunk_that_claims_to_be_longer_than_it_is_hides_no_header() -> None:
    patch = "--- x\n+++ x\n@@ -1,99 +1,99 @@\n-a\n*** Update File: /etc/x\ndiff --git a/y b/y\n"
    assert named(patch) == ("x", "/etc/x", "y", "/y")


@pytest.mark.parametrize(
    "patch",
    ['--- "a/\\303\\244"\n', 'diff --git "a/\\303" "b/\\303"\n', "x" * (PATCH_LIMIT_CHARS + 1)],
    ids=["quoted", "quoted by git", "too long"],
)
def test_a_name_that_cannot_be_read_is_told(patch: str) -> None:
    assert files_of(patch, (), "/p") == ((), False)


@given(
    st.lists(
        st.sampled_from(["--- ", "+++ ", "@@ -1,2 +1 @@", "diff --git a b", "*** Move to: x", "\t", "y"])
    )
)
def test_no_text_is_fatal(lines: list[str]) -> None:
    files_of("\n".join(lines), ("x",), "/p")
