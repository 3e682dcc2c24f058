"""What an earlier daemon left behind: its runs become interrupted, its agents are ended."""

from __future__ import annotations

import logging

from devplane.agents import tree
from devplane.core import events as e
from devplane.core.run import ImpossibleFact, Phase, Run, reduce
from devplane.core.wishes import not_resumed
from devplane.daemon.board import Board
from devplane.daemon.withdrawn import withdrawn
from devplane.paths import Home
from devplane.store.answers import RunRow
from devplane.store.facts import decode_fact, decode_run
from devplane.store.queries import Reader

_log = logging.getLogger(__name__)

TERM_GRACE_S = 2.0
KILL_GRACE_S = 3.0


async def recover(board: Board, home: Home) -> list[str]:
    """End what is left over and close the record of each run that was in play; return one note a finding.

    A process is ended only if it is still the one on record: pid and start time,
    or its environment names this home (G-32, G-34).
    """
    notes: list[str] = []
    left = _runs_in_play(home)
    members = tree.marked(str(home.root))
    for run, _ in left:
        if run.pid is not None and run.pid_started_s is not None:
            members |= tree.collect(run.pid, run.pid_started_s, str(home.root))
    members = {each for each in members if tree.is_alive(each)}
    if members:
        is_gone = await tree.end(members, term_grace_s=TERM_GRACE_S, kill_grace_s=KILL_GRACE_S)
        outcome = "ended" if is_gone else "COULD NOT END"
        notes.append(f"{outcome} {len(members)} processes that an earlier daemon's agents left over")
    for run, next_pos in left:
        board.restore(run, next_pos)
        try:
            if run.phase is Phase.CLOSING:
                _close_stopped(board, home, run)
                notes.append(f"{run.id} was being stopped")
            else:
                why = "the daemon ended without a clean stop"
                ended = not_resumed(run, why) if run.resumed_from else e.RunEnded("interrupted", why)
                board.record(run.id, ended)
                notes.append(f"{run.id} was interrupted")
        except ImpossibleFact:
            _log.exception("%s could not be closed", run.id)
        board.remove(run.id)
    for note in notes:
        _log.warning("%s", note)
    await board.log.drain()
    return notes


def _close_stopped(board: Board, home: Home, run: Run) -> None:
    """End the record of a run that a person had stopped: nothing of it waits for anybody any more."""
    why, now_ms = "the daemon ended before the agent did", board.clock_ms()
    with Reader.open(home.database) as reader:
        open_rows = {row["id"]: row for row in reader.asks("open", run.id)}
        unsent = tuple((run.id, each["turn"]) for each in reader.queued(run.id))
    rows = [open_rows[each.id] for each in run.asks if each.id in open_rows]
    board.record(
        run.id,
        *(e.AskWithdrawn(each.id, why) for each in run.asks),
        e.RunEnded("stopped", f"stopped; {why}"),
        unqueued=unsent,
        **withdrawn(rows, now_ms, why),
    )


def _runs_in_play(home: Home) -> list[tuple[Run, int]]:
    with Reader.open(home.database) as reader:
        found = [restored(reader, row) for row in reader.runs() if row["live"]]
    return [each for each in found if each is not None]


def restored(reader: Reader, row: RunRow) -> tuple[Run, int] | None:
    """Return a run as its log has it, and the next place in it; ``None`` where the record cannot be read."""
    try:
        run = decode_run(row["snapshot"])
        # A snapshot may lag behind its log by a moment.
        for each in reader.events(run.id, run.pos):
            fact = decode_fact(each["kind"], each["payload"])
            run = reduce(run, e.Event(run.id, each["pos"], each["at_ms"], fact))
    except (ValueError, KeyError, ImpossibleFact):
        _log.exception("the snapshot of %s cannot be read", row["id"])
        return None
    last = max((entry["pos"] for entry in reader.transcript(run.id, last=1)), default=run.pos)
    return run, max(last, run.pos) + 1
