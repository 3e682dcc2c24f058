"""The only writer of a store, for an event loop: submitting never waits, and a commit can be awaited.

One thread owns the connection. Whatever is queued when it looks goes into one transaction.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

import anyio
import anyio.lowlevel

from devplane.store.codec import Encoded, encode
from devplane.store.failure import StoreFailed
from devplane.store.rows import Batch
from devplane.store.writer import Writer

BUSY_TIMEOUT_MS = 30_000
"""How long a write waits for another process's lock before it is given up."""

CLOSE_GRACE_S = 15.0
"""What closing may take beyond the busy timeout."""

GROUP_BATCHES = 2000
GROUP_BYTES = 8 << 20
"""Bounds of one transaction: what waits behind it waits for no more than this."""

_log = logging.getLogger(__name__)


class Commit:
    """The fate of one batch. Await it, any number of times, or leave it.

    Giving up waiting does not take the batch back.

    Raises (when awaited):
        StoreFailed: Nothing of the batch is stored, and the message says why.
    """

    __slots__ = ("_event", "_outcome", "is_done", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes: Final = size_bytes
        self.is_done = False
        self._event: anyio.Event | None = None
        self._outcome: int | StoreFailed | None = None

    def __await__(self) -> Generator[Any, Any, int | None]:
        if not self.is_done:
            if self._event is None:
                self._event = anyio.Event()
            yield from self._event.wait().__await__()
        if isinstance(self._outcome, StoreFailed):
            # A new one for each who waits: an exception that is raised twice grows its traceback.
            failure = self._outcome
            raise StoreFailed(str(failure), reason=failure.reason, hint=failure.hint)
        return self._outcome

    def settle(self, outcome: int | StoreFailed | None) -> None:
        """Say how it ended. Called once, in the event loop's thread."""
        self._outcome, self.is_done = outcome, True
        if self._event is not None:
            self._event.set()


class Log:
    """A store that is open for writing. Made by `Log.open`; used from the event loop's thread alone."""

    def __init__(self, path: Path, open_writer: Callable[[], Writer]) -> None:
        self.path = path
        self.backlog_bytes = 0
        """About how much was submitted and is not decided yet."""
        self.failed_batches = 0
        """How many batches could not be stored since this was opened: above 0 the record has gaps."""
        self.last_failure: StoreFailed | None = None
        self._open_writer = open_writer
        self._queue: SimpleQueue[tuple[Encoded, Commit] | None] = SimpleQueue()
        self._is_closed = False
        self._in_loop = _caller_into_loop()
        self._opened = anyio.Event()
        self._ended = anyio.Event()
        self._open_failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="devplane-store", daemon=True)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        *,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        open_writer: Callable[..., Writer] = Writer,
    ) -> AsyncIterator[Log]:
        """Open `path`, made or migrated as needed; on exit write what is queued, then close.

        Raises:
            StoreFailed: It cannot be opened: unwritable, damaged, locked, or of a newer Devplane.
        """
        log = cls(path, lambda: open_writer(path, busy_timeout_ms=busy_timeout_ms))
        log._thread.start()
        try:
            await log._opened.wait()
            if log._open_failure is not None:
                raise log._open_failure
            yield log
        finally:
            log._is_closed = True
            log._queue.put(None)
            with anyio.move_on_after(busy_timeout_ms / 1000 + CLOSE_GRACE_S, shield=True) as grace:
                await log._ended.wait()
            if grace.cancelled_caught:
                _log.error("the store did not close in time; what was not confirmed may be lost")

    def submit(self, batch: Batch) -> Commit:
        """Queue `batch` behind everything submitted before. Returns at once, whatever the disk does."""
        encoded = encode(batch)
        commit = Commit(encoded.size_bytes)
        if self._is_closed:
            reason = "it is closed"
            commit.settle(StoreFailed(f"cannot write {self.path}: {reason}", reason=reason))
            return commit
        self.backlog_bytes += encoded.size_bytes
        # A SimpleQueue's put takes no lock that the reader holds while it works.
        self._queue.put((encoded, commit))
        return commit

    async def drain(self) -> None:
        """Wait until everything submitted so far is stored or has failed."""
        with suppress(StoreFailed):
            await self.submit(Batch())

    def _run(self) -> None:
        try:
            writer = self._open_writer()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever opens
            self._open_failure = error
            self._in_loop(self._opened.set)
            self._in_loop(self._ended.set)
            return
        self._in_loop(self._opened.set)
        try:
            is_last = False
            while not is_last:
                group, is_last = self._next_group()
                outcomes = self._write(writer, [encoded for encoded, _ in group])
                commits = [commit for _, commit in group]
                self._in_loop(partial(self._settle, commits, outcomes))
        finally:
            writer.close()
            self._in_loop(self._ended.set)

    def _write(self, writer: Writer, group: list[Encoded]) -> list[int | StoreFailed | None]:
        try:
            return writer.write(group)
        except Exception as error:  # noqa: BLE001 - a bug, but those who wait must hear of it
            _log.exception("the store's writer failed")
            reason = f"{type(error).__name__}: {error}"
            return [StoreFailed(f"cannot write {self.path}: {reason}", reason=reason)] * len(group)

    def _next_group(self) -> tuple[list[tuple[Encoded, Commit]], bool]:
        """Wait for something, then take what else is there. True: it was the last."""
        group: list[tuple[Encoded, Commit]] = []
        size_bytes = 0
        try:
            item = self._queue.get()
            while item is not None:
                group.append(item)
                size_bytes += item[0].size_bytes
                if len(group) >= GROUP_BATCHES or size_bytes >= GROUP_BYTES:
                    return group, False
                item = self._queue.get_nowait()
        except Empty:
            return group, False
        return group, True

    def _settle(self, commits: list[Commit], outcomes: list[int | StoreFailed | None]) -> None:
        failures = 0
        for commit, outcome in zip(commits, outcomes, strict=True):
            self.backlog_bytes -= commit.size_bytes
            if isinstance(outcome, StoreFailed):
                failures += 1
                self.last_failure = outcome
            commit.settle(outcome)
        if failures:
            self.failed_batches += failures
            # Said here, since a commit that nobody awaits would fail unseen.
            _log.error("%d batches are not stored: %s", failures, self.last_failure)


def _caller_into_loop() -> Callable[[Callable[[], object]], None]:
    """Return a function for other threads that has the event loop call something soon.

    `anyio.from_thread.run_sync` would make the writer wait until the loop gets round to it,
    so this asks the loop that anyio's token names: asyncio's and trio's each have a way.
    """
    native: Any = anyio.lowlevel.current_token().native_token
    schedule = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon

    def call(function: Callable[[], object]) -> None:
        # Raised when the loop has ended: then nobody is left to be told.
        with suppress(RuntimeError):
            schedule(function)

    return call
