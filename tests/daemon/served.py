"""An agent that has Devplane read, write and run for it, and what it heard of each request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.daemon.agents import notes
from tests.daemon.harness import Caller, Started
from tests.scripted import command

Step = tuple[str, Any]
"""A method and its params."""


def serve_clients(home: Path, **keys: bool) -> str:
    """Give `home` an agent that has the client do things, as the keys of its table say; return its id."""
    settings = {"client_fs": True, "client_terminal": True, **keys}
    lines = [f"{key} = {str(value).lower()}" for key, value in settings.items()]
    table = ["[agents.served]", f"command = {json.dumps(command('client-calls'))}", *lines]
    (home / "agents.toml").write_text("\n".join(table) + "\n")
    return "served"


async def doing(caller: Caller, heard: Path, *steps: Step, **keys: bool) -> Started:
    """Have an agent that Devplane serves do `steps`."""
    agent = serve_clients(caller.home.root, **keys)
    return await caller.dispatch(agent, json.dumps(steps), SCRIPTED_LOG=str(heard))


async def done(caller: Caller, heard: Path, *steps: Step, **keys: bool) -> tuple[Started, list[Any]]:
    """Have them done without a person; return the run and what the agent heard of each."""
    run = await doing(caller, heard, *steps, **keys)
    await run.until_fact("TurnEnded")
    return run, results(heard)


def results(heard: Path) -> list[Any]:
    return [
        note["result"] if "result" in note else (note["error"], note["message"])
        for note in notes(heard, "did")
    ]


def decided(run: Started) -> list[tuple[str, str, str]]:
    return [(each["tool"], each["verdict"], each["authority"]) for each in reversed(run.decisions())]
