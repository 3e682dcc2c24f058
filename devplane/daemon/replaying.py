"""What ``session/load`` brings: the past once more, most of which is on record already (G-12).

What was said is dropped. What is state is kept, as it is at the replay's end: the plan, the title, the
commands, how full the context is. A tool call is matched to the one on record by its id; nothing is opened,
counted or paid for a second time.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.agents.toolbook import FINAL, ToolBook
from devplane.agents.translate import facts_of
from devplane.core import events as e
from devplane.core.run import UNFINISHED, Run


class Replay:
    """Takes in the updates of a replay, one after the other."""

    def __init__(self) -> None:
        self._book = ToolBook()
        self._state: dict[type, e.Fact] = {}
        self._tools: dict[str, str] = {}
        """The last status of each tool call."""
        self._last_s = anyio.current_time()

    def take(self, update: dict[str, Any]) -> None:
        self._last_s = anyio.current_time()
        if acp.chunk_of(update) is not None:
            return
        for fact in facts_of(update, self._book):
            match fact:
                case e.ToolChanged():
                    self._tools[fact.call] = fact.status or self._tools.get(fact.call, "")
                case e.UsageSeen():
                    self._state[e.UsageSeen] = _joined(self._state.get(e.UsageSeen), fact)
                case e.PlanChanged() | e.TitleGiven() | e.CommandsSeen():
                    self._state[type(fact)] = fact
                case _:
                    pass

    async def quiet(self, quiet_s: float, limit_s: float) -> None:
        """Wait until nothing came for `quiet_s`: some agents go on with it after their answer."""
        with anyio.move_on_after(limit_s):
            while (left_s := self._last_s + quiet_s - anyio.current_time()) > 0:  # noqa: ASYNC110 - silence tells nobody
                await anyio.sleep(left_s)

    def facts(self, run: Run) -> list[e.Fact]:
        """Return what `run` did not know: state, and calls that it last saw unfinished."""
        open_calls = {each.call for each in run.tools if each.status == UNFINISHED}
        ended = [
            e.ToolChanged(call, status=status)
            for call, status in self._tools.items()
            if call in open_calls and status in FINAL
        ]
        return [*self._state.values(), *ended]

    def unknown_calls(self, known: Set[str]) -> int:
        """Return how many tool calls it named that are not among the `known` ids."""
        return len(self._tools.keys() - known)


def _joined(before: e.Fact | None, fact: e.UsageSeen) -> e.UsageSeen:
    """The last that was said of each: its amount was paid before."""
    if not isinstance(before, e.UsageSeen):
        before = e.UsageSeen(None, None, None, fact.currency)
    return e.UsageSeen(
        before.used if fact.used is None else fact.used,
        before.size if fact.size is None else fact.size,
        before.amount if fact.amount is None else fact.amount,
        before.currency if fact.amount is None else fact.currency,
        is_baseline=True,
    )
