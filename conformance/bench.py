"""What a check works on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cli import Devplane, Follower


class CheckFailed(Exception):
    """The agent, or Devplane with it, did not do what is claimed."""


@dataclass(slots=True)
class Bench:
    """What a check works on: one agent, one project, one run that goes on from check to check."""

    agent: str
    devplane: Devplane
    project: Path
    stub_log: Path
    run: str = ""
    follower: Follower | None = None

    def follow(self) -> Follower:
        assert self.follower is not None
        return self.follower

    def show(self) -> dict[str, Any]:
        return self.devplane.objects("show", self.run)[0]

    def say(self, prompt: str) -> None:
        self.follow().forget()
        self.devplane.run("say", self.run, prompt)

    def model_requests(self) -> list[dict[str, Any]]:
        """Every request that the model has had, oldest first."""
        lines = self.stub_log.read_text(encoding="utf-8").splitlines() if self.stub_log.exists() else []
        return [entry for entry in map(json.loads, lines) if "conversation" in entry]


def expect(claim: object, otherwise: str) -> None:
    if not claim:
        raise CheckFailed(otherwise)
