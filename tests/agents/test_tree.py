"""Whose a process is: told by start time, ancestry and mark, and never by a number alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from devplane.agents import tree

HOME = "/somewhere/home"
LEAVES_A_CHILD = (
    "import os, subprocess, sys\n"
    "child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)\n"
    "print(child.pid, flush=True)\n"
    "sys.stdin.read()\n"
    "os._exit(0)\n"
)


@contextmanager
def parent_of_a_sleeper(**environ: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield a leader of a session of its own, which ends with its stdin, and the pid of its child."""
    with subprocess.Popen(
        [sys.executable, "-c", LEAVES_A_CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environ},
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        while not psutil.Process(child).environ():
            pass  # it is just becoming what it is to run
        try:
            yield parent, child
        finally:
            with suppress(psutil.Error):
                psutil.Process(child).kill()


def leave(parent: subprocess.Popen[str]) -> None:
    assert parent.stdin is not None
    parent.stdin.close()
    parent.wait()


def pids(found: set[psutil.Process]) -> set[int]:
    return {each.pid for each in found}


def test_a_tree_is_collected_while_its_root_is_there() -> None:
    with parent_of_a_sleeper() as (parent, child):
        started = tree.started_s(parent.pid)
        assert started is not None
        assert pids(tree.collect(parent.pid, started, HOME)) == {parent.pid, child}
        leave(parent)


def test_g34_a_pid_that_is_another_process_by_now_brings_nothing() -> None:
    with parent_of_a_sleeper() as (parent, _):
        assert tree.collect(parent.pid, time.time() - 3600, HOME) == set()
        leave(parent)


@pytest.mark.parametrize("pid", [1, 0, -1])
def test_g34_a_number_that_is_no_agents_pid_brings_nothing(pid: int) -> None:
    assert tree.collect(pid, tree.started_s(1) or 0.0, HOME) == set()


def test_who_stays_behind_in_a_session_counts_only_with_the_mark_of_the_home() -> None:
    with parent_of_a_sleeper(**{tree.HOME_VARIABLE: HOME}) as (parent, child):
        started = tree.started_s(parent.pid)
        assert started is not None
        leave(parent)
        assert pids(tree.collect(parent.pid, started, HOME)) == {child}
        assert tree.collect(parent.pid, started, "/another/home") == set()


def test_a_process_that_is_gone_has_no_ancestors() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert tree.ancestors(process.pid) is None
    assert os.getppid() in (tree.ancestors(os.getpid()) or [])
