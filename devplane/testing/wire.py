"""JSON-RPC over two file descriptors, for a program that plays the agent.

Owns the bytes, the ids of the agent's own requests and who waits for which answer.
Knows nothing of ACP. Written from the protocol's side alone, with no code shared
with `devplane.acp`, so that the two can disagree in a test.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

Message = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002


class RpcError(Exception):
    """An error reply: raise it to send one, catch it when the client sent one."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class Withdrawn(Exception):
    """The wait for an answer was given up by `Waiting.withdraw`."""


class Waiting:
    """One request of ours that the client has not answered yet."""

    __slots__ = ("_slot", "id")

    def __init__(self, request_id: int | str) -> None:
        self.id = request_id
        self._slot: SimpleQueue[Message | None] = SimpleQueue()

    def put(self, answer: Message) -> None:
        self._slot.put(answer)

    def withdraw(self) -> None:
        """Wake the one who waits with `Withdrawn`; a later answer is dropped."""
        self._slot.put(None)

    def result(self) -> Any:
        """Wait for the answer, however long it takes.

        Raises:
            RpcError: The client refused.
            Withdrawn: Nobody is interested any more.
        """
        answer = self._slot.get()
        if answer is None:
            raise Withdrawn
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error.get("code", INTERNAL_ERROR), error.get("message", ""), error.get("data"))
        return answer.get("result")


class Wire:
    """Both directions of one connection. Every method may be called from any thread."""

    def __init__(self, in_fd: int, out_fd: int) -> None:
        self._in_fd = in_fd
        self.out_fd = out_fd
        """Where the protocol is written; no child inherits it."""
        self._sending = threading.Lock()
        self._next_id = 0
        self._waiting: dict[int | str, Waiting] = {}
        self.on_line: Callable[[bytes], None] | None = None
        """Called with every line received, before it is looked at."""

    def messages(self) -> Iterator[Message]:
        """Yield the client's requests and notifications until EOF; answers go to who waits for them.

        A line that is not JSON is answered with a parse error that names no request.
        """
        with open(self._in_fd, "rb", closefd=False) as stream:
            for line in stream:
                if self.on_line:
                    self.on_line(line)
                try:
                    message = json.loads(line)
                except ValueError:
                    if line.strip():
                        self.refuse(None, PARSE_ERROR, "Parse error")
                    continue
                if not isinstance(message, dict):
                    self.refuse(None, INVALID_REQUEST, "Invalid request")
                elif "method" in message:
                    yield message
                else:
                    self._deliver(message)

    def _deliver(self, answer: Message) -> None:
        request_id = answer.get("id")
        waiting = self._waiting.pop(request_id, None) if isinstance(request_id, int | str) else None
        if waiting is not None:
            waiting.put(answer)

    def call(self, method: str, params: Message, *, request_id: int | str | None = None) -> Waiting:
        """Send a request. Ids count from 0, as every agent's do, unless `request_id` says otherwise."""
        with self._sending:
            if request_id is None:
                request_id = self._next_id
                self._next_id += 1
            waiting = self._waiting[request_id] = Waiting(request_id)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return waiting

    def notify(self, method: str, params: Message) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request_id: object, result: object) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def refuse(self, request_id: object, code: int, message: str, data: object = None) -> None:
        error: Message = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.send({"jsonrpc": "2.0", "id": request_id, "error": error})

    def send(self, message: object) -> None:
        self.send_bytes(encode(message))

    def send_bytes(self, data: bytes) -> None:
        """Write `data` as it is: for many messages at once, and for misbehaviour."""
        view = memoryview(data)
        with self._sending:
            while view:
                view = view[os.write(self.out_fd, view) :]

    def close_output(self) -> None:
        """Close our end of stdout while the process lives on."""
        os.close(self.out_fd)


def encode(message: object) -> bytes:
    """Return `message` as one line of UTF-8 JSON, newline included."""
    try:
        return (json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8, but it has an escape
        return (json.dumps(message, separators=(",", ":")) + "\n").encode()
