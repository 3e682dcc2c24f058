from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import Program


@pytest.fixture
def devplane(tmp_path: Path) -> Iterator[Program]:
    """A program with an empty home, and a project that nobody trusts yet."""
    program = Program(tmp_path)
    yield program
    program.close()


@pytest.fixture
def trusted(devplane: Program) -> Program:
    devplane.ok("trust", ".", "--yes")
    return devplane


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Program, dict[str, str]]]:
    """A home with a finished run, one that asks, one whose agent failed; read only."""
    program = Program(tmp_path_factory.mktemp("lived"))
    program.ok("trust", ".", "--yes")
    runs = {}
    program.ok("dispatch", "--agent", "demo", "--wait", "quick first words here")
    runs["idle"] = program("ls", "--json").objects[0]["id"]
    runs["asks"] = program.dispatch("run: touch made.txt")
    while not program("inbox", "--json").out:
        pass
    program("dispatch", "--agent", "/bin/false", "hopeless")
    runs["failed"] = next(each["id"] for each in program("ls", "--all", "--json").objects if not each["live"])
    yield program, runs
    program.close()
