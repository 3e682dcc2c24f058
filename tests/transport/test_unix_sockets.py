"""Connections over unix sockets, whose reads end in the middle of things."""

from __future__ import annotations

import socket

import anyio
import anyio.lowlevel
from anyio.abc import UNIXSocketStream

from devplane.transport import Connection, Handlers


async def test_a_read_may_be_cancelled_at_the_moment_when_data_comes() -> None:
    """The loop is told of both in the same round; nothing of it may reach its exception handler."""
    ours, theirs = socket.socketpair()
    with theirs:
        stream = await UNIXSocketStream.from_socket(ours)
        connection = Connection(stream, label="peer", handlers=Handlers())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await anyio.wait_all_tasks_blocked()
            theirs.send(b"{}\n")
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        await connection.aclose("done")
