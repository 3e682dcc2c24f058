"""What agents report of cost and context, and updates that nobody knows."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.agents import scripted
from tests.daemon.harness import daemon


async def test_g40_running_totals_are_not_added_up(tmp_path: Path) -> None:
    shares = []
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("costs"))
        falling = await caller.dispatch(scripted("costs", "0.50", "0.10", "0.15"))
        turn, other = run.turn, falling.turn
        for _ in range(4):
            await run.until_settled(turn)
            shares.append(run.row()["spending"][0]["in_turn"])
            await falling.until_settled(other)
            turn, other = await run.say("more"), await falling.say("more")
        (spending,) = run.row()["spending"]
        assert (spending["currency"], spending["spent"]) == ("USD", 0.60)
        assert shares == [0.10, 0.15, 0, 0.35]
        assert (run.row()["context_used"], run.row()["context_size"]) == (4000, 200_000)
        assert falling.row()["spending"][0]["spent"] == 0.55, "a total that falls is no refund"


async def test_what_is_not_reported_is_unknown_and_not_zero(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("echo"))
        await run.until_fact("TurnEnded")
        await run.stop()
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
