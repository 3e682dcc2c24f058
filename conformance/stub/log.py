"""What was asked of the model, for checks to read afterwards."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

from conformance.stub.request import Json, ModelRequest


class RequestLog:
    """One JSON object a line: a request when it comes, and how it ended when it has."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def begin(self, path: str, wire: str, request: ModelRequest, round_index: int | None) -> int:
        """Note a request; return the number under which `end` notes its ending.

        The system prompt is left out: it is long, and the agent's own.
        """
        said = [{"role": i.role, "text": i.text} for i in request.items if i.role != "system"]
        with self._lock:
            number = next(self._numbers)
            self._write(
                {
                    "request": number,
                    "path": path,
                    "wire": wire,
                    "model": request.model,
                    "streamed": request.is_streamed,
                    "tools": sorted(request.tools),
                    "round": round_index,
                    "conversation": said,
                }
            )
        return number

    def end(self, number: int, outcome: str) -> None:
        with self._lock:
            self._write({"request": number, "ended": outcome})

    def _write(self, entry: Json) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
