"""The HTTP side: takes a request, plays its round, and notes both in the log."""

from __future__ import annotations

import gzip
import json
import select
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from conformance.script import Round
from conformance.stub.anthropic import Anthropic
from conformance.stub.chat import ChatCompletions
from conformance.stub.gemini import Gemini
from conformance.stub.log import RequestLog
from conformance.stub.play import Pause, failure_in, play, round_for
from conformance.stub.reply import Event, Reply, Wire
from conformance.stub.request import Json, ModelRequest
from conformance.stub.responses import Responses

WIRES: tuple[Wire, ...] = (Anthropic(), ChatCompletions(), Responses(), Gemini())
MODEL = "stub"
PAGE = b"<html><body><h1>A page</h1><p>For tools that fetch.</p></body></html>"


class ClientLeft(Exception):
    """The client closed the connection, or the server is being closed."""


class StubServer(ThreadingHTTPServer):
    """Serves until closed; closing ends the streams that still hang."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, port: int, log: RequestLog) -> None:
        self.log = log
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients that hang up between two requests are no news; all else is.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        super().server_close()


@contextmanager
def serving(port: int = 0, log: Path | None = None) -> Iterator[StubServer]:
    """Run a server on the loopback interface; port 0 takes a free one."""
    server = StubServer(port, RequestLog(log))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keep stderr clean; `RequestLog` has it all."""

    def do_HEAD(self) -> None:
        self._respond(200, b"")

    def do_GET(self) -> None:
        if self.path.startswith("/page"):
            self._respond(200, PAGE, "text/html")
        elif self.headers.get("Upgrade"):
            self._respond_json(426, {"error": {"message": "no web sockets here"}})
        else:
            models = [{"id": MODEL, "object": "model", "type": "model", "display_name": MODEL, "created": 1}]
            self._respond_json(200, {"object": "list", "data": models, "has_more": False, "models": []})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = json.loads(self._body() or b"{}")
        wire = next((wire for wire in WIRES if wire.serves(path)), None)
        if wire is not None:
            self._answer(wire, path, wire.read(path, body))
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._respond_json(200, {"input_tokens": 42, "totalTokens": 42})
        else:
            self._respond_json(404, {"error": {"message": f"nothing is served at {path}"}})

    def _answer(self, wire: Wire, path: str, request: ModelRequest) -> None:
        round_, index = round_for(request)
        number = self.server.log.begin(path, wire.name, request, index)
        outcome = "client left"
        try:
            if failure := failure_in(round_):
                body = failure.body or wire.failure(failure.status, f"scripted failure {failure.status}")
                self._respond_json(failure.status, body)
                outcome = f"error {failure.status}"
            else:
                self._play(wire, request, round_)
                outcome = "answered"
        except (ClientLeft, ConnectionError):
            self.close_connection = True
        finally:
            self.server.log.end(number, outcome)

    def _play(self, wire: Wire, request: ModelRequest, round_: Round) -> None:
        reply = Reply(request.model)
        if request.is_streamed:
            self._open_stream()
        for item in play(wire, request, reply, round_):
            match item:
                case Pause():
                    self._wait(item.seconds)
                case Event():
                    if request.is_streamed:
                        self._stream(item)
        if request.is_streamed:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._respond_json(200, wire.whole(reply))

    def _open_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _stream(self, event: Event) -> None:
        data = event.data if isinstance(event.data, str) else json.dumps(event.data)
        name = f"event: {event.name}\n" if event.name else ""
        encoded = f"{name}data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(encoded), encoded))

    def _wait(self, seconds: float | None) -> None:
        """Return after `seconds`, or never.

        Raises:
            ClientLeft: it was not there to the end.
        """
        # A client that waits for its answer sends nothing, so what can be read is the end.
        readable, _, _ = select.select([self.connection], [], [], seconds)
        if readable:
            raise ClientLeft

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _respond_json(self, status: int, body: Json) -> None:
        self._respond(status, json.dumps(body).encode())

    def _respond(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
