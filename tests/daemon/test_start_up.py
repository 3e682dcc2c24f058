"""Agents that do not start as they should: each failure says which step, and leaves nothing behind."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from devplane.control import requests as r
from tests.daemon.agents import members_of, scripted
from tests.daemon.harness import Started, daemon
from tests.scripted import log


async def failed(run: Started) -> str:
    """Wait until the run has failed, and return all that a person is told."""
    assert (await run.until_gone())["state"] == "failed"
    row = run.row()
    assert (row["phase"], row["pid"], row["asks"]) == ("ended", None, [])
    return f"{row['reason']}\n{row['hint']}"


@pytest.mark.parametrize(
    ("case", "step"), [(("silent",), "initialize"), (("silent-method",), "session/new")], ids=["a", "b"]
)
async def test_g08_a_step_without_an_answer_fails_by_name(
    tmp_path: Path, case: tuple[str, ...], step: str
) -> None:
    async with daemon(tmp_path, DEVPLANE_START_TIMEOUT="1") as caller:
        run = await caller.dispatch(scripted(*case))
        told = await failed(run)
        assert f"gave no answer to {step} in 1 s" in told
        assert "DEVPLANE_START_TIMEOUT" in told
        assert members_of(caller.home.root) == []


async def test_g08_progress_on_stderr_keeps_a_slow_start_alive(tmp_path: Path) -> None:
    async with daemon(tmp_path, DEVPLANE_START_TIMEOUT="1") as caller:
        run = await caller.dispatch(scripted("slow-start", 3, 1))
        await run.until_settled(run.turn)
        assert run.said() == "Hello."
        assert await run.stop() == "stopped"


@pytest.mark.parametrize("case", ["silent", "silent-method"])
async def test_g08_a_start_can_be_stopped_while_it_waits(tmp_path: Path, case: str) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted(case), SCRIPTED_LOG=str(heard))
        await run.until_fact("ProcessStarted")
        assert await run.stop() == "stopped"
        assert members_of(caller.home.root) == []
        assert log.messages(heard, "session/prompt") == []


def missing(folder: Path) -> Path:
    return folder / "nowhere" / "agent"


def a_folder(folder: Path) -> Path:
    return folder


def not_executable(folder: Path) -> Path:
    program = folder / "agent"
    program.write_text("#!/bin/sh\n")
    return program


def no_interpreter(folder: Path) -> Path:
    program = folder / "agent"
    program.write_text("#!/nonexistent/sh\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (missing, "was not found"),
        (a_folder, "Permission denied"),
        (not_executable, "Permission denied"),
        (no_interpreter, "interpreter"),
    ],
    ids=["missing", "a-folder", "not-executable", "no-interpreter"],
)
async def test_g09_a_command_that_cannot_run_fails_alone(
    tmp_path: Path, program: Callable[[Path], Path], why: str
) -> None:
    async with daemon(tmp_path) as caller:
        healthy = await caller.dispatch(scripted("stalls"))
        await healthy.until(lambda f: f["kind"] == "text")
        path = program(tmp_path)
        run = await caller.dispatch(shlex.join([str(path)]))
        assert (await run.until_gone())["state"] == "failed"
        reason = run.row()["reason"]
        assert "cannot start the agent" in reason
        assert str(path) in reason
        assert why in reason
        assert "\n" not in reason
        assert run.events("ProcessStarted") == []
        assert healthy.row()["phase"] == "ready"
        await caller.ask(r.Cancel(healthy.id))
        await healthy.until_settled(healthy.turn)
        assert healthy.row()["last_stop_reason"] == "cancelled"
        assert (await caller.ask(r.Status()))["runs"] == [healthy.id]


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("2", "version 2"),
        ("0", "version 0"),
        ('"1"', "version '1'"),
        ("null", "no protocol version"),
        ("missing", "no protocol version"),
        ("true", "version True"),
        ("[1]", "version [1]"),
    ],
)
async def test_g10_another_version_is_refused_before_any_session(
    tmp_path: Path, version: str, shown: str
) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("version", version), SCRIPTED_LOG=str(heard))
        told = await failed(run)
        assert shown in told
        assert "Devplane speaks 1" in told
        assert [each["method"] for each in log.messages(heard)] == ["initialize"]
        assert members_of(caller.home.root) == []


async def test_g10_one_may_be_written_as_a_float(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("version", "1.0"))
        await run.until_settled(run.turn)
        assert run.said() == "Hello."


@pytest.mark.parametrize("offered", [("cached_token", "browser"), ("browser",)], ids="+".join)
async def test_g11_what_an_agent_offers_for_signing_in_is_listed_and_never_tried(
    tmp_path: Path, offered: tuple[str, ...]
) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("auth", *offered), SCRIPTED_LOG=str(heard))
        told = await failed(run)
        assert "Authentication required" in told
        for name in offered:
            assert f"Sign in by {name} — Run `agent login {name}`" in told
        assert [each["method"] for each in log.messages(heard)] == ["initialize", "session/new"]


async def test_g11_a_prompt_that_wants_a_sign_in_says_so_and_keeps_the_session(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("auth-at-prompt"))
        await run.until_settled(run.turn)
        row = run.row()
        assert row["phase"] == "ready"
        assert row["last_error"].startswith("Authentication required. This agent may need signing in")


@pytest.mark.parametrize("method", ["initialize", "session/new"])
async def test_an_agent_that_leaves_during_its_start_is_named_with_its_last_words(
    tmp_path: Path, method: str
) -> None:
    async with daemon(tmp_path) as caller:
        told = await failed(await caller.dispatch(scripted("exits-in", method)))
        assert "before it opened a session: exit status 3" in told
        assert f"agent: gave up in {method}" in told


@pytest.mark.parametrize("method", ["initialize", "session/new"])
async def test_an_error_during_the_start_is_told_with_its_details(tmp_path: Path, method: str) -> None:
    async with daemon(tmp_path) as caller:
        told = await failed(await caller.dispatch(scripted("error-in", method)))
        assert "Internal error: the disk is on fire" in told
