"""What one agent or one caller does, or leaves undone, ends nothing but its own run."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path

import anyio
import pytest

from devplane.control import client
from devplane.control import requests as r
from devplane.errors import Refused
from devplane.paths import Home
from devplane.store.queries import Reader
from tests.daemon.harness import Started, daemon, environment
from tests.scripted import command


def scripted(case: str, *arguments: object) -> str:
    return shlex.join(command(case, *arguments))


async def test_an_agent_that_never_answers_a_mode_change_fails_by_name(tmp_path: Path) -> None:
    async with daemon(tmp_path, DEVPLANE_START_TIMEOUT="1") as caller:
        request = r.Dispatch(
            scripted("silent-mode"), str(caller.folder), "hello", mode="bold", environ=environment()
        )
        run = Started(caller, await caller.ask(request))
        await caller.follow(run)
        await run.until_gone()
        assert run.row()["ending"] == "failed"
        assert "the setting of its mode and model" in run.row()["reason"]


async def test_a_cancel_is_bounded_though_the_agent_reads_nothing(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("stops-reading"), "x" * 400_000)
        await run.until_fact("TurnStarted")
        await caller.ask(r.Cancel(run.id))
        failed = await run.until_fact("TurnFailed")
        assert failed["fact"]["cancelled"] is True
        assert await run.stop() == "stopped"


async def test_a_usage_report_of_any_depth_is_no_bug(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("deep-usage"))
        ended = await run.until_fact("TurnEnded")
        assert ended["fact"]["usage"] == {}
        assert await run.stop() == "stopped"


async def test_a_caller_that_hangs_up_leaves_no_run_without_a_driver(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        request = r.Dispatch("demo", str(caller.folder), "quick", environ=environment())
        for _ in range(5):
            async with client.connect(caller.home, start=False) as hasty:
                # The answer is not waited for: the connection is gone while the run is being recorded.
                line = hasty._connection._peer.request("dispatch", asdict(request))[1]
                await hasty._connection._stream.send(line)
        with anyio.fail_after(20):
            while live := _live(caller.home):
                for run in live:
                    # A run without a driver answers that it had ended, and stays live for ever.
                    await caller.ask(r.Stop(run))


def _live(home: Home) -> list[str]:
    with Reader.open(home.database) as reader:
        return [row["id"] for row in reader.runs()]


async def test_what_is_refused_was_not_said(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "quick")
        await run.until_settled(run.turn)
        await run.stop()
        with pytest.raises(Refused):
            await run.say("never delivered")
        assert "never delivered" not in run.said("user")


async def test_said_now_goes_before_what_is_queued(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch("demo", "slow")
        await run.until_fact("TurnStarted")
        later = await run.say("quick later")
        now = await run.say("quick now", now=True)
        await run.until_settled(later)
        started = [fact["turn"] for fact in run.facts("TurnStarted")]
        assert started == [run.turn, now, later]


async def test_a_repository_inside_a_trusted_one_is_trusted_by_itself(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        (caller.folder / "devplane.toml").write_text("")
        for folder in (caller.folder, caller.folder / "nested"):
            (folder / ".git").mkdir(parents=True)
            (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
            (folder / ".git" / "objects").mkdir()
            (folder / ".git" / "refs").mkdir()
        with pytest.raises(Refused, match="nested is not trusted"):
            await caller.dispatch("demo", "quick", cwd=caller.folder / "nested")


async def test_nothing_said_is_kept_where_a_repository_declines(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        (caller.folder / "devplane.toml").write_text("[transcripts]\nkeep = false\n")
        run = await caller.dispatch("demo", "quick zebra words")
        await run.until_settled(run.turn)
        await run.stop()
        stored = b"".join(
            path.read_bytes() for path in caller.home.root.iterdir() if path.name.startswith("devplane.db")
        )
        assert b"zebra" not in stored
