"""Scripted agents as commands to dispatch, and what is left of processes."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil

from tests.daemon.harness import LIMIT_S, Started
from tests.scripted import command, log

POLL_S = 0.01


def scripted(case: str, *arguments: object) -> str:
    """Return the command line of one scripted agent as a person would type it."""
    return shlex.join(command(case, *arguments))


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what only a file or the store can tell: look again and again."""
    with anyio.fail_after(LIMIT_S):
        while not is_so():  # noqa: ASYNC110
            await anyio.sleep(POLL_S)


async def noted(path: Path, key: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until an agent noted `count` things with `key` in its log, and return the notes."""
    await until(lambda: len(notes(path, key)) >= count)
    return notes(path, key)


def notes(path: Path, key: str) -> list[dict[str, Any]]:
    """What an agent noted so far that has `key`, oldest first."""
    found = [entry["note"] for entry in log.read(path) if isinstance(entry.get("note"), dict)]
    return [note for note in found if key in note]


async def answers(path: Path, count: int) -> list[dict[str, Any]]:
    """Wait until an agent has heard `count` answers to its own requests, and return them."""
    await until(lambda: len(heard_answers(path)) >= count)
    return heard_answers(path)


def heard_answers(path: Path) -> list[dict[str, Any]]:
    """Every answer that an agent has heard so far, oldest first."""
    return [each for each in log.messages(path) if "method" not in each]


async def ask_of(run: Started, number: int = 0) -> str:
    """Wait for the run's ask of that number, counted from 0, and return its id."""
    seen: set[str] = set()
    while True:
        frame = await run.until(
            lambda f: (
                f["kind"] == "fact"
                and f["name"] in ("PermissionAsked", "QuestionAsked")
                and f["fact"]["ask"] not in seen
            )
        )
        if len(seen) == number:
            await run.stored(frame["pos"])
            return str(frame["fact"]["ask"])
        seen.add(frame["fact"]["ask"])


def is_running(pid: int) -> bool:
    """Whether `pid` is a process that is not just waiting to be collected."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def members_of(home: Path) -> list[str]:
    """Say which processes carry the mark of `home`'s agents: none, once all of them are ended."""
    found = []
    for process in psutil.process_iter():
        try:
            is_marked = process.environ().get("DEVPLANE_AGENT_OF") == str(home)
            if is_marked and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
        except (psutil.Error, OSError):
            continue
    return found
