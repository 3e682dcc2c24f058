"""JSON-RPC 2.0 envelopes: the one file that knows the library for them.

The library drops empty params, escapes what is not ASCII, raises one exception for
a broken wire and for the other side's error reply, and answers every failed handler
with -32000 and its text. Here each of these is its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonrpc_base  # noqa: TID251
from pydantic import ValidationError

from devplane.errors import DevplaneError, to_wire

Id = int | str | None
"""A request's id: ``1`` and ``"1"`` are different, ``0`` is as good as any, null is legal if unwise."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
APPLICATION_ERROR = -32000
REQUEST_CANCELLED = -32800

SHOWN_PROBLEMS = 3


class PeerError(DevplaneError):
    """The other side answered a request with an error: the wire works, the answer is no."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message or f"error {code}")
        self.code = code
        self.message = message
        """As it came, line breaks included."""
        self.data = data

    @classmethod
    def of(cls, error: object) -> PeerError:
        """Read an ``error`` member, whatever shape it has."""
        if not isinstance(error, dict):
            return cls(INTERNAL_ERROR, error if isinstance(error, str) else json.dumps(error))
        code, message = error.get("code"), error.get("message")
        return cls(
            code if isinstance(code, int) else INTERNAL_ERROR,
            message if isinstance(message, str) else "",
            error.get("data"),
        )


class Disconnected(DevplaneError):
    """The wire broke or was closed: whether the other side acted on a request is unknown."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CallRefused(DevplaneError):
    """Raised by a handler that wants its error reply to carry a certain code."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Request(jsonrpc_base.Request):  # type: ignore[misc]
    """A request, or a notification when it has no id."""

    def __init__(self, method: str, params: dict[str, Any] | list[Any] | None, msg_id: Id = None) -> None:
        super().__init__(method, params, msg_id)

    def serialize(self) -> str:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": self.method}
        if self.msg_id is not None:
            message["id"] = self.msg_id
        if self.params is not None:
            message["params"] = self.params
        return to_json(message)


class Response(jsonrpc_base.Response):  # type: ignore[misc]
    """An answer to the request with `msg_id`; a result of None is sent as null."""

    def __init__(self, msg_id: Id, result: Any = None, error: dict[str, Any] | None = None) -> None:
        super().__init__(Request("", None, msg_id), result, error)

    def serialize(self) -> str:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.request.msg_id}
        if self.error is None:
            message["result"] = self.result
        else:
            message["error"] = self.error
        return to_json(message)


class Server(jsonrpc_base.Server):  # type: ignore[misc]
    """Who serves which method. The library's attribute magic is off: methods here have slashes."""

    __setattr__ = object.__setattr__

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def register(self, method: str, serve: Callable[..., Any]) -> None:
        self._server_request_handlers[method] = serve

    def registered(self, method: str) -> Callable[..., Any] | None:
        found: Callable[..., Any] | None = self._server_request_handlers.get(method)
        return found


def to_json(message: dict[str, Any]) -> str:
    """Return `message` in one line: UTF-8 as it is, escaped only where half a surrogate pair needs it."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":"))
    return text


def to_line(message: Request | Response) -> bytes:
    """Return what goes on the wire for `message`, newline included."""
    return str(message.serialize()).encode() + b"\n"


def error_object(code: int, message: str, data: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return error if data is None else {**error, "data": data}


def error_of(failure: DevplaneError | ValidationError) -> dict[str, Any]:
    """Return the error reply for a handler that failed in a way a person can be told of."""
    match failure:
        case ValidationError():
            return error_object(INVALID_PARAMS, f"invalid params: {problems_of(failure)}")
        case CallRefused():
            return error_object(failure.code, str(failure), failure.data)
        case _:
            return error_object(APPLICATION_ERROR, str(failure), to_wire(failure))


def problems_of(failure: ValidationError) -> str:
    """Name the first wrong fields in one line, without the values: those may be long or secret."""
    problems = failure.errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, problem['loc'])) or 'params'}: {problem['msg']}"
        for problem in problems[:SHOWN_PROBLEMS]
    ]
    more = len(problems) - len(shown)
    return " ".join("; ".join(shown).split()) + (f" (and {more} more)" if more else "")
