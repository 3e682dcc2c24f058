"""Says what a start waits for, and for how long: the first one of an agent may be a download."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from devplane.core.text import one_line

AFTER_S = 1.0
"""A start that takes no longer than this says nothing."""
REDRAW_S = 0.5
CLEAR = "\r\x1b[K"


@asynccontextmanager
async def starting(name: str, *, fetches: bool) -> AsyncIterator[Callable[[], None]]:
    """Tell standard error that `name` is being started, while the body waits for it.

    Yields a function to call before anything else is printed. On a terminal one line is
    redrawn; elsewhere one is printed, once.
    """
    can_redraw = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    words = f"starting {one_line(name, 60)}"
    if fetches:
        words += " (npx or uvx may be fetching it)"
    began = time.monotonic()
    is_drawn = False

    def clear() -> None:
        nonlocal is_drawn
        if is_drawn:
            print(CLEAR, end="", file=sys.stderr, flush=True)
            is_drawn = False

    async def draw() -> None:
        nonlocal is_drawn
        await anyio.sleep(AFTER_S)
        if not can_redraw:
            print(f"{words} …", file=sys.stderr, flush=True)
            return
        while True:
            line = f"{words} … {time.monotonic() - began:.0f} s"
            print(f"{CLEAR}{line}", end="", file=sys.stderr, flush=True)
            is_drawn = True
            await anyio.sleep(REDRAW_S)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(draw)
        try:
            yield clear
        finally:
            clear()
            tasks.cancel_scope.cancel()
