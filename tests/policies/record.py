"""Requests as a store has them, and a project whose rules are in force."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from devplane.core.permission import Call
from devplane.paths import Home
from devplane.policies.live import Policies
from devplane.policies.offering import Offering
from devplane.store.answers import AskedCalls

_NUMBERS = count()


class Project:
    """A folder with a ``devplane.toml``, and a machine with a ``policy.toml``."""

    def __init__(self, root: Path, *, is_trusted: bool = True) -> None:
        self.folder = root / "project"
        self.folder.mkdir()
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self._is_trusted = is_trusted

    @property
    def file(self) -> Path:
        return self.folder / "devplane.toml"

    def write(self, text: str) -> None:
        self.file.write_text(f"[policy]\n{text}\n")

    def offering(self) -> Offering:
        policies = Policies(self.home, person_home="/home/me", is_trusted=lambda root: self._is_trusted)
        return Offering(policies, self.home.policy_file)

    def call(self, line: str) -> Call:
        return Call("Bash", line, str(self.folder), input={"command": line})

    def asked(self, line: str, verdict: str | None = None, authority: str = "person") -> AskedCalls:
        """A request to run `line`, and how it was answered."""
        return recorded(self.call(line), verdict=verdict, authority=authority)


def recorded(*calls: Call, verdict: str | None = None, authority: str = "person") -> AskedCalls:
    """A request that reads as `calls`."""
    return {
        "run": "r-aaaaaaaaaa",
        "at_ms": 1,
        "ask": f"a-{next(_NUMBERS):010}",
        "calls": [
            {
                "tool": each.tool,
                "subject": each.subject,
                "cwd": each.cwd,
                "paths": list(each.paths),
                "input": dict(each.input),
            }
            for each in calls
        ],
        "verdict": verdict,
        "authority": authority if verdict is not None else None,
    }
