"""Answering a permission request with one key, while its run is being watched."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from devplane.cli.asking import Request
from devplane.cli.stream import Printer
from devplane.control import requests as r
from devplane.control.client import Client
from devplane.core.text import visible
from devplane.errors import DevplaneError

READ_BYTES = 64


async def answer_by_key(show: Printer, daemon: Client) -> None:
    """Send what the person's keys say to the request that `show` offers; return when there are no keys.

    What is typed before a request was shown is thrown away: it cannot have meant it.
    """
    with _single_keys() as forget:
        if forget is None:
            return
        show.offer_keys(forget)
        while True:
            await anyio.wait_readable(sys.stdin.fileno())
            if not select.select([sys.stdin], [], [], 0)[0]:
                continue  # thrown away in between: a read would wait, and with it everything else
            typed = os.read(sys.stdin.fileno(), READ_BYTES)
            if not typed:
                return
            offered = show.offered
            if offered is None:
                continue
            # More than one byte is an arrow key or a paste, and no answer.
            answer = answer_of(typed.decode("utf-8", "replace"), offered)
            if answer is None:
                show.explain_keys()
                continue
            try:
                await daemon.ask(answer)
            except DevplaneError as error:
                show.line(f"    {visible(str(error))}")


def answer_of(key: str, request: Request) -> r.Decide | None:
    """Return the answer that `key` means: a, d, or the number of an option."""
    if key == "d" or (key == "a" and request.allows_by is not None):
        return r.Decide(request.id, decision={"a": "allow", "d": "deny"}[key])
    if key in tuple("123456789") and int(key) <= len(request.options):
        return r.Decide(request.id, option=request.options[int(key) - 1]["id"])
    return None


@contextmanager
def _single_keys() -> Iterator[Callable[[], None] | None]:
    """Read single keys while the body runs; the terminal is put back whatever happens.

    Yields what throws typed keys away, or ``None`` when this process is not the one at a terminal.
    """
    if not _is_at_terminal():
        yield None
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    # The shell puts the terminal back when the job is stopped, and not when it goes on.
    on_continue = signal.signal(signal.SIGCONT, lambda *_: tty.setcbreak(descriptor))
    try:
        tty.setcbreak(descriptor)
        yield lambda: termios.tcflush(descriptor, termios.TCIFLUSH)
    finally:
        signal.signal(signal.SIGCONT, on_continue)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _is_at_terminal() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    # A job in the background that touched the terminal would be stopped for it.
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
