"""Which Node this machine has, and what an agent's command becomes where it is too old."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

from devplane.agents.agent import Agent
from devplane.launchers import package_of

PROBE_TIMEOUT_S = 10


def major() -> int | None:
    """Return the major version of the ``node`` on PATH, or ``None``. Blocks; call it in a worker thread."""
    try:
        done = subprocess.run(
            ["node", "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(rb"v(\d+)\.", done.stdout)
    return int(found.group(1)) if found and done.returncode == 0 else None


def with_node(agent: Agent, node_major: int | None) -> Agent:
    """Return `agent` with a Node of its own fetched beside it where `node_major` is too old or missing."""
    need, package = agent.node, package_of(agent.command)
    if need is None or package is None or package.launcher != "npx":
        return agent
    if node_major is not None and node_major >= need.minimum:
        return agent
    words = agent.command
    if package.rest != package.index + 1 or words[package.index].startswith("-"):
        return agent  # it names its packages by option already: a person chose them
    spec = words[package.index]
    front, rest = words[: package.index], words[package.rest :]
    return replace(agent, command=(*front, "-p", need.package, "-p", spec, need.program, *rest))
