"""``fs/*``: an agent's files, read and written by Devplane inside the run's folder and under its rules."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.acp.jsonrpc import INTERNAL_ERROR, CallRefused
from devplane.core.permission import Call
from devplane.daemon import inside
from devplane.daemon.inside import FileTrouble, Missing, Place
from devplane.daemon.permits import Deed, Permits
from devplane.daemon.windows import lines_of
from devplane.transport import CallContext, Handlers


class ClientFiles:
    """Serves one agent's requests for files below `root`."""

    def __init__(self, root: str, permits: Permits, *, missing_is_empty: bool) -> None:
        """`missing_is_empty`: the agent takes a file that it is about to make for an empty one."""
        self._root = root
        self._permits = permits
        self._missing_is_empty = missing_is_empty

    def serve(self, handlers: Handlers) -> None:
        handlers.on_request("fs/read_text_file", self.on_read)
        handlers.on_request("fs/write_text_file", self.on_write)

    async def on_read(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        request = acp.ReadTextFile.model_validate(params)
        place = await self._place(request.path)
        deed = self._deed("Read", "read", request.path, place, is_free=True)
        await self._permits.obtain(deed, context)
        try:
            data = await anyio.to_thread.run_sync(inside.read, place)
        except Missing as error:
            if self._missing_is_empty:
                return acp.file_content("")
            raise CallRefused(acp.RESOURCE_NOT_FOUND, f"resource not found: {error}") from None
        except FileTrouble as error:
            raise CallRefused(INTERNAL_ERROR, f"cannot read {error}") from None
        try:
            return acp.file_content(lines_of(data, request.line, request.limit).decode("utf-8"))
        except UnicodeDecodeError:
            raise CallRefused(INTERNAL_ERROR, f"cannot read {place.path}: not UTF-8 text") from None

    async def on_write(self, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        request = acp.WriteTextFile.model_validate(params)
        try:
            data = request.content.encode("utf-8")
        except UnicodeEncodeError:
            raise CallRefused(INTERNAL_ERROR, "the content is no text: half a character") from None
        place = await self._place(request.path)
        deed = self._deed("Edit", "edit", request.path, place, new_text=request.content)
        await self._permits.obtain(deed, context)
        try:
            await anyio.to_thread.run_sync(inside.write, place, data)
        except FileTrouble as error:
            raise CallRefused(INTERNAL_ERROR, f"cannot write {error}") from None
        return {}

    async def _place(self, path: str) -> Place:
        try:
            return await anyio.to_thread.run_sync(inside.place_of, self._root, path)
        except FileTrouble as error:
            raise CallRefused(INTERNAL_ERROR, str(error)) from None

    def _deed(
        self,
        tool: str,
        kind: str,
        path: str,
        place: Place,
        *,
        is_free: bool = False,
        new_text: str | None = None,
    ) -> Deed:
        # As the agent spelt it, and where that leads now: it is the second that is opened later.
        paths = tuple(dict.fromkeys((path, place.path)))
        describe = None if new_text is None else partial(_diff, place, new_text)
        barred = "" if place.is_inside else f"{path} leads to {place.path}, outside of {place.root}"
        call = Call(tool, path, self._root, paths)
        title = f"{'Read' if new_text is None else 'Write'} {path}"
        if place.path != os.path.normpath(os.path.join(self._root, path)):
            title += f" (a link to {place.path})"
        return Deed(call, title, kind, is_free=is_free, barred=barred, describe=describe)


async def _diff(place: Place, new_text: str) -> str:
    """What a write would change, for the person who is asked."""

    def compare() -> str:
        try:
            old = inside.read(place).decode("utf-8", "replace")
        except FileTrouble:
            old = None
        return acp.diff_text({"path": place.path, "oldText": old, "newText": new_text})

    return await anyio.to_thread.run_sync(compare)
