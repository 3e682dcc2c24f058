"""Two sides of a connection, and one side against scripted bytes, in memory and over real sockets."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream, TaskGroup
from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from devplane.acp.framing import LineTooLong
from devplane.acp.jsonrpc import CallRefused, Disconnected, PeerError
from devplane.errors import Refused
from devplane.transport import CALLS_AT_ONCE, Connection, Handlers
from tests.transport.pipes import MemoryPipe, memory_pipe, socket_pair

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


# Asking and answering


async def test_both_sides_ask_at_once_and_each_gets_its_own_answers() -> None:
    async with two_sides(serving(echo=echo), serving(echo=echo)) as (here, there):
        answers: dict[tuple[str, int], Any] = {}

        async def ask(name: str, side: Connection, number: int) -> None:
            answers[name, number] = await side.request("echo", {"from": name, "number": number})

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(ask, "here", here, number)
                tasks.start_soon(ask, "there", there, number)
        assert len(answers) == 100
        assert all(answer == {"from": name, "number": n} for (name, n), answer in answers.items())


async def test_a_handler_may_ask_back_before_it_answers() -> None:
    async def ask_back(params: Any, call: Any) -> Any:
        return await there.request("echo", {"asked": params})

    async with two_sides(serving(echo=echo), serving(ask=ask_back)) as (here, there):
        assert await here.request("ask", {"n": 1}) == {"asked": {"n": 1}}


async def test_both_sides_send_a_lot_at_once_and_neither_waits_for_ever() -> None:
    async with two_sides(serving(echo=echo), serving(echo=echo), pipe=socket_pair) as (here, there):
        big = {"text": "x" * (4 << 20)}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(here.request, "echo", big)
            tasks.start_soon(there.request, "echo", big)


async def test_a_result_of_nothing_is_null_on_the_wire() -> None:
    async def nothing(params: Any, call: Any) -> None:
        return None

    async with scripted(serving(nothing=nothing)) as (_, stub, _tasks):
        await stub.write({"jsonrpc": "2.0", "id": "x", "method": "nothing"})
        assert await stub.read() == {"jsonrpc": "2.0", "id": "x", "result": None}


@pytest.mark.parametrize("size_bytes", [65_535, 65_536, 65_537, 8 << 20, 20 << 20])
async def test_g02_long_lines_pass_whole_in_both_directions(size_bytes: int) -> None:
    async with two_sides(theirs=serving(echo=echo), pipe=socket_pair) as (here, _):
        around = len(b'{"jsonrpc":"2.0","method":"echo","id":0,"params":{"t":""}}')
        text = "x" * (size_bytes - around)
        assert await here.request("echo", {"t": text}) == {"t": text}


async def test_g03_a_message_that_comes_byte_by_byte_is_whole() -> None:
    handlers = Handlers()
    heard = heard_by(handlers)
    async with scripted(handlers) as (connection, stub, tasks):
        tasks.start_soon(connection.request, "ask")
        await stub.read()
        for byte in '{"method":"m","params":{"t":"a€b漢😀"}}\n{"id":0,"result":1}\n'.encode():
            await stub.write(bytes([byte]))
            await checkpoint()
        await anyio.wait_all_tasks_blocked()
    assert heard == [("m", {"t": "a€b漢😀"})]


# Order


async def test_what_was_told_before_an_answer_is_heard_before_it() -> None:
    handlers = Handlers()
    order: list[str] = []
    handlers.on_notice = lambda method, params: order.append(method)

    async with scripted(handlers) as (connection, stub, _), anyio.create_task_group() as tasks:

        async def ask() -> None:
            await connection.request("ask")
            order.append("answer")

        tasks.start_soon(ask)
        asked = await stub.read()
        told = [{"jsonrpc": "2.0", "method": f"n{n}"} for n in range(3)]
        await stub.write(*told, {"jsonrpc": "2.0", "id": asked["id"], "result": None})
    assert order == ["n0", "n1", "n2", "answer"]


async def test_nothing_more_is_read_until_the_messages_of_a_read_were_digested() -> None:
    handlers = Handlers()
    heard = heard_by(handlers)
    digesting, digested = anyio.Event(), anyio.Event()

    async def digest() -> None:
        digesting.set()
        await digested.wait()

    handlers.after_batch = digest
    async with scripted(handlers) as (_, stub, tasks):
        await stub.write({"method": "one"}, {"method": "two"})
        await digesting.wait()
        tasks.start_soon(stub.write, {"method": "three"})
        await anyio.wait_all_tasks_blocked()
        assert heard == [("one", None), ("two", None)]
        digested.set()
        await anyio.wait_all_tasks_blocked()
        assert heard[2:] == [("three", None)]


async def test_requests_start_in_the_order_in_which_they_came() -> None:
    started: list[int] = []

    async def start(params: Any, call: Any) -> None:
        started.append(call.id)
        await anyio.sleep_forever()

    async with scripted(serving(start=start)) as (_, stub, _tasks):
        await stub.write(*({"jsonrpc": "2.0", "id": n, "method": "start"} for n in range(20)))
        await anyio.wait_all_tasks_blocked()
        assert started == list(range(20))


async def test_a_request_that_waits_holds_up_nothing() -> None:
    async with (
        two_sides(theirs=serving(wait=never, echo=echo)) as (here, _),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(here.request, "wait")
        await anyio.wait_all_tasks_blocked()
        assert await here.request("echo", {"n": 1}) == {"n": 1}
        tasks.cancel_scope.cancel()


# Taking back


async def test_a_caller_that_is_cancelled_takes_its_request_back() -> None:
    async with scripted() as (connection, stub, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.request, "ask")
            asked = await stub.read()
            tasks.cancel_scope.cancel()
        assert await stub.read() == {
            "jsonrpc": "2.0",
            "method": "$/cancel_request",
            "params": {"requestId": asked["id"]},
        }


async def test_a_caller_out_of_time_takes_its_request_back_and_a_late_answer_is_nobodys() -> None:
    async with scripted() as (connection, stub, _):
        with pytest.raises(TimeoutError):
            await connection.request("ask", timeout_s=0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.request, "again")
            message = await stub.read()
            while message["method"] != "again":
                message = await stub.read()
            assert message["id"] == 1
            await stub.write({"id": 0, "result": "late"}, {"id": 1, "result": "in time"})


async def test_a_request_taken_back_cancels_its_handler_and_is_answered_as_cancelled() -> None:
    seen: list[bool] = []

    async def wait(params: Any, call: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            seen.append(call.withdrawn)

    async with scripted(serving(wait=wait)) as (_, stub, _tasks):
        await stub.write({"jsonrpc": "2.0", "id": 1, "method": "wait"})
        await anyio.wait_all_tasks_blocked()
        await stub.write({"method": "$/cancel_request", "params": {"requestId": "1"}})
        await anyio.wait_all_tasks_blocked()
        assert seen == []  # "1" is not 1
        await stub.write({"method": "$/cancel_request", "params": {"requestId": 1}})
        answer = await stub.read()
    assert seen == [True]
    assert (answer["id"], answer["error"]["code"]) == (1, -32800)


async def test_a_request_taken_back_in_the_same_read_is_answered_as_cancelled() -> None:
    async with scripted(serving(wait=never)) as (_, stub, _tasks):
        await stub.write(
            {"jsonrpc": "2.0", "id": 1, "method": "wait"},
            {"method": "$/cancel_request", "params": {"requestId": 1}},
        )
        assert (await stub.read())["error"]["code"] == -32800


@pytest.mark.parametrize("params", [None, {}, [], {"requestId": None}, {"requestId": [1]}, {"requestId": 9}])
async def test_taking_back_what_was_never_asked_changes_nothing(params: Any) -> None:
    handlers = serving(echo=echo)
    heard = heard_by(handlers)
    async with scripted(handlers) as (_, stub, _tasks):
        await stub.write({"method": "$/cancel_request", "params": params})
        await stub.write({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {}})
        assert (await stub.read())["result"] == {}
    assert heard == []


# Saying no


class Wanted(BaseModel):
    count: int


async def refuse_politely(params: Any, call: Any) -> None:
    raise Refused("not trusted", hint="Trust it.")


async def refuse_by_code(params: Any, call: Any) -> None:
    raise CallRefused(-32002, "no such file", {"uri": "x"})


async def read_params(params: Any, call: Any) -> Any:
    return Wanted.model_validate(params).count


async def fail(params: Any, call: Any) -> None:
    raise RuntimeError("secret detail")


async def answer_no_json(params: Any, call: Any) -> Any:
    return object()


@pytest.mark.parametrize(
    ("method", "code", "message"),
    [
        ("refuse_politely", -32000, "not trusted"),
        ("refuse_by_code", -32002, "no such file"),
        ("read_params", -32602, "invalid params: count: Field required"),
        ("vendor/drain_messages", -32601, "method not found: vendor/drain_messages"),
    ],
)
async def test_each_way_to_refuse_has_its_code(method: str, code: int, message: str) -> None:
    theirs = serving(refuse_politely=refuse_politely, refuse_by_code=refuse_by_code, read_params=read_params)
    async with two_sides(theirs=theirs) as (here, _):
        with pytest.raises(PeerError) as caught:
            await here.request(method, {})
        assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize("serve", [answer_no_json, fail])
async def test_a_bug_in_a_handler_is_logged_and_says_nothing_of_itself(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        async with two_sides(theirs=serving(go=serve, echo=echo)) as (here, _):
            with pytest.raises(PeerError, match="internal error") as caught:
                await here.request("go")
            assert (caught.value.code, caught.value.data) == (-32603, None)
            assert await here.request("echo", {"still": "there"}) == {"still": "there"}
    assert "go" in caplog.text


async def test_g07_an_unknown_notification_is_passed_over() -> None:
    async with scripted(serving(echo=echo)) as (_, stub, _tasks):
        await stub.write({"jsonrpc": "2.0", "method": "_vendor/servers_changed"})
        await stub.write({"jsonrpc": "2.0", "id": 7, "method": "vendor/drain", "params": {}})
        answer = await stub.read()
        assert (answer["id"], answer["error"]["code"]) == (7, -32601)


async def test_params_that_are_a_list_are_refused() -> None:
    async with scripted(serving(echo=echo)) as (_, stub, _tasks):
        await stub.write({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [1]})
        assert (await stub.read())["error"]["code"] == -32602


async def test_notifications_with_params_of_no_known_shape_reach_nobody() -> None:
    handlers = Handlers()
    heard = heard_by(handlers)
    async with scripted(handlers) as (_, stub, _tasks):
        await stub.write({"method": "a", "params": "text"}, {"method": "b", "params": {}}, {"method": "c"})
        await anyio.wait_all_tasks_blocked()
    assert heard == [("b", {}), ("c", None)]


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
