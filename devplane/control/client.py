"""The caller's end of the control socket: reach the daemon, or start one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

import anyio

from devplane import __version__
from devplane.acp.jsonrpc import Disconnected, PeerError
from devplane.control.requests import Hello, Request, method_of
from devplane.control.stream import UnixStream, connect_unix
from devplane.errors import DevplaneError, NoDaemon, Refused, from_wire, innermost
from devplane.paths import Home
from devplane.transport import Connection, Handlers

READY_LIMIT_S = 30.0
"""How long a daemon may take from its start to its first answer."""
LOG_LINES_SHOWN = 5

RUN_VARIABLE = "DEVPLANE_RUN"
"""Set in an agent's environment (see `devplane.agents.tree`)."""

FrameSink = Callable[[dict[str, Any]], None]


class Client:
    """A conversation with the daemon."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ask(self, request: Request) -> dict[str, Any]:
        """Return the daemon's answer.

        Raises:
            DevplaneError: What the daemon refused or failed at, in its own class.
            NoDaemon: It ended in mid-request; whether it acted is unknown.
        """
        try:
            answer = await self._connection.request(method_of(type(request)), asdict(request))
        except PeerError as error:
            raise from_wire(error.message, error.data) from None
        except Disconnected:
            raise NoDaemon(
                "the daemon ended before it answered", hint="Look at: devplane daemon logs."
            ) from None
        return answer if isinstance(answer, dict) else {}


@asynccontextmanager
async def connect(
    home: Home,
    *,
    start: bool = True,
    any_version: bool = False,
    on_frame: FrameSink | None = None,
    on_end: Callable[[], None] | None = None,
) -> AsyncIterator[Client]:
    """Yield a conversation with the home's daemon, started first if there is none and `start`.

    `any_version` is for seeing and ending a daemon of another version, which speaks these few
    words too. `on_end` is called when the daemon is gone.

    Raises:
        NoDaemon: None runs and none could be started; the message quotes its log.
        Refused: The daemon is of another version.
    """
    stream = await _reach(home)
    if stream is None:
        if not start:
            raise NoDaemon("no daemon is running", hint="Commands that act start one: devplane dispatch.")
        home.prepare()
        stream = await _start(home)
    handlers = Handlers()

    def notice(method: str, params: dict[str, Any] | None) -> None:
        if method == "frame" and params and on_frame is not None:
            on_frame(params)

    handlers.on_notice = notice
    connection = Connection(stream, label="the daemon", handlers=handlers)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, connection, on_end)
            client = Client(connection)
            hello = await client.ask(Hello(__version__))
            if hello.get("version") != __version__ and not any_version:
                raise Refused(
                    f"the daemon is version {hello.get('version')}, this is {__version__}",
                    hint="Restart it when its runs may be interrupted: devplane daemon stop.",
                )
            yield client
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise innermost(group) from None
    finally:
        await connection.aclose("done")


async def _run(connection: Connection, on_end: Callable[[], None] | None) -> None:
    with suppress(DevplaneError):
        await connection.run()
    if on_end is not None:
        on_end()


async def _reach(home: Home) -> UnixStream | None:
    path = home.socket()
    with suppress(OSError):
        # The caller's environment goes over it: only to a daemon of this user.
        if path.parent.stat().st_uid == os.getuid():
            return await connect_unix(str(path))
    return None


async def _start(home: Home) -> UnixStream:
    if RUN_VARIABLE in os.environ:
        raise Refused("an agent may not start the daemon", hint="Run this in a terminal of your own.")
    reader, writer = os.pipe()
    try:
        with home.log.open("ab") as log:
            log_start = log.tell()
            child = subprocess.Popen(  # noqa: ASYNC220 - it is to outlive this process; nothing waits here
                [sys.executable, "-m", "devplane", "serve", "--ready-fd", str(writer)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                pass_fds=(writer,),
                env={**os.environ, "DEVPLANE_HOME": str(home.root)},
            )
    except OSError as error:
        os.close(reader)
        raise NoDaemon(f"cannot start the daemon: {error.strerror or error}") from error
    finally:
        os.close(writer)
    try:
        word = b""
        with anyio.move_on_after(READY_LIMIT_S):
            await anyio.wait_readable(reader)
            word = os.read(reader, 64)
    finally:
        os.close(reader)
    # "held": another caller's daemon was first; it may not listen yet.
    with anyio.move_on_after(READY_LIMIT_S if word else 0.5):
        while True:
            stream = await _reach(home)
            if stream is not None:
                _forget(child)
                return stream
            await anyio.sleep(0.02)
    with suppress(OSError):
        child.kill()
    child.wait()
    with home.log.open("rb") as log:
        log.seek(log_start)
        said = log.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
    raise NoDaemon(
        "the daemon did not start" + (": " + " / ".join(said[-LOG_LINES_SHOWN:]) if said else ""),
        hint=f"Its log is {home.log}.",
    )


def _forget(child: subprocess.Popen[bytes]) -> None:
    # It outlives us by design: without this the interpreter warns of a child that still runs.
    child.returncode = 0
