"""Agents that do not start as they should: each failure says which step, and leaves nothing behind."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

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


async def test_g08_a_step_without_an_answer_fails_by_name_and_progress_keeps_it_alive(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path, DEVPLANE_START_TIMEOUT="1") as caller:
        silent = {
            "initialize": await caller.dispatch(scripted("silent")),
            "session/new": await caller.dispatch(scripted("silent-method")),
        }
        downloading = await caller.dispatch(scripted("slow-start", 3, 0.7))
        for step, run in silent.items():
            told = await failed(run)
            assert f"gave no answer to {step} in 1 s" in told
            assert "DEVPLANE_START_TIMEOUT" in told
        await downloading.until_fact("TurnEnded")
        assert await downloading.stop() == "stopped"
        assert downloading.said() == "Hello."
        assert members_of(caller.home.root) == []


async def test_g08_a_start_can_be_stopped_while_it_waits(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        for case in ("silent", "silent-method"):
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
    program = folder / "not-executable"
    program.write_text("#!/bin/sh\n")
    return program


def no_interpreter(folder: Path) -> Path:
    program = folder / "no-interpreter"
    program.write_text("#!/nonexistent/sh\n")
    program.chmod(0o755)
    return program


BROKEN: dict[Callable[[Path], Path], str] = {
    missing: "was not found",
    a_folder: "Permission denied",
    not_executable: "Permission denied",
    no_interpreter: "interpreter",
}


async def test_g09_a_command_that_cannot_run_fails_alone(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        healthy = await caller.dispatch(scripted("stalls"))
        await healthy.until(lambda f: f["kind"] == "text")
        for program, why in BROKEN.items():
            path = program(tmp_path)
            run = await caller.dispatch(shlex.join([str(path)]))
            assert (await run.until_gone())["state"] == "failed"
            reason = run.row()["reason"]
            assert "cannot start the agent" in reason
            assert str(path) in reason
            assert why in reason
            assert "\n" not in reason
            assert run.events("ProcessStarted") == []
        assert (await caller.ask(r.Status()))["runs"] == [healthy.id]
        await caller.ask(r.Cancel(healthy.id))
        await healthy.until_settled(healthy.turn)
        assert healthy.row()["last_stop_reason"] == "cancelled"


VERSIONS = {
    "2": "version 2",
    "0": "version 0",
    '"1"': "version '1'",
    "null": "no protocol version",
    "missing": "no protocol version",
    "true": "version True",
    "[1]": "version [1]",
}


async def test_g10_another_version_is_refused_before_any_session(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        runs = {}
        for number, version in enumerate(VERSIONS):
            heard = str(tmp_path / f"heard-{number}")
            runs[version] = await caller.dispatch(scripted("version", version), SCRIPTED_LOG=heard)
        sound = await caller.dispatch(scripted("version", "1.0"))
        for number, (version, run) in enumerate(runs.items()):
            told = await failed(run)
            assert VERSIONS[version] in told
            assert "Devplane speaks 1" in told
            methods = [each["method"] for each in log.messages(tmp_path / f"heard-{number}")]
            assert methods == ["initialize"]
        await sound.until_fact("TurnEnded")
        await sound.stop()
        assert sound.said() == "Hello.", "JavaScript has one kind of number"
        assert members_of(caller.home.root) == []


async def test_g11_what_an_agent_offers_for_signing_in_is_listed_and_never_tried(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for offered in (("cached_token", "browser"), ("browser",)):
            heard = tmp_path / "-".join(offered)
            told = await failed(await caller.dispatch(scripted("auth", *offered), SCRIPTED_LOG=str(heard)))
            assert "Authentication required" in told
            for name in offered:
                assert f"Sign in by {name} — Run `agent login {name}`" in told
            assert [each["method"] for each in log.messages(heard)] == ["initialize", "session/new"]


async def test_g11_a_prompt_that_wants_a_sign_in_is_a_failed_turn_and_keeps_the_session(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("auth-at-prompt"))
        await run.until_settled(run.turn)
        row = run.row()
        assert (row["phase"], row["last_stop_reason"], row["errors"]) == ("ready", "error", 1)
        assert row["last_error"].startswith("Authentication required. This agent may need signing in")


async def test_an_agent_that_leaves_or_fails_during_its_start_is_told_with_its_own_words(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path) as caller:
        for method in ("initialize", "session/new"):
            left = await caller.dispatch(scripted("exits-in", method))
            refused = await caller.dispatch(scripted("error-in", method))
            told = await failed(left)
            assert "before it opened a session: exit status 3" in told
            assert f"agent: gave up in {method}" in told
            assert "Internal error: the disk is on fire" in await failed(refused)
