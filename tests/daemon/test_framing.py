"""Agents whose bytes are hard to read: what they meant is stored, and no other run suffers."""

from __future__ import annotations

from pathlib import Path

import pytest

from devplane.agents.translate import CONTENT_LIMIT_CHARS
from tests.daemon.agents import members_of, scripted
from tests.daemon.harness import Caller, Started, daemon
from tests.scripted import log
from tests.scripted.framing import TRICKY

STDERR_FLOOD_BYTES = 2 * 5 * (1 << 20)


async def told(caller: Caller, case: str, *arguments: object, heard: Path | None = None) -> Started:
    """Dispatch to a scripted agent and wait for the end of its first turn."""
    environ = {"SCRIPTED_LOG": str(heard)} if heard else {}
    run = await caller.dispatch(scripted(case, *arguments), **environ)
    await run.until_settled(run.turn)
    return run


def log_of(caller: Caller, run: Started) -> bytes:
    return (caller.home.agent_logs / f"{run.id}.log").read_bytes()


async def test_g01_noise_on_stdout_is_logged_and_is_no_speech(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await told(caller, "banner")
        assert run.said() == run.text() == "before after"
        assert run.row()["last_stop_reason"] == "end_turn"
        assert [entry for entry in run.events("UpdateKept")] == []
        kept = log_of(caller, run)
        assert b"stdout: [agent] adapter ready\n" in kept
        assert b"stdout: warn: slow disk\n" in kept


async def test_g01_json_that_is_no_message_is_noise_too(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await told(caller, "json-log")
        assert run.said() == "Hello."
        assert b'"msg":"ready"' in log_of(caller, run)


async def test_g01_a_program_that_only_makes_noise_is_no_agent(tmp_path: Path) -> None:
    async with daemon(tmp_path, DEVPLANE_START_TIMEOUT="1") as caller:
        waiting = await caller.dispatch(scripted("noise-only"))
        leaving = await caller.dispatch(scripted("noise-only", "3"))
        for run in (waiting, leaving):
            assert (await run.until_gone())["state"] == "failed"
            assert "INFO starting part 0" in run.row()["reason"]
            assert "INFO starting part 1" in run.row()["reason"]
        assert "gave no answer to initialize" in waiting.row()["reason"]
        assert "not an ACP agent" in leaving.row()["reason"]
        assert "exit status 3" in leaving.row()["reason"]


@pytest.mark.parametrize("size", ["line:65535", "line:65536", "line:65537", "1500000", str(20 << 20)])
async def test_g02_a_long_line_is_read_whole(tmp_path: Path, size: str) -> None:
    async with daemon(tmp_path) as caller:
        run = await told(caller, "long-line", size)
        assert run.said() == "done"
        assert run.row()["last_stop_reason"] == "end_turn"
        (content,) = [each["content"] for each in run.events("ToolChanged") if each.get("content")]
        length = int(size.removeprefix("line:"))
        if length > 1 << 17:
            assert content.endswith(f"[{length - CONTENT_LIMIT_CHARS} characters cut]")
        else:
            assert set(content) == {"x"}
            assert len(content) > 65_000


async def test_g02_a_line_over_the_limit_ends_its_own_run_and_no_other(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        other = await told(caller, "echo")
        run = await caller.dispatch(scripted("long-line", 65 << 20))
        assert (await run.until_gone())["state"] == "failed"
        assert "67108864 bytes" in run.row()["reason"].replace(",", "")
        turn = await other.say("still here?")
        await other.until_settled(turn)
        assert other.said(turn=turn) == "still here?"


@pytest.mark.parametrize("how", [(), ("cut",)], ids=["each-byte", "inside-a-character"])
async def test_g03_a_character_may_come_in_pieces(tmp_path: Path, how: tuple[str, ...]) -> None:
    async with daemon(tmp_path) as caller:
        run = await told(caller, "byte-by-byte", *how)
        assert run.said() == TRICKY


async def test_lines_may_end_in_cr_lf(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        assert (await told(caller, "crlf")).said() == TRICKY


async def test_g04_a_whole_last_frame_needs_no_newline(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("no-last-newline"))
        assert (await run.until_gone())["state"] == "completed"
        assert [each["stop_reason"] for each in run.events("TurnEnded")] == ["end_turn"]
        assert run.said() == "The answer."


async def test_g04_half_a_frame_is_no_end_of_a_turn(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("no-last-newline", "cut"))
        assert (await run.until_gone())["state"] == "failed"
        assert run.events("TurnEnded") == []
        assert "in mid-turn: exit status 0" in run.row()["reason"]
        assert run.said() == "The answer."
        assert b"stdout: {" in log_of(caller, run)


async def test_g05_a_flood_on_stderr_stops_nothing_and_is_no_speech(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await told(caller, "stderr-flood")
        assert run.said() == "Hello."
        kept = log_of(caller, run)
        assert b"debug: line 0000000 of many" in kept
        assert len(kept) < STDERR_FLOOD_BYTES / 2, "the log is bounded"


async def test_g05_the_last_words_on_stderr_are_shown_when_a_run_fails(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("exits-at-once"))
        assert (await run.until_gone())["state"] == "failed"
        reason = run.row()["reason"]
        assert "exit status 1" in reason
        assert "agent: no provider is configured / agent: run `agent setup` first" in reason


async def test_g06_a_malformed_frame_is_answered_without_an_id_and_ends_nothing(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await told(caller, "malformed", heard=heard)
        assert run.said() == "Hello."
        refused = [each for each in log.messages(heard) if "error" in each]
        assert [(each["id"], each["error"]["code"]) for each in refused] == [(None, -32700)] * 2


async def test_g06_a_batch_is_refused_and_ends_nothing(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await told(caller, "batch", heard=heard)
        assert run.said() == "Hello."
        refused = [each for each in log.messages(heard) if "error" in each]
        assert {(each["id"], each["error"]["code"]) for each in refused} == {(None, -32600)}


async def test_g07_an_unknown_request_is_refused_and_an_unknown_notice_ignored(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await told(caller, "unknown-method", heard=heard)
        assert run.said() == "It was refused: -32601"
        answers = [each for each in log.messages(heard) if "method" not in each]
        assert [(each["id"], each["error"]["code"]) for each in answers] == [(7, -32601)]


async def test_nothing_of_an_agent_that_misbehaved_is_left(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("long-line", 65 << 20))
        await run.until_gone()
        assert members_of(caller.home.root) == []
