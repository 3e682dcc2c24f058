"""What a person allowed a moment ago: for which deeds it holds, and how often."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devplane.core.permission import Call
from devplane.daemon.grants import KEPT, Grants
from devplane.store.rows import DecisionRow

YES = DecisionRow(1, "r-1", "Bash", "x", "allow", "person", ask="a-1")


def command(line: str, cwd: str = "/w") -> Call:
    return Call("Bash", line, cwd)


@pytest.mark.parametrize(
    ("allowed", "deed"),
    [
        ("echo hi", "echo hi"),
        ('echo "a b"', "echo 'a b'"),
        ("ls *.py | wc -l", "bash -c 'ls *.py | wc -l'"),
        ("ls *.py | wc -l", "/bin/sh -lc 'ls *.py | wc -l'"),
        ("bash -lc 'make test'", "bash -lc 'make test'"),
        ("bash -lc 'make test'", "make test"),
    ],
)
def test_the_same_command_is_not_asked_about_twice(allowed: str, deed: str) -> None:
    grants = Grants()
    grants.add((command(allowed),), YES)
    assert grants.take(command(deed)) is YES
    assert grants.take(command(deed)) is None, "once"


@pytest.mark.parametrize(
    ("allowed", "deed"),
    [
        ("echo hi", "echo ho"),
        ("echo hi", "PATH=/evil echo hi"),
        ("make", "./sh -c make"),
        ("make", "sh -c 'make; rm -rf .'"),
        ("make", "sh -ic make"),
        ("rm a\nrm b", "rm a rm b"),
        ("rm $X", "rm '$X'"),
        ("rm *", "rm '*'"),
        ("rm ~", "rm '~'"),
        ("echo 'unclosed", "echo unclosed"),
    ],
)
def test_another_command_is_asked_about(allowed: str, deed: str) -> None:
    grants = Grants()
    grants.add((command(allowed),), YES)
    assert grants.take(command(deed)) is None


def test_the_same_command_in_another_folder_is_asked_about() -> None:
    grants = Grants()
    grants.add((command("make"),), YES)
    assert grants.take(command("make", "/w/sub")) is None
    assert grants.take(command("make")) is YES


def test_a_file_is_the_same_however_its_path_is_spelt(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(".")
    grants = Grants()
    grants.add((Call("Edit", "a.txt", str(tmp_path), ("a.txt", "b.txt")),), YES)
    assert grants.take(Call("Read", "a.txt", str(tmp_path), ("a.txt",))) is None
    assert grants.take(Call("Edit", "c.txt", str(tmp_path), ("c.txt",))) is None
    assert grants.take(Call("Edit", "x", str(tmp_path), (str(tmp_path / "link" / "a.txt"),))) is YES
    assert grants.take(Call("Edit", "a.txt", str(tmp_path), ("a.txt",))) is None
    assert grants.take(Call("Edit", "b.txt", str(tmp_path))) is YES, "each of its files, once"


def test_another_turn_knows_nothing_of_it_and_few_are_kept() -> None:
    grants = Grants()
    grants.add((command("make"),), YES)
    grants.clear()
    assert grants.take(command("make")) is None
    for number in range(KEPT + 1):
        grants.add((command(f"echo {number}"),), YES)
    assert grants.take(command("echo 0")) is None
    assert grants.take(command(f"echo {KEPT}")) is YES


def test_what_is_no_path_grants_nothing() -> None:
    grants = Grants()
    grants.add((Call("Edit", "a\0b", os.sep, ("a\0b",)),), YES)
    assert grants.take(Call("Edit", "a\0b", os.sep, ("a\0b",))) is None
