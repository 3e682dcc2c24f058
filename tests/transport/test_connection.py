"""Two sides of a connection, and one side against scripted bytes, in memory and over real sockets."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from devplane.acp.jsonrpc import CallRefused, PeerError
from devplane.errors import Refused
from devplane.transport import Connection, Handlers
from tests.transport.pipes import socket_pair
from tests.transport.sides import Serve, echo, heard_by, never, scripted, serving, two_sides

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
