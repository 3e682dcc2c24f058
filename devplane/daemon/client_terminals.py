"""``terminal/*``: an agent's commands, run by Devplane inside the run's folder and under its rules."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from devplane.acp import messages as acp
from devplane.acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, CallRefused
from devplane.agents import tree
from devplane.core.permission import Call
from devplane.daemon import inside, terminal
from devplane.daemon.inside import FileTrouble
from devplane.daemon.permits import Deed, Permits
from devplane.daemon.terminal import CannotRun, Terminal
from devplane.transport import CallContext, Handlers

AT_ONCE = 32
"""Terminals of one run that are not released."""
OUTPUT_LIMIT_BYTES = 1 << 20
"""What is kept of a command's output when the agent names no limit."""
OUTPUT_CAP_BYTES = 4 << 20
"""And at most, whatever it names."""

_OWN_VARIABLES = (tree.RUN_VARIABLE, tree.HOME_VARIABLE)


class ClientTerminals:
    """Serves one agent's requests for terminals. Made by `client_terminals`."""

    def __init__(self, root: str, env: Mapping[str, str], permits: Permits, tasks: TaskGroup) -> None:
        self._root = root
        self._env = env
        self._permits = permits
        self._tasks = tasks
        self._open: dict[str, Terminal] = {}
        self._starting = 0
        self._made = 0

    def serve(self, handlers: Handlers) -> None:
        handlers.on_request("terminal/create", self.on_create)
        handlers.on_request("terminal/output", self.on_output)
        handlers.on_request("terminal/wait_for_exit", self.on_wait)
        handlers.on_request("terminal/kill", self.on_kill)
        handlers.on_request("terminal/release", self.on_release)

    async def on_create(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        request = acp.CreateTerminal.model_validate(params)
        if len(self._open) + self._starting >= AT_ONCE:
            raise CallRefused(INTERNAL_ERROR, f"{AT_ONCE} terminals are open: release one first")
        # Counted while a person decides: the bound holds for what is asked at once, too.
        self._starting += 1
        try:
            return await self._create(request, context)
        finally:
            self._starting -= 1

    async def _create(self, request: acp.CreateTerminal, context: CallContext) -> dict[str, Any]:
        added = {each.name: each.value for each in request.env}
        command = [request.command, *request.args]
        cwd, barred = await self._cwd(request.cwd)
        env = {**self._env, **added, "PWD": cwd}
        env.update({name: self._env[name] for name in _OWN_VARIABLES if name in self._env})
        if not barred:
            _check_program(command, cwd, env)
        # Variables come first, as a shell would have them: the rules know which of them change what runs.
        words = [f"{name}={shlex.quote(value)}" for name, value in added.items()]
        line = " ".join([*words, shlex.join(command)])
        deed = Deed(Call("Bash", line, cwd), line, "execute", barred=barred)
        await self._permits.obtain(deed, context)
        wanted = OUTPUT_LIMIT_BYTES if request.output_limit_bytes is None else request.output_limit_bytes
        try:
            made = await terminal.start(command, cwd=cwd, env=env, limit_bytes=min(wanted, OUTPUT_CAP_BYTES))
        except CannotRun as error:
            raise CallRefused(INTERNAL_ERROR, str(error)) from None
        self._made += 1
        name = f"terminal-{self._made}"
        self._open[name] = made
        self._tasks.start_soon(made.tend)
        return {"terminalId": name}

    async def on_output(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        _, named = self._named(params)
        text, is_truncated = named.output()
        status = acp.exit_status(*named.status) if named.status is not None else None
        return acp.terminal_output(text, truncated=is_truncated, status=status)

    async def on_wait(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        _, named = self._named(params)
        await named.exited.wait()
        return acp.exit_status(*(named.status or (None, None)))

    async def on_kill(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        _, named = self._named(params)
        await named.kill()
        return {}

    async def on_release(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        name, named = self._named(params)
        del self._open[name]
        await named.release()
        return {}

    async def end(self) -> None:
        """End everything that still runs."""
        async with anyio.create_task_group() as tasks:
            while self._open:
                _, each = self._open.popitem()
                tasks.start_soon(each.release)

    def _named(self, params: dict[str, Any]) -> tuple[str, Terminal]:
        name = acp.TerminalNamed.model_validate(params).id
        if name not in self._open:
            raise CallRefused(
                acp.RESOURCE_NOT_FOUND, f"no terminal {name!r}: it was never made, or is released"
            )
        return name, self._open[name]

    async def _cwd(self, wanted: str | None) -> tuple[str, str]:
        """Return where a command is to run, and why it may not run there, or ""."""
        if not wanted:
            return self._root, ""
        try:
            place = await anyio.to_thread.run_sync(inside.place_of, self._root, wanted)
        except FileTrouble as error:
            raise CallRefused(INVALID_PARAMS, f"cwd: {error}") from None
        if not place.is_inside:
            return place.path, f"its folder {wanted} leads to {place.path}, outside of {place.root}"
        if not await anyio.to_thread.run_sync(os.path.isdir, place.path):
            raise CallRefused(INVALID_PARAMS, f"cwd: {place.path} is no folder")
        return place.path, ""


def _check_program(command: list[str], cwd: str, env: Mapping[str, str]) -> None:
    """Refuse what cannot run before anybody is asked about it: mostly a whole line in place of a program."""
    program = command[0]
    path = os.path.join(cwd, program) if os.sep in program else program
    try:
        found = shutil.which(path, path=env.get("PATH", os.defpath))
    except ValueError:
        found = None
    if found is None:
        raise CallRefused(INVALID_PARAMS, f"no program {program!r}; its arguments belong in args")


@asynccontextmanager
async def client_terminals(
    root: str, env: Mapping[str, str], permits: Permits
) -> AsyncIterator[ClientTerminals]:
    """Yield the terminals of a run in `root`, whose commands get `env`; none is left afterwards."""
    async with anyio.create_task_group() as tasks:
        terminals = ClientTerminals(root, env, permits, tasks)
        try:
            yield terminals
        finally:
            with anyio.CancelScope(shield=True):
                await terminals.end()
