"""The caller's end of a unix socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from devplane.control.stream import UnixStream, connect_unix

Pair = tuple[UnixStream, socket.socket]
LONG = b"x" * 2_000_000


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    yield UnixStream(ours), theirs
    ours.close()
    theirs.close()


async def test_a_read_that_is_given_up_as_data_comes_reports_nothing_and_loses_nothing(pair: Pair) -> None:
    stream, theirs = pair
    for _ in range(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.receive)
            await anyio.wait_all_tasks_blocked()
            theirs.sendall(b"data")
            tasks.cancel_scope.cancel()
        assert await stream.receive() == b"data"


async def test_what_is_long_arrives_whole(pair: Pair) -> None:
    stream, theirs = pair

    def read() -> bytes:
        with theirs.makefile("rb") as file:
            return file.read(len(LONG))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.send, LONG)
        assert await anyio.to_thread.run_sync(read) == LONG


async def test_the_other_sides_end_is_an_end_and_a_write_to_it_breaks(pair: Pair) -> None:
    stream, theirs = pair
    theirs.close()
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    with pytest.raises(anyio.BrokenResourceError):
        await stream.send(b"data")


async def test_a_close_wakes_the_reader_and_may_be_repeated(pair: Pair) -> None:
    stream, theirs = pair
    ends: list[type[Exception]] = []

    async def read() -> None:
        try:
            await stream.receive()
        except anyio.ClosedResourceError as error:
            ends.append(type(error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
        await stream.aclose()
    assert ends == [anyio.ClosedResourceError]
    assert theirs.recv(1) == b""


async def test_nobody_listens_where_there_is_no_socket(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await connect_unix(str(tmp_path / "none"))
