"""What should be done because of a fact: the wishes that follow from a run before and after it."""

from __future__ import annotations

from devplane.core import events as e
from devplane.core.effects import CancelAsk, EndAgent, Reply, SendCancel, StartTurn, Wish
from devplane.core.permission import Authority
from devplane.core.run import Phase, Run

NOT_RESUMED = "could not be resumed"
"""How the reason begins when a session was not taken up."""


def wishes(before: Run | None, fact: e.Fact, after: Run) -> tuple[Wish, ...]:
    """Return what should now be done, in order."""
    match fact:
        case e.SessionOpened() | e.PromptQueued():
            return _next_turn(after)
        case e.TurnEnded() | e.TurnFailed():
            left = tuple(CancelAsk(ask.id, Authority.NOBODY) for ask in after.asks)
            return (*left, *_next_turn(after))
        case e.CancelAsked() | e.BudgetReached():
            return _cancel(before, after)
        case e.StopAsked():
            if before is not None and before.phase is Phase.CLOSING:
                return ()
            return (*_cancel(before, after), EndAgent())
        case e.AskAnswered():
            return (Reply(fact.ask),)
        case _:
            return ()


def _next_turn(run: Run) -> tuple[Wish, ...]:
    if run.phase is Phase.READY and run.turn is None and run.queue and run.over is None:
        return (StartTurn(run.queue[0].turn),)
    return ()


def _cancel(before: Run | None, after: Run) -> tuple[Wish, ...]:
    # Open asks first: an agent that waits for an answer cannot acknowledge a cancel (G-20).
    asks = tuple(CancelAsk(ask.id, Authority.STOPPED) for ask in after.asks)
    turn = before.turn if before is not None else None
    if turn is None or turn.is_cancelling:
        return asks
    return (*asks, SendCancel(turn.id))


def conclude(run: Run, *, died: str, stop_by: str | None, is_shutdown: bool) -> e.RunEnded:
    """Say how a run ended whose agent is gone.

    `died` describes the process's own end (``exit status 1``, ``killed by SIGKILL``, with its last
    words); `stop_by` is who asked for the end, if anybody did.
    """
    if is_shutdown:
        return e.RunEnded("interrupted", "the daemon stopped")
    if stop_by is not None:
        return e.RunEnded("stopped", f"stopped by {stop_by}")
    if run.resumed_from:
        return not_resumed(run, f"the agent ended: {died}")
    if run.phase is Phase.STARTING:
        return e.RunEnded("failed", f"the agent ended before it opened a session: {died}")
    if run.turn is not None:
        return e.RunEnded("failed", f"the agent ended in mid-turn: {died}")
    return e.RunEnded("completed", f"the agent ended by itself: {died}")


def not_resumed(run: Run, why: str, hint: str = "") -> e.RunEnded:
    """Say that a session could not be taken up again: the run is as it was, and nothing of it is lost."""
    return e.RunEnded(run.resumed_from, f"{NOT_RESUMED}: {why}", hint)
