"""Byte streams for tests: one in memory, where nothing is ever half way, and real sockets."""

from __future__ import annotations

import socket

import anyio
from anyio.abc import ByteStream, UNIXSocketStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream


class MemoryPipe(ByteStream):
    """One end of a pipe without a buffer: a send returns when the other end has received it.

    ``anyio.wait_all_tasks_blocked`` cannot see bytes that wait in the kernel; here there are none.
    """

    def __init__(
        self, send: MemoryObjectSendStream[bytes], receive: MemoryObjectReceiveStream[bytes]
    ) -> None:
        self._send = send
        self._receive = receive

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        return await self._receive.receive()

    async def send(self, item: bytes) -> None:
        await self._send.send(item)

    async def send_eof(self) -> None:
        await self._send.aclose()

    async def aclose(self) -> None:
        await self._send.aclose()
        await self._receive.aclose()


async def memory_pipe() -> tuple[ByteStream, ByteStream]:
    ours, to_us = anyio.create_memory_object_stream[bytes](0)[::-1]
    theirs, to_them = anyio.create_memory_object_stream[bytes](0)[::-1]
    return MemoryPipe(to_them, ours), MemoryPipe(to_us, theirs)


async def socket_pair() -> tuple[ByteStream, ByteStream]:
    ours, theirs = socket.socketpair()
    return await UNIXSocketStream.from_socket(ours), await UNIXSocketStream.from_socket(theirs)
