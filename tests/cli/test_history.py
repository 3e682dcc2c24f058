"""Where history ends and live frames begin: nothing twice, nothing lost; and a wait that cannot hang."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import anyio
import pytest

from devplane.cli import following
from devplane.cli.following import Live, history, until_over
from devplane.cli.outcome import Outcome
from devplane.errors import NoDaemon
from tests.cli.seeded import RUN, opened, write_run
from tests.cli.test_outcome import LATER, MINE, ended, queued, settled, started


@pytest.fixture
def spoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose speech is at positions 4 to 9: zero, one, two, three, four, five."""
    home = tmp_path / "home"
    words = ("zero", "one", "two", "three", "four", "five")
    write_run(home, *opened(*(("agent", word) for word in words)))
    monkeypatch.setenv("DEVPLANE_HOME", str(home))


def texts(pos: int, open_chars: int = 0, last: int | None = None, live: bool = True) -> list[str]:
    watched = {"pos": pos, "open": open_chars, "live": live}
    return [each["text"] for each in history(RUN, watched, last) if each["kind"] == "text"]


def test_history_ends_where_the_watch_began(spoken: None) -> None:
    assert texts(pos=6) == ["zero", "one", "two"]


def test_a_message_that_grew_on_is_cut_where_the_live_text_begins(spoken: None) -> None:
    assert texts(pos=7, open_chars=3) == ["zero", "one", "two", "thr"]


def test_the_last_entries_are_counted_from_the_watch_and_not_from_what_came_after(spoken: None) -> None:
    assert texts(pos=6, last=2) == ["one", "two"]


def test_history_of_an_ended_run_is_all_of_it(spoken: None) -> None:
    assert texts(pos=-1, live=False) == ["zero", "one", "two", "three", "four", "five"]
    assert texts(pos=-1, live=False, last=2) == ["four", "five"]


async def wait(outcome: Outcome, *frames: dict[str, Any], closes: bool = True) -> list[dict[str, Any]]:
    """Wait for `outcome` over `frames`, after which the daemon is gone (or silent); return what was seen."""
    seen: list[dict[str, Any]] = []
    sender, receiver = anyio.create_memory_object_stream[dict[str, Any]](math.inf)
    with sender, receiver:
        for frame in frames:
            sender.send_nowait(frame)
        if closes:
            sender.close()
        await until_over(Live(None, receiver), outcome, seen.append)  # type: ignore[arg-type]
    return seen


def begun(*frames: dict[str, Any]) -> Outcome:
    outcome = Outcome(RUN, MINE)
    for frame in (queued(MINE), started(MINE), *frames):
        outcome.take(frame)
    return outcome


async def test_waiting_takes_no_frame_after_the_end() -> None:
    outcome = begun()
    seen = await wait(outcome, ended(MINE), settled(MINE), queued(LATER))
    assert seen == [ended(MINE), settled(MINE)]


async def test_a_turn_that_settled_before_the_watch_began_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "SETTLED_BY_S", 0.0)
    outcome = begun(ended(MINE))
    assert await wait(outcome, closes=False) == []
    outcome.check()


async def test_a_daemon_that_ends_without_a_word_is_an_error_and_no_end() -> None:
    with pytest.raises(NoDaemon, match="the daemon is gone"):
        await wait(begun())
