"""Connections whose other side sends garbage, ends, or does not read."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from devplane.acp.framing import LineTooLong
from devplane.acp.jsonrpc import Disconnected
from devplane.transport import CALLS_AT_ONCE, Connection, Handlers
from tests.transport.pipes import MemoryPipe, memory_pipe, socket_pair
from tests.transport.sides import heard_by, scripted, serving

# Garbage


async def test_g01_noise_is_heard_as_noise_and_the_answer_arrives() -> None:
    handlers = Handlers()
    heard = heard_by(handlers)
    async with scripted(handlers) as (connection, stub, tasks):
        await stub.write(b"[agent] adapter ready\n\n\x1b[?25l\x1b[2J\n")
        tasks.start_soon(connection.request, "initialize")
        asked = await stub.read()
        await stub.write(b"warn: slow disk\n", {"id": asked["id"], "result": {}})
        await anyio.wait_all_tasks_blocked()
    assert heard == ["[agent] adapter ready", "\x1b[?25l\x1b[2J", "warn: slow disk"]


@pytest.mark.parametrize(
    ("line", "code"), [(b'{"jsonrpc":"2.0","id":\n', -32700), (b'[{"id":1,"method":"m"}]\n', -32600)]
)
async def test_g06_a_broken_line_is_answered_without_an_id_and_the_open_request_by_its_own_answer(
    line: bytes, code: int
) -> None:
    handlers = Handlers()
    heard = heard_by(handlers)
    answers: list[Any] = []
    async with scripted(handlers) as (connection, stub, _), anyio.create_task_group() as tasks:

        async def ask() -> None:
            answers.append(await connection.request("initialize"))

        tasks.start_soon(ask)
        asked = await stub.read()
        await stub.write(line)
        complaint = await stub.read()
        assert (complaint["id"], complaint["error"]["code"]) == (None, code)
        assert answers == []
        await stub.write({"jsonrpc": "2.0", "id": asked["id"], "result": "its own"})
    assert answers == ["its own"]
    assert heard == [line.decode().rstrip()]


async def test_a_line_over_the_limit_ends_the_connection_by_name() -> None:
    a, b = await memory_pipe()
    handlers = Handlers()
    heard = heard_by(handlers)
    connection = Connection(a, label="claude", handlers=handlers, line_limit_bytes=1000)
    async with a, b, anyio.create_task_group() as tasks:
        tasks.start_soon(b.send, b'{"method":"before"}\n' + b"x" * 1001)
        with pytest.raises(LineTooLong, match="claude sent a line of more than 1,000 bytes"):
            await connection.run()
        with pytest.raises(Disconnected, match="1,000 bytes"):
            await connection.request("ask")
    assert heard == [("before", None)]


# Ends


async def test_the_end_of_the_other_side_fails_who_waits_and_who_asks_later() -> None:
    async with scripted() as (connection, stub, _):

        async def ask() -> None:
            with pytest.raises(Disconnected, match="stub"):
                await connection.request("ask")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await stub.read()
            await stub.stream.aclose()
        with pytest.raises(Disconnected, match="stub"):
            await connection.request("again")
        with pytest.raises(Disconnected, match="stub"):
            await connection.notify("tell")


async def test_g04_an_answer_without_a_newline_at_the_end_still_arrives() -> None:
    answers: list[Any] = []
    async with scripted() as (connection, stub, _), anyio.create_task_group() as tasks:

        async def ask() -> None:
            answers.append(await connection.request("session/prompt"))

        tasks.start_soon(ask)
        await stub.read()
        await stub.write(b'{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}')
        await stub.stream.aclose()
    assert answers == [{"stopReason": "end_turn"}]


async def test_g04_an_answer_that_is_cut_off_at_the_end_is_none() -> None:
    handlers = Handlers()
    heard = heard_by(handlers)
    async with scripted(handlers) as (connection, stub, _), anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(Disconnected):
                await connection.request("session/prompt")

        tasks.start_soon(ask)
        await stub.read()
        await stub.write(b'{"jsonrpc":"2.0","id":0,"resu')
        await stub.stream.aclose()
    assert heard == ['{"jsonrpc":"2.0","id":0,"resu']


async def test_closing_fails_every_waiter_with_the_reason_and_ends_the_handlers() -> None:
    ended: list[bool] = []

    async def wait(params: Any, call: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(call.withdrawn)

    async with scripted(serving(wait=wait)) as (connection, stub, _):

        async def ask() -> None:
            with pytest.raises(Disconnected, match="stopped by a person"):
                await connection.request("ask")

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
            await stub.write({"jsonrpc": "2.0", "id": 1, "method": "wait"})
            await anyio.wait_all_tasks_blocked()
            await connection.aclose("stopped by a person")
            await connection.aclose("twice")
        assert ended == [False]
        with pytest.raises(Disconnected, match="stopped by a person"):
            await connection.request("late")


async def test_a_handler_may_close_the_connection_it_was_called_on() -> None:
    async def close(params: Any, call: Any) -> None:
        await connection.aclose("asked to")

    a, b = await memory_pipe()
    connection = Connection(a, label="stub", handlers=serving(close=close))
    async with a, b, anyio.create_task_group() as tasks:
        tasks.start_soon(b.send, b'{"id":1,"method":"close"}\n')
        await connection.run()


async def test_a_connection_closed_before_it_ran_does_not_run() -> None:
    a, b = await memory_pipe()
    connection = Connection(a, label="stub", handlers=Handlers())
    async with a, b:
        await connection.aclose("never mind")
        await connection.run()


async def test_the_last_words_are_read_of_one_that_no_longer_listens() -> None:
    """A program that goes down closes its input first; its output still holds what it said."""
    to_stub, stub_input = anyio.create_memory_object_stream[bytes](0)
    stub_output, from_stub = anyio.create_memory_object_stream[bytes](1)
    stream = MemoryPipe(to_stub, from_stub)
    handlers = Handlers()
    heard = heard_by(handlers)
    connection = Connection(stream, label="stub", handlers=handlers)
    async with stream, stub_output, anyio.create_task_group() as tasks:
        await stub_input.aclose()
        tasks.start_soon(connection.run)
        with pytest.raises(Disconnected, match="stub no longer reads"):
            await connection.request("ask")
        await stub_output.send(b'{"method":"last words"}\n')
        await anyio.wait_all_tasks_blocked()
        await connection.aclose("done")
    assert heard == [("last words", None)]


async def test_an_error_of_the_stream_is_a_broken_connection() -> None:
    class Torn(MemoryPipe):
        async def receive(self, max_bytes: int = 65_536) -> bytes:
            raise ConnectionResetError

    a, b = await memory_pipe()
    assert isinstance(a, MemoryPipe)
    torn = Torn(a._send, a._receive)
    connection = Connection(torn, label="stub", handlers=Handlers())
    async with torn, b:
        with pytest.raises(Disconnected, match="stub broke"):
            await connection.run()


# A side that does not read


async def test_sending_waits_for_a_side_that_does_not_read() -> None:
    async with scripted() as (connection, stub, _):
        sent = 0

        async def tell_without_end() -> None:
            nonlocal sent
            while True:
                await connection.notify("tell", {"text": "x" * 65_536})
                sent += 1

        async with anyio.create_task_group() as telling:
            telling.start_soon(tell_without_end)
            await anyio.wait_all_tasks_blocked()
            stuck_at = sent
            await anyio.wait_all_tasks_blocked()
            assert sent == stuck_at
            for _ in range(stuck_at + 1):
                await stub.read()
            await anyio.wait_all_tasks_blocked()
            assert sent > stuck_at
            telling.cancel_scope.cancel()


async def test_a_sender_that_gives_up_leaves_no_half_line_behind() -> None:
    async with scripted(pipe=socket_pair) as (connection, stub, tasks):
        big = {"text": "x" * (4 << 20)}
        async with anyio.create_task_group() as telling:
            telling.start_soon(connection.notify, "given up", big)
            await anyio.wait_all_tasks_blocked()
            telling.cancel_scope.cancel()
        tasks.start_soon(connection.notify, "after")
        message = await stub.read()
        if message["method"] == "given up":
            assert message["params"] == big
            message = await stub.read()
        assert message["method"] == "after"


async def test_a_side_that_asks_without_end_and_never_reads_is_not_read_any_more() -> None:
    async def answer_long(params: Any, call: Any) -> str:
        nonlocal answered
        answered += 1
        return "x" * 4096

    answered = 0
    async with scripted(serving(ask=answer_long)) as (_, stub, _tasks):
        line = b'{"jsonrpc":"2.0","id":1,"method":"ask"}\n'
        async with anyio.create_task_group() as asking:

            async def ask_without_end() -> None:
                while True:
                    await stub.stream.send(line * 100)

            asking.start_soon(ask_without_end)
            await anyio.wait_all_tasks_blocked()
            assert answered < 10 * CALLS_AT_ONCE
            asking.cancel_scope.cancel()
