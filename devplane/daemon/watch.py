"""Those who look on: each with a bounded buffer of its own, so that a slow one slows nobody (invariant 7)."""

from __future__ import annotations

from collections import deque
from typing import Any

import anyio

BUFFER_LIMIT_CHARS = 1 << 20
"""Text that may wait for one watcher; what comes while it is full is skipped and counted."""
FRAME_OVERHEAD_CHARS = 200
FRAMES_AT_ONCE = 64


class Watcher:
    """One who looks on at one run."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._frames: deque[tuple[dict[str, Any], int]] = deque()
        self._chars = 0
        self._skipped = 0
        self._news = anyio.Event()

    def offer(self, frame: dict[str, Any], chars: int = 0) -> None:
        """Queue `frame`, or count it as skipped when too much waits already."""
        size = (chars or _chars_of(frame)) + FRAME_OVERHEAD_CHARS
        # One that is too long by itself is for those who keep up: with nothing waiting, it may.
        if self._frames and self._chars + size > BUFFER_LIMIT_CHARS and not frame.get("final"):
            self._skipped += 1
            return
        self._say_skipped()
        self._frames.append((frame, size))
        self._chars += size
        self._news.set()

    async def next(self) -> list[dict[str, Any]]:
        """Wait for frames and return those that are there, in order, a bounded number at a time."""
        if not self._frames:
            # What was kept is read. The rest is told now, since nothing more may ever come.
            self._say_skipped()
        while not self._frames:
            self._news = anyio.Event()
            await self._news.wait()
        frames: list[dict[str, Any]] = []
        while self._frames and len(frames) < FRAMES_AT_ONCE:
            frame, size = self._frames.popleft()
            self._chars -= size
            frames.append(frame)
        return frames

    def _say_skipped(self) -> None:
        if self._skipped:
            skipped, self._skipped = self._skipped, 0
            self._frames.append(({"kind": "skipped", "count": skipped}, 0))


def _chars_of(value: object) -> int:
    """About how much text a frame holds: a fact may carry what a whole tool call printed."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_chars_of, value.values()))
    return sum(map(_chars_of, value)) if isinstance(value, list | tuple) else 0
