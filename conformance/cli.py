"""The ``devplane`` command as the checks use it: a whole program, its own home, and its own words."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import Any

COMMAND_LIMIT_S = 180
FRAME_LIMIT_S = 120

Frame = dict[str, Any]


class CommandFailed(Exception):
    """A command did not end with the expected status; the message has what it said."""


class Devplane:
    """Runs ``devplane`` with a home and an environment of its own."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.environment = {**environment, "DEVPLANE_HOME": str(home)}

    def run(self, *words: str, status: int = 0) -> str:
        """Run one command and return its standard output.

        Raises:
            CommandFailed: It ended with another status.
        """
        done = subprocess.run(
            [sys.executable, "-m", "devplane", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
        )
        if done.returncode != status:
            said = (done.stderr or done.stdout).strip()
            raise CommandFailed(f"devplane {' '.join(words)[:200]}: status {done.returncode}: {said}")
        return done.stdout

    def objects(self, *words: str) -> list[dict[str, Any]]:
        """Run one command with ``--json`` and return its objects."""
        return [json.loads(line) for line in self.run(*words, "--json").splitlines() if line.strip()]

    def follow(self, run: str) -> Follower:
        return Follower(self, run)


class Follower:
    """``devplane tail RUN --json``: what a run says and does, as it comes."""

    def __init__(self, devplane: Devplane, run: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "devplane", "tail", run, "--thinking", "--json"],
            env=devplane.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._frames: Queue[Frame | None] = Queue()
        self.seen: list[Frame] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._frames.put(json.loads(line))
        self._frames.put(None)

    def until(self, what: str, wanted: Callable[[Frame], bool]) -> Frame:
        """Return the next frame that `wanted` says yes to.

        Raises:
            CommandFailed: The run ended, or nothing came in time; names `what` was waited for.
        """
        while True:
            try:
                frame = self._frames.get(timeout=FRAME_LIMIT_S)
            except Empty:
                raise CommandFailed(f"no {what} in {FRAME_LIMIT_S} s") from None
            if frame is None:
                raise CommandFailed(f"the run ended before {what}")
            self.seen.append(frame)
            if wanted(frame):
                return frame

    def until_fact(self, *names: str) -> dict[str, Any]:
        """Return the next fact of one of these names."""
        frame = self.until(" or ".join(names), lambda f: f.get("kind") == "fact" and f["name"] in names)
        fact: dict[str, Any] = frame["fact"]
        return fact

    def until_settled(self) -> None:
        self.until("the turn's end", lambda f: f.get("kind") == "settled")

    def text(self, role: str) -> str:
        """What one speaker said so far."""
        return "".join(f["text"] for f in self.seen if f.get("kind") == "text" and f["role"] == role)

    def forget(self) -> None:
        self.seen.clear()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
