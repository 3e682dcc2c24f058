from __future__ import annotations

import hashlib
import os
import re
import time
from pathlib import Path

import anyio
import psutil
import pytest

from devplane import children
from devplane.core.gates import EARLIER_FAILED, TIME_UP, GateReport, Outcome
from devplane.worktrees.gates import run_gate, run_setup


async def nothing() -> None:
    pass


async def gate(cwd: Path, *commands: str, timeout_s: float = 60.0, **env: str) -> GateReport:
    return await run_gate(
        commands,
        cwd=cwd,
        environ={**os.environ, **env},
        timeout_s=timeout_s,
        commit="c0ffee",
        clock_ms=lambda: time.time_ns() // 1_000_000,
        sweep=nothing,
    )


def is_gone(file: Path) -> bool:
    pid = int(file.read_text())
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_commands_run_in_order_in_the_worktree_and_all_must_pass(tmp_path: Path) -> None:
    report = await gate(tmp_path, "pwd; echo one > one", "cat one")
    assert report.passed
    assert [each.tail for each in report.commands] == [f"{tmp_path}\n", "one\n"]
    assert (report.commit, report.timeout_s) == ("c0ffee", 60.0)
    assert set() == children.OWN


async def test_the_first_that_fails_ends_it_and_the_others_are_said_not_to_have_run(tmp_path: Path) -> None:
    report = await gate(tmp_path, "echo FAILED tests/test_a.py::test_b >&2; exit 3", "touch never")
    first, second = report.commands
    assert (first.outcome, first.code, first.tail) == (
        Outcome.EXITED,
        3,
        "FAILED tests/test_a.py::test_b\n",
    )
    assert first.failures
    assert (second.outcome, second.reason) == (Outcome.NEVER_STARTED, EARLIER_FAILED)
    assert not (tmp_path / "never").exists()
    assert not report.passed


async def test_an_empty_gate_passes_nothing(tmp_path: Path) -> None:
    assert not (await gate(tmp_path)).passed


async def test_g31_what_a_command_leaves_running_holds_nothing_up_and_is_ended(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        report = await gate(tmp_path, "echo done; sleep 600 & echo $! > pid; exit 3")
    (command,) = report.commands
    assert (command.code, command.tail) == (3, "done\n")
    # The shell's child may not have become "sleep" yet.
    assert re.match("left (sleep|sh) running", command.reason)
    assert is_gone(tmp_path / "pid")


async def test_g33_a_gate_whose_time_is_up_failed_and_leaves_no_process(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        report = await gate(
            tmp_path,
            "echo begun; sleep 900 & echo $! > pid; trap '' TERM; sleep 900",
            "touch never",
            timeout_s=0.5,
        )
    first, second = report.commands
    assert (first.outcome, first.code, first.tail) == (Outcome.TIMED_OUT, None, "begun\n")
    assert (second.outcome, second.reason) == (Outcome.NEVER_STARTED, TIME_UP)
    assert not report.passed
    assert is_gone(tmp_path / "pid")
    assert not (tmp_path / "never").exists()


async def test_one_limit_holds_for_all_commands_together(tmp_path: Path) -> None:
    report = await gate(tmp_path, "sleep 0.3", "sleep 30", timeout_s=0.8)
    assert [each.outcome for each in report.commands] == [Outcome.EXITED, Outcome.TIMED_OUT]


async def test_g30_the_end_of_a_long_output_is_kept_with_whole_characters(tmp_path: Path) -> None:
    said = "€漢😀\n" * 300_000 + "the end\n"
    (tmp_path / "said").write_text(said)
    (command,) = (await gate(tmp_path, "cat said")).commands
    assert command.tail.endswith("漢😀\nthe end\n")
    assert "�" not in command.tail
    assert command.is_cut
    assert command.size_bytes == len(said.encode())
    assert command.sha256 == hashlib.sha256(said.encode()).hexdigest()


async def test_both_outputs_are_read_however_much_there_is_on_either(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        (command,) = (await gate(tmp_path, "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero")).commands
    assert command.size_bytes == 600_000


async def test_a_command_that_a_signal_ended_says_nothing_of_the_work(tmp_path: Path) -> None:
    (command,) = (await gate(tmp_path, "kill -9 $$")).commands
    assert (command.outcome, command.reason) == (Outcome.UNKNOWN, "killed by SIGKILL")


async def test_a_folder_that_is_gone_is_a_command_that_never_started(tmp_path: Path) -> None:
    (command,) = (await gate(tmp_path / "gone", "true")).commands
    assert command.outcome is Outcome.NEVER_STARTED
    assert "No such file" in command.reason


async def test_there_is_nothing_to_read_and_git_is_led_nowhere(tmp_path: Path) -> None:
    (command,) = (await gate(tmp_path, "cat; env | grep ^GIT_; echo end", GIT_DIR="/elsewhere")).commands
    assert command.tail == "end\n"


async def test_cancelling_ends_what_runs(tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(gate, tmp_path, "echo $$ > part; mv part pid; sleep 900")
        with anyio.fail_after(30):
            while not (tmp_path / "pid").exists():  # noqa: ASYNC110 - the file is the event
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert is_gone(tmp_path / "pid")
    assert set() == children.OWN


@pytest.mark.parametrize(("command", "has_succeeded"), [("true", True), ("false", False)])
async def test_a_set_up_is_no_gate(tmp_path: Path, command: str, has_succeeded: bool) -> None:
    report = await run_setup(
        [command], cwd=tmp_path, environ=os.environ, timeout_s=60, clock_ms=lambda: 7, sweep=nothing
    )
    assert report.succeeded is has_succeeded
    assert (report.started_ms, report.ended_ms) == (7, 7)
