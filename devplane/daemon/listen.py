"""The control socket: one connection a caller, each request checked, its caller known."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from pydantic import TypeAdapter

from devplane.control import requests as r
from devplane.daemon import verbs
from devplane.daemon.caller import Caller, caller_of
from devplane.daemon.service import Service
from devplane.daemon.watch import Watcher
from devplane.errors import DevplaneError
from devplane.paths import Home
from devplane.transport import Connection, Handlers

_log = logging.getLogger(__name__)

_ADAPTERS: dict[type, TypeAdapter[Any]] = {each: TypeAdapter(each) for each in (*verbs.VERBS, r.Watch)}


async def listen(service: Service, home: Home, *, ready: anyio.Event) -> None:
    """Bind the socket and serve until cancelled. The caller holds the home's lock."""
    path = home.socket()
    with suppress(FileNotFoundError):
        path.unlink()
    before = os.umask(0o177)
    try:
        listener = await anyio.create_unix_listener(str(path))
    finally:
        os.umask(before)
    ready.set()

    async def serve(stream: SocketStream) -> None:
        try:
            await _serve(service, stream)
        except Exception:  # noqa: BLE001 - one caller's bug must not end the daemon
            _log.exception("a caller's connection ended by a bug")

    try:
        await listener.serve(serve)
    finally:
        with suppress(OSError):
            path.unlink()


async def _serve(service: Service, stream: SocketStream) -> None:
    raw: socket.socket = stream.extra(SocketAttribute.raw_socket)
    caller = caller_of(raw)
    if caller.uid is not None and caller.uid != os.getuid():
        await stream.aclose()
        return
    handlers = Handlers()
    connection = Connection(stream, label="a caller", handlers=handlers)
    watchers: list[Watcher] = []
    async with anyio.create_task_group() as tasks:
        for request_type, verb in verbs.VERBS.items():
            handlers.on_request(r.method_of(request_type), _checked(service, caller, request_type, verb))

        def follow(watcher: Watcher) -> None:
            watchers.append(watcher)
            tasks.start_soon(_send_frames, connection, watcher)

        async def watch(params: Any, call: Any) -> dict[str, Any]:
            return await verbs.watch(service, _ADAPTERS[r.Watch].validate_python(params or {}), follow)

        handlers.on_request("watch", watch)
        with suppress(DevplaneError):
            await connection.run()
        for watcher in watchers:
            entry = service.board.entries.get(watcher.run)
            if entry is not None and watcher in entry.watchers:
                entry.watchers.remove(watcher)
        tasks.cancel_scope.cancel()


def _checked(service: Service, caller: Caller, request_type: type, verb: Any) -> Any:
    is_acting = request_type in r.ACTING

    async def handle(params: Any, call: Any) -> dict[str, Any]:
        request = _ADAPTERS[request_type].validate_python(params or {})
        if is_acting:
            caller.check_may_act(service.agent_pids())
        answer: dict[str, Any] = await verb(service, request)
        return answer

    return handle


async def _send_frames(connection: Connection, watcher: Watcher) -> None:
    with suppress(DevplaneError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            await connection.notify("frame", *await watcher.next())
