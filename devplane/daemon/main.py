"""The daemon from its first file to its last: opened in order, closed in reverse."""

from __future__ import annotations

import fcntl
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from logging.handlers import RotatingFileHandler

import anyio
from anyio.abc import TaskGroup

from devplane.agents import tree
from devplane.agents.catalog import Catalog
from devplane.daemon.board import Board, now_ms
from devplane.daemon.bounds import Bounds
from devplane.daemon.deadlines import Deadlines
from devplane.daemon.drive import Driver
from devplane.daemon.limits import Limits, from_environment
from devplane.daemon.listen import listen
from devplane.daemon.recover import recover
from devplane.daemon.recover_works import recover_works
from devplane.daemon.rulings import JudgeIn
from devplane.daemon.service import Service
from devplane.errors import DevplaneError
from devplane.paths import Home
from devplane.policies.live import Policies
from devplane.store.log import Log
from devplane.store.queries import Reader

_log = logging.getLogger("devplane.daemon")

LOG_LIMIT_BYTES = 2 << 20
LOCK_WAIT_S = 20.0
"""How long a daemon that is ending may take to let go of the home: its agents get their graces first."""
LOCK_POLL_S = 0.02
INSIST_S = 5.0
"""How long the daemon may take for its records once somebody insisted on its end."""
SWITCH_INTERVAL_S = 0.0005
"""The store's thread must get its turn while the loop is busy: an answer waits for its commit."""


class AnotherDaemon(DevplaneError):
    """The home has a daemon already."""

    hint = "See it with: devplane daemon status."


@contextmanager
def held_lock(home: Home) -> Iterator[None]:
    """Hold the home's lock: an open file's lock ends with the process, so no pid is believed (G-34).

    One that is just ending, or just starting, is waited for.

    Raises:
        AnotherDaemon: Somebody holds it and serves, or does not let go.
    """
    with home.lock.open("a+b") as file:
        give_up_s = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if _is_served(home) or time.monotonic() > give_up_s:
                    raise AnotherDaemon(f"another daemon serves {home.root}") from None
            time.sleep(LOCK_POLL_S)
        yield


def _is_served(home: Home) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(home.socket()))
        except OSError:
            return False
    return True


def serve(
    home: Home,
    *,
    ready_fd: int | None = None,
    judge_in: JudgeIn | None = None,
    clock_ms: Callable[[], int] = now_ms,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Be the daemon of `home` until told to stop.

    `judge_in` gives the rules of a folder, where they are not to come from its files. `clock_ms` is the
    clock of every record and deadline.

    Raises:
        DevplaneError: It cannot start; nothing is left behind.
    """
    home.prepare()
    limits = from_environment(os.environ)
    try:
        with held_lock(home):
            _log_to(home)
            anyio.run(_serve, home, limits, judge_in, clock_ms, ready_fd, on_ready)
    except AnotherDaemon:
        _tell(ready_fd, b"held")
        raise


async def _serve(
    home: Home,
    limits: Limits,
    judge_in: JudgeIn | None,
    clock_ms: Callable[[], int],
    ready_fd: int | None,
    on_ready: Callable[[], None],
) -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _allow_many_descriptors()
    tree.adopt_orphans()
    for problem in Catalog.load(home).problems:
        _log.warning("%s", problem)
    async with Log.open(home.database) as log:
        board = Board(log, clock_ms)
        notes = await recover(board, home)
        async with anyio.create_task_group() as tasks:
            trusted = _trusted(home)
            if judge_in is None:
                judge_in = Policies(home, is_trusted=trusted.__contains__).judge_in
            drivers: dict[str, Driver] = {}
            bounds = Bounds(drivers, clock_ms)
            service = Service(
                home, board, tasks, judge_in, limits, drivers, bounds, notes=notes, trusted=trusted
            )
            deadlines = Deadlines(drivers, clock_ms)
            board.on_ask = deadlines.something_waits
            service.notes += await recover_works(service)
            ready = anyio.Event()
            tasks.start_soon(partial(listen, service, home, ready=ready))
            tasks.start_soon(_obey_signals, service, tasks)
            tasks.start_soon(service.write_what_is_said)
            tasks.start_soon(service.reap_orphans)
            tasks.start_soon(service.notice_ended_children)
            tasks.start_soon(deadlines.keep)
            tasks.start_soon(bounds.keep)
            await ready.wait()
            _log.info("serving %s, pid %s", home.root, os.getpid())
            _tell(ready_fd, b"ready")
            on_ready()
            await service.stopping.wait()
            await service.interrupt_all()
            # The caller of `shutdown` is to have its answer before the socket goes.
            await anyio.sleep(0.05)
            await tree.end(tree.adopted(), term_grace_s=1.0, kill_grace_s=1.0)
            tasks.cancel_scope.cancel()
    _log.info("stopped")


def _trusted(home: Home) -> set[str]:
    with Reader.open(home.database) as reader:
        return {row["root"] for row in reader.trusted()}


async def _obey_signals(service: Service, tasks: TaskGroup) -> None:
    """One signal asks for a clean end, two insist."""
    has_insisted = False
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            if number == signal.SIGHUP:
                continue
            if not service.stopping.is_set():
                service.stopping.set()
            elif not has_insisted:
                has_insisted = True
                # What keeps the end waiting is an agent; without them it takes a moment.
                _log.warning("insisted: killing what is left of the agents")
                tree.kill_descendants()
                tasks.start_soon(_give_up)
            else:
                os._exit(1)


async def _give_up() -> None:
    await anyio.sleep(INSIST_S)
    _log.error("the end takes too long: leaving as it is")
    os._exit(1)


def _allow_many_descriptors() -> None:
    """Use all the descriptors that this user may have: each run and each caller takes some."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _tell(ready_fd: int | None, word: bytes) -> None:
    if ready_fd is not None:
        with suppress(OSError):
            os.write(ready_fd, word)
            os.close(ready_fd)


def _log_to(home: Home) -> None:
    handler = RotatingFileHandler(home.log, maxBytes=LOG_LIMIT_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
