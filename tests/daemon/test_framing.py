"""Agents whose bytes are hard to read: what they meant is stored, and no other run suffers."""

from __future__ import annotations

from pathlib import Path

from devplane.agents.toolbook import CONTENT_LIMIT_CHARS
from devplane.control import requests as r
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


async def all_told(caller: Caller, *cases: tuple[object, ...]) -> list[Started]:
    """Dispatch to several scripted agents at once and wait for the end of their first turns."""
    runs = [await caller.dispatch(scripted(str(case), *arguments)) for case, *arguments in cases]
    for run in runs:
        await run.until_settled(run.turn)
    return runs


async def test_g01_noise_on_stdout_is_logged_and_is_no_speech(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        banner, json_log = await all_told(caller, ("banner",), ("json-log",))
        assert banner.said() == banner.text() == "before after"
        assert json_log.said() == json_log.text() == "Hello."
        for run in (banner, json_log):
            assert run.row()["last_stop_reason"] == "end_turn"
            assert run.events("UpdateKept") == []
        assert b"stdout: [agent] adapter ready\n" in log_of(caller, banner)
        assert b"stdout: warn: slow disk\n" in log_of(caller, banner)
        assert b'"msg":"ready"' in log_of(caller, json_log)


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


async def test_g02_a_long_line_is_read_whole(tmp_path: Path) -> None:
    sizes = ["line:65535", "line:65536", "line:65537", "1500000", str(20 << 20)]
    async with daemon(tmp_path) as caller:
        runs = await all_told(caller, *(("long-line", size) for size in sizes))
        for size, run in zip(sizes, runs, strict=True):
            assert run.said() == "done"
            assert run.row()["last_stop_reason"] == "end_turn"
            (content,) = [each["content"] for each in run.events("ToolChanged") if each.get("content")]
            length = int(size.removeprefix("line:"))
            if "line" in size:
                assert set(content) == {"x"}
                assert length - 300 < len(content) < length
            else:
                assert content.endswith(f"[{length - CONTENT_LIMIT_CHARS} characters cut]")


async def test_g02_a_line_over_the_limit_ends_its_own_run_and_no_other(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        other = await caller.dispatch(scripted("stalls"))
        await other.until(lambda f: f["kind"] == "text")
        run = await caller.dispatch(scripted("long-line", 65 << 20))
        assert (await run.until_gone())["state"] == "failed"
        assert f"{64 << 20:,} bytes" in run.row()["reason"]
        assert [line for line in members_of(caller.home.root) if "long-line" in line] == []
        await caller.ask(r.Cancel(other.id))
        await other.until_settled(other.turn)
        assert other.row()["last_stop_reason"] == "cancelled"


async def test_g03_a_character_may_come_in_pieces_and_a_line_end_in_cr_lf(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for run in await all_told(caller, ("byte-by-byte",), ("byte-by-byte", "cut"), ("crlf",)):
            assert run.said() == TRICKY


async def test_g04_a_last_frame_needs_no_newline_but_all_of_itself(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        whole = await caller.dispatch(scripted("no-last-newline"))
        half = await caller.dispatch(scripted("no-last-newline", "cut"))
        assert (await whole.until_gone())["state"] == "completed"
        assert (await half.until_gone())["state"] == "failed"
        assert [each["stop_reason"] for each in whole.events("TurnEnded")] == ["end_turn"]
        assert half.events("TurnEnded") == []
        assert half.row()["reason"].startswith("the agent ended in mid-turn: exit status 0")
        assert b"stdout: {" in log_of(caller, half)
        assert whole.said() == half.said() == "The answer."


async def test_g05_stderr_stops_nothing_is_no_speech_and_is_shown_when_a_run_fails(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        failing = await caller.dispatch(scripted("exits-at-once"))
        run = await told(caller, "stderr-flood")
        assert run.said() == run.text() == "Hello."
        kept = log_of(caller, run)
        assert b"debug: line 0000000 of many" in kept
        assert len(kept) < STDERR_FLOOD_BYTES / 2, "the log is bounded"
        assert (await failing.until_gone())["state"] == "failed"
        reason = failing.row()["reason"]
        assert "exit status 1" in reason
        assert "agent: no provider is configured / agent: run `agent setup` first" in reason


async def test_g06_a_bad_frame_is_answered_without_an_id_and_ends_nothing(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        for case, code in (("malformed", -32700), ("batch", -32600)):
            heard = tmp_path / case
            run = await caller.dispatch(scripted(case), SCRIPTED_LOG=str(heard))
            await run.until_fact("TurnEnded", stop_reason="end_turn")
            await run.stop()
            assert run.said() == "Hello."
            refused = [each for each in log.messages(heard) if "error" in each]
            assert [(each["id"], each["error"]["code"]) for each in refused] == [(None, code)] * 2


async def test_g07_an_unknown_request_is_refused_and_an_unknown_notice_ignored(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await told(caller, "unknown-method", heard=heard)
        assert run.said() == "It was refused: -32601"
        answers = [each for each in log.messages(heard) if "method" not in each]
        assert [(each["id"], each["error"]["code"]) for each in answers] == [(7, -32601)]
