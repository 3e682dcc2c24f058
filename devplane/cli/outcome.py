"""What a followed turn has come to, as its frames tell."""

from __future__ import annotations

from typing import Any

from devplane.cli.stream import Frame
from devplane.core.wishes import NOT_RESUMED
from devplane.errors import AgentFailed, DevplaneError


class Outcome:
    """The outcome of `turn`, or of the last one that was queued behind it while it was followed.

    Without a turn, of the opening of the session.
    """

    def __init__(self, run: str, turn: str, *, is_live: bool = True) -> None:
        self.run = run
        self.turn = turn
        self.is_open = False
        """Whether the prompt was sent."""
        self.stop_reason: str | None = None
        """The agent's own word; ``error`` when the prompt failed; ``None`` while the turn runs."""
        self.error = ""
        self.ending: dict[str, Any] | None = None
        self.is_gone = not is_live
        self._is_settled = False
        self._queued: set[str] = set()

    def take(self, frame: Frame) -> None:
        match frame["kind"]:
            case "settled":
                self._is_settled = self._is_settled or frame["turn"] == self.turn
            case "gone":
                self.is_gone = True
            case "fact":
                self._fact(frame["name"], frame["fact"])
            case _:
                pass

    def _fact(self, name: str, fact: dict[str, Any]) -> None:
        match name:
            case "PromptQueued":
                self._queued.add(fact["turn"])
            case "TurnStarted":
                self._queued.discard(fact["turn"])
                if fact["turn"] == self.turn or self.is_open:
                    self.turn, self.is_open = fact["turn"], True
                    self.stop_reason, self.error, self._is_settled = None, "", False
            case "TurnEnded" if fact["turn"] == self.turn:
                self.stop_reason = fact["stop_reason"]
            case "TurnFailed" if fact["turn"] == self.turn:
                self.stop_reason = "cancelled" if fact["cancelled"] else "error"
                self.error = fact["error"]
            case "SessionOpened" if not self.turn:
                self.is_open = True
            case "RunEnded":
                self.ending = fact
            case _:
                pass

    @property
    def has_ended(self) -> bool:
        """Whether the turn ended with none behind it; a late word may still come."""
        return self.stop_reason is not None and not self._queued

    @property
    def is_over(self) -> bool:
        return self.is_gone or (self._is_settled and not self._queued)

    def check(self) -> None:
        """Raise what the exit status is to say; return when the agent ended the turn by itself.

        Raises:
            AgentFailed: The run failed, the turn did, or the agent refused.
            DevplaneError: The turn ended in another way: cancelled, stopped, at a limit.
        """
        hint = f"See: devplane show {self.run}"
        if self.ending is not None and (
            self.ending["ending"] == "failed" or self.ending["reason"].startswith(NOT_RESUMED)
        ):
            raise AgentFailed(self.ending["reason"], hint=self.ending["hint"] or hint)
        if self.stop_reason == "error":
            raise AgentFailed(f"the turn failed: {self.error}", hint=hint)
        if self.stop_reason == "refusal":
            raise AgentFailed("the agent refused", hint=hint)
        if self.stop_reason != "end_turn":
            how = self.stop_reason or (self.ending["ending"] if self.ending else "no reason given")
            raise DevplaneError(f"the turn did not end by itself: {how}", hint=hint)
