"""What agents report of cost and context, and updates that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.agents import scripted
from tests.daemon.harness import daemon


async def test_g40_running_totals_are_not_added_up(tmp_path: Path) -> None:
    shares = []
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("costs"))
        await run.until_settled(run.turn)
        shares.append(run.row()["spending"][0]["in_turn"])
        for _ in range(3):
            turn = await run.say("more")
            await run.until_settled(turn)
            shares.append(run.row()["spending"][0]["in_turn"])
        (spending,) = run.row()["spending"]
        assert (spending["currency"], spending["spent"]) == ("USD", 0.60)
        assert shares == [0.10, 0.15, 0, 0.35]
        assert (run.row()["context_used"], run.row()["context_size"]) == (4000, 200_000)


async def test_g40_a_total_that_falls_is_no_refund(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("costs", "0.50", "0.10", "0.15"))
        await run.until_settled(run.turn)
        for _ in range(2):
            await run.until_settled(await run.say("more"))
        assert run.row()["spending"][0]["spent"] == pytest.approx(0.55)


async def test_a_cost_that_is_not_reported_is_unknown_and_not_zero(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("echo"))
        await run.until_settled(run.turn)
        row = run.row()
        assert (row["spending"], row["context_used"], row["context_size"]) == ([], None, None)


async def test_g41_null_is_absent_and_unknown_kinds_are_kept(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("nulls"))
        await run.until_settled(run.turn)
        row = run.row()
        assert (row["phase"], row["last_stop_reason"], row["errors"]) == ("ready", "end_turn", 0)
        assert run.said() == "[hologram]Still here."
        assert (row["context_used"], row["context_size"]) == (None, 1000)
        assert (row["plan"], row["mode"]) == ([], "")
        assert [(each["call"], each["status"]) for each in row["tools"]] == [("n1", "completed")]
        kept = run.events("UpdateKept")
        assert [each["kind"] for each in kept] == ["brand_new_thing", "?", "?"]
        assert kept[0]["raw"] == '{"sessionUpdate": "brand_new_thing", "nested": {"deep": [1, {"er": null}]}}'
