"""Two ends of a connection, and a scripted other side, for the tests of `devplane.transport`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ByteStream, TaskGroup

from devplane.transport import Connection, Handlers
from tests.transport.pipes import memory_pipe

Serve = Callable[[Any, Any], Awaitable[Any]]
Pipe = Callable[[], Awaitable[tuple[ByteStream, ByteStream]]]


def serving(**methods: Serve) -> Handlers:
    handlers = Handlers()
    for method, serve in methods.items():
        handlers.on_request(method, serve)
    return handlers


async def echo(params: Any, call: Any) -> Any:
    return params


async def never(params: Any, call: Any) -> Any:
    await anyio.sleep_forever()


@asynccontextmanager
async def two_sides(
    ours: Handlers | None = None, theirs: Handlers | None = None, *, pipe: Pipe = memory_pipe
) -> AsyncIterator[tuple[Connection, Connection]]:
    """Two connected sides, both running; ended by closing ours."""
    a, b = await pipe()
    here = Connection(a, label="there", handlers=ours or Handlers())
    there = Connection(b, label="here", handlers=theirs or Handlers())
    async with a, b, anyio.create_task_group() as tasks:
        tasks.start_soon(here.run)
        tasks.start_soon(there.run)
        yield here, there
        await here.aclose("the test is over")


class Script:
    """The other side as bytes: what it writes, and the messages it was sent."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self._rest = b""

    async def write(self, *messages: dict[str, Any] | bytes) -> None:
        lines = [each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages]
        await self.stream.send(b"".join(lines))

    async def read(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            self._rest += await self.stream.receive()
        line, self._rest = self._rest.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message


@asynccontextmanager
async def scripted(
    handlers: Handlers | None = None, *, pipe: Pipe = memory_pipe
) -> AsyncIterator[tuple[Connection, Script, TaskGroup]]:
    """One running side whose other side is a script; ended by closing it."""
    a, b = await pipe()
    connection = Connection(a, label="stub", handlers=handlers or Handlers())
    async with a, b, anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        yield connection, Script(b), tasks
        await connection.aclose("the test is over")


def heard_by(handlers: Handlers) -> list[Any]:
    """Everything that the other side tells from now on, in order."""
    heard: list[Any] = []
    handlers.on_notice = lambda method, params: heard.append((method, params))
    handlers.on_noise = heard.append
    return heard
