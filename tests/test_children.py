from __future__ import annotations

import os
import signal
from pathlib import Path
from subprocess import DEVNULL

import anyio
import pytest

from devplane import children

pytestmark = pytest.mark.anyio


async def test_a_program_whose_start_is_cancelled_is_started_and_known(tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        process = await children.start(
            ["sleep", "900"], cwd=tmp_path, env=os.environ, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
    assert process.pid in children.OWN
    assert not children.is_foreign(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    children.OWN.discard(process.pid)


async def test_a_program_that_cannot_be_run_is_nobody_s(tmp_path: Path) -> None:
    before = set(children.OWN)
    with pytest.raises(FileNotFoundError):
        await children.start(["./none"], cwd=tmp_path, env={}, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    assert before == children.OWN
    assert not children.is_spawning()
