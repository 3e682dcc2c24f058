"""The control socket: one connection a caller, each request checked, its caller known."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from pydantic import TypeAdapter

from devplane.control import requests as r
from devplane.control.stream import UnixListener, UnixStream
from devplane.daemon import verbs
from devplane.daemon.caller import Caller, caller_of
from devplane.daemon.service import Service
from devplane.daemon.watch import Watcher
from devplane.errors import DevplaneError
from devplane.paths import Home
from devplane.transport import Connection, Handlers

_log = logging.getLogger(__name__)

ACCEPT_PAUSE_S = 0.1

_ADAPTERS: dict[type, TypeAdapter[Any]] = {each: TypeAdapter(each) for each in (*verbs.VERBS, r.Watch)}


async def listen(service: Service, home: Home, *, ready: anyio.Event) -> None:
    """Bind the socket and serve until cancelled. The caller holds the home's lock.

    Once the daemon is stopping nobody new is let in, so that the next caller waits for the
    next daemon; who is connected stays, and hears how the stop went.
    """
    path = home.socket()
    _unlink(path)
    listener = UnixListener(str(path))
    ready.set()
    try:
        async with anyio.create_task_group() as calls:
            async with anyio.create_task_group() as accepting:
                accepting.start_soon(_accept, service, listener, calls)
                await service.stopping.wait()
                accepting.cancel_scope.cancel()
            listener.close()
            _unlink(path)
            await anyio.sleep_forever()
    finally:
        listener.close()
        _unlink(path)


async def _accept(service: Service, listener: UnixListener, calls: TaskGroup) -> None:
    while True:
        try:
            calls.start_soon(_serve, service, await listener.accept())
        except OSError as error:
            # Out of descriptors, mostly: who is connected goes on, and the next may find one free.
            _log.error("a caller could not be let in: %s", error)
            await anyio.sleep(ACCEPT_PAUSE_S)


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


async def _serve(service: Service, stream: UnixStream) -> None:
    try:
        caller = caller_of(stream.socket)
        if caller.uid is None or caller.uid == os.getuid():
            await _converse(service, stream, caller)
    except Exception:  # noqa: BLE001 - one caller's bug must not end the daemon
        _log.exception("a caller's connection ended by a bug")
    finally:
        with anyio.CancelScope(shield=True):
            await stream.aclose()


async def _converse(service: Service, stream: UnixStream, caller: Caller) -> None:
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
