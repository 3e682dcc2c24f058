"""Unix sockets for both ends of the control socket, safe to give up in the middle of a read.

anyio's own stream lets a read that is cancelled at the moment when data comes report an error
into the event loop, which a person would see when the command that follows a busy run ends.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream

BUSY_POLL_S = 0.01
BACKLOG = 512


class UnixStream(ByteStream):
    """A connected unix socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError as error:
                raise self._failure() from error
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        left = memoryview(item)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as error:
                raise self._failure() from error

    @property
    def socket(self) -> socket.socket:
        """The socket itself, for asking the system who is at its other end."""
        return self._socket

    async def send_eof(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()
        await anyio.lowlevel.checkpoint()

    def _failure(self) -> Exception:
        is_closed = self._socket.fileno() < 0
        return anyio.ClosedResourceError() if is_closed else anyio.BrokenResourceError()


async def connect_unix(path: str) -> UnixStream:
    """Connect to the socket at `path`.

    Raises:
        OSError: Nobody listens there.
    """
    connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        while True:
            try:
                connecting.connect(path)
            except BlockingIOError:
                # More callers than the daemon has let in yet; there is nothing to wait on.
                await anyio.sleep(BUSY_POLL_S)
            else:
                return UnixStream(connecting)
    except BaseException:
        connecting.close()
        raise


class UnixListener:
    """A unix socket that lets callers in. Bound when made; private to this user."""

    def __init__(self, path: str) -> None:
        """Bind `path`. Raises `OSError` when that cannot be."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._socket.setblocking(False)
            self._socket.bind(path)
            self._socket.listen(BACKLOG)
        except BaseException:
            self._socket.close()
            raise
        finally:
            os.umask(before)

    async def accept(self) -> UnixStream:
        """Wait for the next caller."""
        while True:
            await anyio.wait_readable(self._socket)
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue
            accepted.setblocking(False)
            return UnixStream(accepted)

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()
