"""The whole program as a person runs it: a subprocess, a home, and what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.zygote import zygote


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Program:
    """``devplane`` with one home. `close` ends its daemon."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DEVPLANE")}
        self.env = {
            **kept,
            "HOME": str(root),
            "DEVPLANE_HOME": str(self.home),
            "DEVPLANE_DEMO_SPEED": "0",
            "TERM": "dumb",
        }

    def __call__(self, *words: str, stdin: str = "", **env: str) -> Done:
        return Done(*zygote().run(list(words), stdin, self.project, {**self.env, **env}))

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start a command that goes on; the caller ends it."""
        return subprocess.Popen(
            [sys.executable, "-m", "devplane", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.project,
            env={**self.env, **env},
        )

    def ok(self, *words: str, stdin: str = "") -> str:
        """Run a command that must succeed; return what it printed."""
        done = self(*words, stdin=stdin)
        assert done.status == 0, done
        return done.out

    def dispatch(self, *words: str) -> str:
        """Dispatch to the demo agent; return the run's id."""
        return str(
            json.loads(self.ok("dispatch", "--agent", "demo", "--json", *words).splitlines()[0])["run"]
        )

    def close(self) -> None:
        self("daemon", "stop")
