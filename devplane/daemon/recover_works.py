"""What an earlier daemon left of works: each that was in play says that it was interrupted (G-33, G-36)."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

import anyio

from devplane.core.work import IN_PLAY, Work, WorktreeMade
from devplane.daemon.service import Service
from devplane.errors import DevplaneError
from devplane.worktrees.removing import is_made, unmake

_log = logging.getLogger(__name__)

WHY = "the daemon ended without a clean stop"


async def recover_works(service: Service) -> list[str]:
    """Close what was under way in each work, and clear away a worktree that was half made; return notes.

    A worktree that was made whole is kept, whatever the record had come to say of it.
    """
    with service.reader() as reader:
        left = [row["id"] for row in reader.works() if row["state"] in IN_PLAY]
    notes = []
    for work_id in left:
        try:
            entry = service.works.entry(work_id)
            if not entry.work.is_made and await anyio.to_thread.run_sync(_is_whole, entry.work):
                service.works.record(entry, WorktreeMade())
        except DevplaneError as error:
            notes.append(f"{work_id}: what is left of its worktree stays: {error}")
        with suppress(DevplaneError):
            service.works.interrupted(service.works.entry(work_id), WHY)
            notes.append(f"{work_id} was interrupted")
    for note in notes:
        _log.warning("%s", note)
    await service.board.log.drain()
    return notes


def _is_whole(work: Work) -> bool:
    """Clear away what a start that was cut short left; return whether a whole worktree stays."""
    root, target = Path(work.project), Path(work.worktree)
    try:
        unmake(root, target, work.branch)
    except DevplaneError:
        if not is_made(root, target):
            raise
        return True
    return False
