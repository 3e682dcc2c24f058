"""The demo as a process, in a folder and with a state of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.wire import WireClient

Start = Callable[[], WireClient]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "DEVPLANE_DEMO_SPEED": "0", "DEVPLANE_DEMO_STATE": str(tmp_path / "state")}


@pytest.fixture
def start(environ: dict[str, str]) -> Iterator[Start]:
    """Start one more demo process, initialized."""
    with ExitStack() as stack:

        def start_one() -> WireClient:
            client = stack.enter_context(WireClient([sys.executable, "-m", "devplane.demo"], env=environ))
            client.initialize()
            return client

        yield start_one


@pytest.fixture
def demo(start: Start) -> WireClient:
    return start()


@pytest.fixture
def session(demo: WireClient, project: Path) -> str:
    """A session of `demo`, with its commands announced."""
    session_id = demo.new_session(project)
    demo.until_update("available_commands_update")
    return session_id
