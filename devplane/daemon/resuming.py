"""Taking up the recorded session of an ended run: the conditions, in order, each with its own sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from devplane.agents import tree
from devplane.agents.agent import Agent
from devplane.agents.catalog import Catalog
from devplane.control import requests as r
from devplane.core import events as e
from devplane.core import ids
from devplane.core.run import Run
from devplane.daemon.continuing import continuation
from devplane.daemon.recover import restored
from devplane.daemon.service import Service
from devplane.daemon.settings import Wanted
from devplane.daemon.trusting import check_trust
from devplane.errors import DevplaneError, NotFound, Refused
from devplane.store.queries import Reader
from devplane.worktrees.checkout import trusted_root_of


class NotResumable(Refused):
    """The recorded session cannot be taken up; the message says which condition does not hold."""


async def resume(service: Service, request: r.Resume, by: str) -> dict[str, Any]:
    """Take up the session that `request` names. Answered once that is on record; the agent starts after it.

    Raises:
        NotFound: No run is meant, or several are.
        NotResumable: With the first condition that does not hold.
        Refused: The directory is not trusted.
    """
    with service.reader() as reader:
        run_id = reader.resolve(request.run)
        run, next_pos = _ended(service, reader, run_id)
        check_session(run)
        check_directory(run)
        check_trust(service, trusted_root_of(Path(run.cwd)))
        service.bounds.refuse_if_full(run.project, run.cwd)
        service.bounds.refuse_if_met(run)
        agent = agent_of(Catalog.load(service.home), run)
        again = continuation(reader, run, new_turn())
        queued = {row["turn"]: row["text"] for row in reader.queued(run_id)}
    wanted = Wanted.again(run, mode=request.mode, is_same_rights=request.is_same_rights)
    await service.resume(run, next_pos, agent, request.environ, wanted, again, queued, by)
    first = again.turn or (run.queue[0].turn if run.queue else "")
    return {
        "run": run_id,
        "turn": first,
        "agent": agent.id,
        "agent_name": agent.name,
        "cwd": run.cwd,
        "fetches": agent.fetches,
        "pos": next_pos - 1,
    }


def check_directory(run: Run) -> None:
    """Raise `NotResumable` when the directory of a run is not there any more."""
    if not os.path.isdir(run.cwd):
        raise NotResumable(f"the directory of {run.id} is gone: {run.cwd}", hint=_from(run.id))


def check_session(run: Run) -> None:
    """Raise `NotResumable` when the record of an ended run says that its session cannot be had."""
    if run.holder is not None and tree.is_same(run.holder.pid, run.holder.started_s):
        raise NotResumable(
            f"the session of {run.id} is open in {run.holder.program} (pid {run.holder.pid})",
            hint="End that program first: two at once would write over each other.",
        )
    if not run.session:
        raise NotResumable(
            f"{run.id} recorded no session: its agent never got far enough",
            hint="Start again: devplane dispatch.",
        )
    if run.lost:
        raise NotResumable(f"the session of {run.id} is lost: {run.lost}", hint=_from(run.id))


def agent_of(catalog: Catalog, run: Run) -> Agent:
    """Return the agent that `run` had: by today's table and pin, else by the command on record."""
    try:
        if run.agent in catalog.agents:
            return catalog.resolve(run.agent, cwd=Path(run.cwd))
    except DevplaneError:
        pass
    return Agent(run.agent, run.agent_name, run.command, "the record", expected_version=run.expected_version)


async def hand_over(service: Service, request: r.HandOver) -> dict[str, Any]:
    """Record that the process of `request` goes on with the session of a run that has ended here."""
    with service.reader() as reader:
        run_id = reader.resolve(request.run)
        run, next_pos = _ended(service, reader, run_id)
    started_s = tree.started_s(request.pid)
    if started_s is None:
        raise NotFound(f"there is no process {request.pid}")
    service.board.restore(run, next_pos)
    try:
        await service.board.record(run_id, e.HandedOver(request.program, request.pid, started_s))
    finally:
        service.board.remove(run_id)
    return {"run": run_id}


def _ended(service: Service, reader: Reader, run_id: str) -> tuple[Run, int]:
    entry = service.board.entries.get(run_id)
    if entry is not None:
        raise NotResumable(
            f"{run_id} is {entry.run.state}: its session is held here already", hint="See: devplane ls."
        )
    row = reader.run(run_id)
    found = restored(reader, row) if row is not None else None
    if found is None:
        raise NotFound(f"the record of {run_id} cannot be read", hint="Look at it: devplane doctor --verify.")
    return found


def _from(run_id: str) -> str:
    return f"Begin a conversation that knows this one: devplane dispatch --from {run_id}."


def new_turn() -> str:
    return ids.make("t", os.urandom(ids.ID_BYTES))
