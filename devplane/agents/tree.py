"""Process trees: who descends from whom, told apart from reused pids by start time, and ending them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

import anyio
import psutil

from devplane import children

POLL_S = 0.02
_PR_SET_CHILD_SUBREAPER = 36
START_TIME_SLACK_S = 1.0
"""Start times are read from clocks of coarse ticks; two processes of one pid are never this close."""

RUN_VARIABLE = "DEVPLANE_RUN"
"""Set in every agent's environment: the id of its run."""
HOME_VARIABLE = "DEVPLANE_AGENT_OF"
"""Set in every agent's environment: the home whose daemon started it."""


def started_s(pid: int) -> float | None:
    """Return when `pid` started (epoch seconds), or ``None`` when there is no such process."""
    if pid <= 0:
        return None
    with suppress(psutil.Error, OSError):
        return psutil.Process(pid).create_time()
    return None


def is_same(pid: int, started: float) -> bool:
    """Whether `pid` is alive and is still the process that started at `started` (G-34)."""
    now = started_s(pid)
    return now is not None and abs(now - started) < START_TIME_SLACK_S and not is_zombie(pid)


def is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True
    except OSError:
        return False


def collect(pid: int, started: float, home: str) -> set[psutil.Process]:
    """Return the process, its descendants, and what else is in its session or group.

    Empty when `pid` is by now another process. Where it is gone, somebody else may have led
    a session of that number since and be gone too, so members count only when they
    descend from this process or carry the mark of `home`.
    """
    if pid <= 1:
        return set()
    found: set[psutil.Process] = set()
    is_there = False
    with suppress(psutil.Error, OSError):
        root = psutil.Process(pid)
        if abs(root.create_time() - started) >= START_TIME_SLACK_S:
            return set()
        is_there = True
        found = {root, *root.children(recursive=True)}
    for other in _pids():
        with suppress(OSError, psutil.Error):
            if pid in (os.getsid(other), os.getpgid(other)):
                member = psutil.Process(other)
                if is_there or _is_ours(member, home):
                    found.add(member)
    return found


def _is_ours(process: psutil.Process, home: str) -> bool:
    if os.getpid() in (ancestors(process.pid) or ()):
        return True
    return _environment(process).get(HOME_VARIABLE) == home


def marked(home: str, run: str | None = None) -> set[psutil.Process]:
    """Return processes whose environment says that `home` started them (for `run`, if given).

    Finds what detached itself from its tree; a process that cleared its
    environment is found only through its ancestors.
    """
    found: set[psutil.Process] = set()
    for pid in _pids():
        if pid == os.getpid():
            continue
        with suppress(OSError, psutil.Error):
            process = psutil.Process(pid)
            env = _environment(process)
            if env.get(HOME_VARIABLE) == home and (run is None or env.get(RUN_VARIABLE) == run):
                found.add(process)
    return found


def _pids() -> list[int]:
    """Every process there is; none where the system cannot say, as when descriptors have run out."""
    with suppress(OSError, psutil.Error):
        return psutil.pids()
    return []


def _with_descendants(members: set[psutil.Process]) -> set[psutil.Process]:
    """Return `members` and everything below them, from one look at who is whose child."""
    below: dict[int, list[int]] = {}
    for pid in _pids():
        with suppress(OSError, psutil.Error):
            below.setdefault(psutil.Process(pid).ppid(), []).append(pid)
    found = set(members)
    waiting = [each.pid for each in members]
    seen = set(waiting)
    while waiting:
        for pid in below.get(waiting.pop(), ()):
            if pid not in seen:
                seen.add(pid)
                waiting.append(pid)
                with suppress(OSError, psutil.Error):
                    found.add(psutil.Process(pid))
    return found


async def end(members: Iterable[psutil.Process], *, term_grace_s: float, kill_grace_s: float) -> bool:
    """End `members` and what they start meanwhile: SIGTERM, then SIGKILL. Return whether all are gone."""
    left = set(members)
    for number, grace_s in ((signal.SIGTERM, term_grace_s), (signal.SIGKILL, kill_grace_s)):
        left = {each for each in left if is_alive(each)}
        if not left:
            return True
        # Children that were born since the last look would outlive their parents.
        left = await anyio.to_thread.run_sync(_with_descendants, left)
        for each in left:
            with suppress(psutil.Error, OSError):
                each.send_signal(number)
        with anyio.move_on_after(grace_s):
            while any(is_alive(each) for each in left):  # noqa: ASYNC110 - nobody reports a stranger's end
                await anyio.sleep(POLL_S)
    return not any(is_alive(each) for each in left)


def is_alive(process: psutil.Process) -> bool:
    """Whether it is the same process still, and not a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    except OSError:
        return True  # it cannot be looked at now, which is no sign of its end


def adopt_orphans() -> bool:
    """Make this process the new parent of descendants whose parent ends (Linux); return whether it is.

    Whatever an agent detaches then still has the daemon among its ancestors, so
    that it can be told from a person's process and ended with the run.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


HELPER_AGE_S = 15.0
"""A younger child may be a short-lived helper of this process itself, such as ``node --version``."""


def adopted() -> set[psutil.Process]:
    """Return this process's children that it did not start itself, reaping those that have ended."""
    found: set[psutil.Process] = set()
    if children.is_spawning():
        return found
    with suppress(psutil.Error, OSError):
        for child in psutil.Process().children():
            if not children.is_foreign(child.pid) or child.ppid() != os.getpid():
                continue
            if child.status() == psutil.STATUS_ZOMBIE:
                with suppress(OSError):
                    os.waitpid(child.pid, os.WNOHANG)
            elif time.time() - child.create_time() > HELPER_AGE_S or RUN_VARIABLE in _environment(child):
                found.add(child)
    return found


def kill_descendants() -> None:
    """Kill everything below this process, at once and without asking."""
    # What is born while the first are dying is found by the next look.
    for _ in range(3):
        with suppress(psutil.Error, OSError):
            for each in psutil.Process().children(recursive=True):
                with suppress(psutil.Error, OSError):
                    each.kill()


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


def ancestors(pid: int) -> list[int] | None:
    """Return the pids above `pid`, nearest first; ``None`` when `pid` is gone."""
    try:
        return [parent.pid for parent in psutil.Process(pid).parents()]
    except (psutil.Error, OSError):
        return None
