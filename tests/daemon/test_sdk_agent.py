"""Devplane drives an agent that nobody here wrote: the official SDK's side of the protocol."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from devplane.control import requests as r
from tests.daemon.harness import Started, daemon

AGENT = Path(__file__).parent.parent / "scripted" / "sdk_agent.py"
COMMAND = shlex.join([sys.executable, str(AGENT)])


async def test_the_official_sdk_accepts_everything_that_devplane_sends(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        answer = await caller.ask(
            r.Dispatch(COMMAND, str(caller.folder), "hello", mode="bold", environ={"PATH": "/usr/bin:/bin"})
        )
        run = Started(caller, answer)
        await caller.follow(run)
        await run.until_settled(run.turn)
        row = run.row()
        assert (row["reported_name"], row["reported_version"]) == ("sdk-agent", "1.2.3")
        assert (row["mode"], row["asks_first"]) == ("bold", None)
        assert run.said("thought") == "thinking about it"
        assert run.said() == "turn 1, mode bold: hello"

        seen: set[str] = set()
        for decision, chosen in (("allow", "yes"), ("deny", "no")):
            turn = await run.say("run touch x")
            asked = await run.until(
                lambda f: (
                    f["kind"] == "fact" and f["name"] == "PermissionAsked" and f["fact"]["ask"] not in seen
                )
            )
            await run.stored(asked["pos"])
            ask = asked["fact"]
            seen.add(ask["ask"])
            assert (ask["tool"], ask["subject"]) == ("Bash", "touch x")
            await caller.ask(r.Decide(ask["ask"], decision))
            await run.until_settled(turn)
            assert run.said(turn=turn).endswith(f"chosen: {chosen}")

        turn = await run.say("wait")
        await run.until(lambda f: f["kind"] == "text" and "wait" in f["text"] and f["role"] == "agent")
        await caller.ask(r.Cancel(run.id))
        await run.until_fact("TurnEnded", turn=turn, stop_reason="cancelled")
        assert await run.stop() == "stopped"
