"""A small blocking ACP client over real pipes, for tests that drive an agent process.

Written with the standard library alone, so that what it says of an agent owes nothing to
Devplane's own reading of the protocol.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

Message = dict[str, Any]

PATIENCE_S = 20.0
"""Bound of every wait: passing it means that the agent hangs, never that it is slow."""

ALLOW = "allow_once"
ALWAYS = "allow_always"
REJECT = "reject_once"


class Hung(AssertionError):
    """The agent did not do what was waited for."""


class Refused(Exception):
    """The agent answered with an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(str(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class WireClient:
    """One agent process and everything it wrote. Use as a context manager.

    `answering` settles the agent's requests: a function from the request to a result,
    ``None`` to leave it open. The default allows permissions once and declines forms.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.heard: list[Message] = []
        """Every message the agent sent, in order."""
        self.noise: list[bytes] = []
        """Lines that were no messages."""
        self.stderr = bytearray()
        self.answering: Callable[[Message], Message | None] = choose(ALLOW)
        self._next_id = 0
        self._lines: Queue[bytes | None] = Queue()
        self._responses: dict[int, Message] = {}
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._read, self._drain)]
        for thread in self._threads:
            thread.start()

    # Life

    def __enter__(self) -> WireClient:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._pipe(self.process.stdin).close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        self._pipe(self.process.stdout).close()
        self._pipe(self.process.stderr).close()

    def end_input(self) -> int:
        """Close the agent's stdin and return its exit status."""
        self._pipe(self.process.stdin).close()
        return self.exit_status()

    def exit_status(self) -> int:
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Hung("the agent did not end") from None

    def ended_stderr(self) -> str:
        """Return all of stderr, once the agent has closed it."""
        self._threads[1].join(PATIENCE_S)
        return self.stderr.decode(errors="replace")

    # Saying

    def send(self, message: Message) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        stdin = self._pipe(self.process.stdin)
        stdin.write(data)
        stdin.flush()

    def request(self, method: str, params: Message) -> int:
        """Send a request and return its id; `response` waits for the answer."""
        request_id, self._next_id = self._next_id, self._next_id + 1
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def notify(self, method: str, params: Message) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request: Message, result: Message) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def call(self, method: str, params: Message) -> Any:
        """Send a request and wait for its result, settling the agent's requests meanwhile."""
        return self.response(self.request(method, params))

    def initialize(self, version: int = 1) -> Message:
        client: Message = {"fs": {"readTextFile": False, "writeTextFile": False}, "elicitation": {"form": {}}}
        return dict(self.call("initialize", {"protocolVersion": version, "clientCapabilities": client}))

    def new_session(self, cwd: Path) -> str:
        result = self.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        return str(result["sessionId"])

    def start_prompt(self, session_id: str, text: str) -> int:
        blocks = [{"type": "text", "text": text}]
        return self.request("session/prompt", {"sessionId": session_id, "prompt": blocks})

    def prompt(self, session_id: str, text: str) -> Message:
        return dict(self.response(self.start_prompt(session_id, text)))

    def cancel(self, session_id: str) -> None:
        self.notify("session/cancel", {"sessionId": session_id})

    # Hearing

    def response(self, request_id: int) -> Any:
        """Wait for the answer to one of our requests.

        Raises:
            Refused: It is an error.
        """
        if request_id not in self._responses:
            self.until(lambda _: request_id in self._responses)
        message = self._responses[request_id]
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def until(self, is_it: Callable[[Message], bool]) -> Message:
        """Take messages until one of them is it; what was taken before does not count."""
        while True:
            message = self._take()
            if message is None:
                raise Hung(f"the agent closed stdout; stderr: {self.stderr[-500:]!r}")
            if is_it(message):
                return message

    def until_request(self, method: str) -> Message:
        return self.until(lambda message: message.get("method") == method and "id" in message)

    def until_update(self, kind: str) -> Message:
        return self.until(lambda message: _update(message).get("sessionUpdate") == kind)

    def until_eof(self) -> None:
        """Take everything that the agent still writes."""
        while self._take() is not None:
            pass

    @property
    def updates(self) -> list[Message]:
        return [_update(message) for message in self.heard if message.get("method") == "session/update"]

    @property
    def asked(self) -> list[Message]:
        """The agent's own requests."""
        return [message for message in self.heard if "method" in message and "id" in message]

    def said(self, kind: str = "agent_message_chunk") -> str:
        """Return all text of one kind of chunk, joined."""
        return "".join(u["content"].get("text", "") for u in self.updates if u["sessionUpdate"] == kind)

    def forget(self) -> None:
        """Start `heard` over, to look at what one step brings."""
        self.heard.clear()

    def _take(self) -> Message | None:
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE_S)
            except Empty:
                raise Hung(f"nothing came; stderr: {self.stderr[-500:]!r}") from None
            if line is None:
                self._lines.put(None)
                return None
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict) or "jsonrpc" not in message:
                self.noise.append(line)
                continue
            self.heard.append(message)
            self._settle(message)
            return dict(message)

    def _settle(self, message: Message) -> None:
        if "method" not in message:
            self._responses[message["id"]] = message
        elif "id" in message:
            result = self.answering(message)
            if result is not None:
                self.answer(message, result)

    def _read(self) -> None:
        for line in self._pipe(self.process.stdout):
            self._lines.put(line)
        self._lines.put(None)

    def _drain(self) -> None:
        stderr = self._pipe(self.process.stderr)
        while data := os.read(stderr.fileno(), 65536):
            self.stderr += data

    @staticmethod
    def _pipe(pipe: Any) -> Any:
        assert pipe is not None
        return pipe


def choose(kind: str) -> Callable[[Message], Message | None]:
    """Answer permission requests with the first option of `kind`, and decline forms."""

    def answer(request: Message) -> Message | None:
        if request["method"] != "session/request_permission":
            return {"action": "decline"}
        option = next(o for o in request["params"]["options"] if o["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    return answer


def leave_open(request: Message) -> None:
    """Answer nothing."""


def _update(message: Message) -> Message:
    if message.get("method") != "session/update":
        return {}
    update: Message = message["params"]["update"]
    return update
