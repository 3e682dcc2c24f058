"""One JSON-RPC peer over a byte stream: the only place where the protocol meets a pipe.

Agents, the control socket and relays use the same class. What the other side tells is
handled in wire order, before a later answer is delivered; what it asks runs in a task
of its own, so that a request that waits for a person blocks nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import ByteStream, TaskGroup
from pydantic import ValidationError

from devplane.acp.framing import LINE_LIMIT_BYTES, LineTooLong
from devplane.acp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    Disconnected,
    Id,
    PeerError,
    Server,
    error_of,
)
from devplane.acp.peer import Answer, Call, Incoming, Malformed, Notice, Peer
from devplane.errors import DevplaneError

_log = logging.getLogger(__name__)

_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)

READ_BYTES = 1 << 18
CALLS_AT_ONCE = 1024
"""With more of its requests unanswered, nothing more is read from a side: it may never read the answers."""
CLOSE_S = 1.0
CANCEL = "$/cancel_request"

RequestHandler = Callable[[dict[str, Any], "CallContext"], Awaitable[Any]]
NoticeHandler = Callable[[str, "dict[str, Any] | None"], None]


@dataclass(slots=True)
class CallContext:
    """One request of the other side that is being served."""

    id: Id
    method: str
    withdrawn: bool = False
    """Whether the other side took the request back; its handler is then cancelled."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Handlers:
    """Who serves what the other side sends. Unknown methods are refused, unknown notices ignored (G-07)."""

    def __init__(self) -> None:
        self._server = Server()
        self.on_notice: NoticeHandler | None = None
        """Called with each notification in wire order. Must not block."""
        self.after_batch: Callable[[], Awaitable[None]] | None = None
        """Awaited after the messages of each read: while it waits, nothing more is read."""
        self.on_noise: Callable[[str], None] | None = None
        """Called with each line that is no message."""

    def on_request(self, method: str, serve: RequestHandler) -> None:
        self._server.register(method, serve)

    def serving(self, method: str) -> RequestHandler | None:
        return self._server.registered(method)


class _Waiter:
    """Somebody who waits for the answer to one request."""

    __slots__ = ("answer", "arrived", "failure", "on_result")

    def __init__(self, on_result: Callable[[Any], object] | None) -> None:
        self.on_result = on_result
        self.arrived = anyio.Event()
        self.answer: Answer | None = None
        self.failure = ""


class _OutLine:
    """A line on its way to the other side, and what became of it."""

    __slots__ = ("data", "failure", "is_abandoned", "settled")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.settled = anyio.Event()
        self.failure = ""
        self.is_abandoned = False


class Connection:
    """A JSON-RPC peer over `stream`. `run` must be running for anything else to work.

    `label` names the other side in error messages.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        label: str,
        handlers: Handlers,
        line_limit_bytes: int = LINE_LIMIT_BYTES,
    ) -> None:
        self._stream = stream
        self._label = label
        self._handlers = handlers
        self._peer = Peer(line_limit_bytes=line_limit_bytes, who=label)
        self._waiters: dict[int, _Waiter] = {}
        self._calls: dict[tuple[type, Id], CallContext] = {}
        self._replies_owed = 0
        self._reply_settled = anyio.Event()
        self._sending = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._started = anyio.Event()
        self._stopped = anyio.Event()
        self._closed: str | None = None
        self._is_closing = False

    async def run(self) -> None:
        """Read until the other side ends, or until `aclose`.

        Raises:
            LineTooLong: The other side sent a line over the limit.
            Disconnected: The stream broke.
        """
        reason = f"{self._label} ended"
        failure: DevplaneError | None = None
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._started.set()
                try:
                    await self._read()
                except (LineTooLong, Disconnected) as error:
                    failure, reason = (None if self._closed else error), str(error)
                tasks.cancel_scope.cancel()
        finally:
            self._tasks = None
            self._fail_waiters(reason)
            self._stopped.set()
            if self._is_closing:
                await self._close_stream()
        if failure is not None:
            raise failure

    async def request(
        self,
        method: str,
        params: Any = None,
        *,
        timeout_s: float | None = None,
        on_result: Callable[[Any], object] | None = None,
    ) -> Any:
        """Ask, and return the result. Giving up tells the other side with ``$/cancel_request``.

        `on_result` is called with it in wire order, before anything that came later is handled; the
        caller itself wakes up after that. Must not block.

        Raises:
            PeerError: It answered with an error.
            Disconnected: It is gone; whether it acted is unknown.
            TimeoutError: No answer in `timeout_s`.
        """
        if self._closed is not None:
            raise Disconnected(self._closed)
        request_id, line = self._peer.request(method, params)
        waiter = self._waiters[request_id] = _Waiter(on_result)
        try:
            with anyio.fail_after(timeout_s):
                await self._send(line)
                await waiter.arrived.wait()
        except (TimeoutError, anyio.get_cancelled_exc_class()):
            if self._tasks is not None and self._closed is None:
                self._tasks.start_soon(
                    self._send_quietly, self._peer.notify(CANCEL, {"requestId": request_id})
                )
            raise
        finally:
            self._waiters.pop(request_id, None)
            self._peer.forget(request_id)
        if waiter.answer is None:
            raise Disconnected(waiter.failure)
        if waiter.answer.error is not None:
            raise PeerError.of(waiter.answer.error)
        return waiter.answer.result

    async def notify(self, method: str, *each_params: Any) -> None:
        """Tell, and expect nothing: one notification for each of `each_params`, in one write.

        Raises:
            Disconnected: It cannot be sent any more.
        """
        await self._send(b"".join(self._peer.notify(method, params) for params in each_params or (None,)))

    async def aclose(self, reason: str) -> None:
        """End the conversation: every waiter fails with `reason`. Closing twice changes nothing."""
        self._fail_waiters(reason)
        self._is_closing = True
        if self._tasks is not None:
            # A stream must not be closed under a read and a write that wait for it. A handler that
            # closes its own connection is cancelled at this wait, and `run` closes the stream.
            self._tasks.cancel_scope.cancel()
            with anyio.move_on_after(CLOSE_S):
                await self._stopped.wait()
        await self._close_stream()

    async def _close_stream(self) -> None:
        with anyio.move_on_after(CLOSE_S, shield=True), suppress(*_BROKEN):
            await self._stream.aclose()

    async def _read(self) -> None:
        handlers = self._handlers
        while True:
            try:
                data = await self._stream.receive(READ_BYTES)
            except anyio.EndOfStream:
                break
            except _BROKEN as error:
                raise Disconnected(self._closed or f"the connection to {self._label} broke") from error
            try:
                incoming = self._peer.receive(data)
            except LineTooLong as error:
                self._take(error.before)
                raise
            self._take(incoming)
            if handlers.after_batch is not None:
                await handlers.after_batch()
            while self._replies_owed > CALLS_AT_ONCE:
                self._reply_settled = anyio.Event()
                await self._reply_settled.wait()
        self._take(self._peer.receive_eof())
        if handlers.after_batch is not None:
            await handlers.after_batch()

    def _take(self, incoming: list[Incoming]) -> None:
        on_notice = self._handlers.on_notice
        for message in incoming:
            if type(message) is Notice:
                params = message.params
                if message.method == CANCEL:
                    self._withdraw(params)
                # Other params than an object mean nothing in any protocol spoken here.
                elif on_notice is not None and (params is None or type(params) is dict):
                    on_notice(message.method, params)
            else:
                self._take_other(message)

    def _take_other(self, message: Incoming) -> None:
        tasks = self._tasks
        match message:
            case Answer():
                waiter = self._waiters.get(message.id)
                if waiter is not None:
                    waiter.answer = message
                    waiter.arrived.set()
                    if waiter.on_result is not None and message.error is None:
                        waiter.on_result(message.result)
            case Call() if tasks is not None:
                context = CallContext(message.id, message.method)
                self._calls[type(message.id), message.id] = context
                self._replies_owed += 1
                tasks.start_soon(self._serve, message, context)
            case Malformed() if tasks is not None:
                words = "parse error" if message.code == PARSE_ERROR else "invalid request"
                self._replies_owed += 1
                tasks.start_soon(self._reply, self._peer.refuse(None, message.code, words))
                self._noise(message.text)
            case Notice() | Call() | Malformed():
                pass
            case _:
                self._noise(message.text)

    def _noise(self, text: str) -> None:
        if self._handlers.on_noise is not None:
            self._handlers.on_noise(text)

    def _withdraw(self, params: Any) -> None:
        request_id = params.get("requestId") if isinstance(params, dict) else None
        context = self._calls.get((type(request_id), request_id)) if _is_id(request_id) else None
        if context is not None:
            context.withdrawn = True
            context.scope.cancel()

    async def _serve(self, call: Call, context: CallContext) -> None:
        serve = self._handlers.serving(call.method)
        line = b""
        try:
            if serve is None:
                line = self._peer.refuse(call.id, METHOD_NOT_FOUND, f"method not found: {call.method}")
            else:
                line = await self._result(serve, call, context)
        finally:
            self._calls.pop((type(call.id), call.id), None)
        await self._reply(line)

    async def _reply(self, line: bytes) -> None:
        try:
            await self._send_quietly(line)
        finally:
            self._replies_owed -= 1
            self._reply_settled.set()

    async def _result(self, serve: RequestHandler, call: Call, context: CallContext) -> bytes:
        params = {} if call.params is None else call.params
        if not isinstance(params, dict):
            return self._peer.refuse(call.id, INVALID_PARAMS, "invalid params: not an object")
        try:
            with context.scope:
                result = await serve(params, context)
                return self._peer.answer(call.id, result)
        except (ValidationError, DevplaneError) as error:
            refusal = error_of(error)
            return self._peer.refuse(call.id, refusal["code"], refusal["message"], refusal.get("data"))
        except Exception:  # noqa: BLE001 - the other side is owed an answer whatever happened
            _log.exception("%s: serving %s failed", self._label, call.method)
            return self._peer.refuse(call.id, INTERNAL_ERROR, "internal error")
        return self._peer.refuse(call.id, REQUEST_CANCELLED, "request cancelled")

    async def _send(self, line: bytes) -> None:
        # Written by a task of the connection's own: a sender that is cancelled in the middle of a
        # line must not leave half of it on the wire.
        await self._started.wait()
        if self._closed is not None or self._tasks is None:
            raise Disconnected(self._closed or f"{self._label} is gone")
        out = _OutLine(line)
        self._tasks.start_soon(self._write, out)
        try:
            await out.settled.wait()
        except anyio.get_cancelled_exc_class():
            out.is_abandoned = True
            raise
        if out.failure:
            raise Disconnected(out.failure)

    async def _write(self, out: _OutLine) -> None:
        out.failure = f"{self._label} is gone"  # what holds when this task is cancelled
        try:
            async with self._sending:
                if not out.is_abandoned:
                    await self._stream.send(out.data)
            out.failure = ""
        except _BROKEN:
            # Reading goes on: the last words of a program that is going down are still in the pipe.
            out.failure = f"{self._label} no longer reads"
        finally:
            if self._closed is not None and out.failure:
                out.failure = self._closed
            out.settled.set()

    async def _send_quietly(self, line: bytes) -> None:
        with suppress(Disconnected):
            await self._send(line)

    def _fail_waiters(self, reason: str) -> None:
        self._closed = self._closed or reason
        self._started.set()  # nobody shall wait for a start that comes no more
        for waiter in list(self._waiters.values()):
            if not waiter.arrived.is_set():
                waiter.failure = reason
                waiter.arrived.set()


def _is_id(value: object) -> bool:
    return value is None or type(value) in (int, str)
