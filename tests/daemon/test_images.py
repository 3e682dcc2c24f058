"""Images in what an agent shows: a mark is kept, the megabytes are not (G-38)."""

from __future__ import annotations

import json
from pathlib import Path

from devplane.store.queries import Reader
from tests.daemon.agents import scripted
from tests.daemon.harness import daemon

COUNT = 60
STORE_LIMIT_BYTES = 1_000_000
BASE64_RUN = "A" * 64
"""What the images of the agent are made of; nothing else has so many in a row."""


async def test_g38_sixty_images_leave_sixty_marks_and_no_base64(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(scripted("images", COUNT))
        await run.until_settled(run.turn)
        assert run.row()["phase"] == "ready"
        with Reader.open(caller.home.database) as reader:
            entries = list(reader.transcript(run.id))
        stored = json.dumps(entries)
        assert BASE64_RUN not in stored
        assert BASE64_RUN not in json.dumps(run.frames), "who looks on is not shown it either"
        shown = {
            each["payload"]["call"]: each["payload"]["content"]
            for each in entries
            if each["type"] == "event" and each["kind"] == "ToolChanged" and each["payload"]["content"]
        }
        marks = list(shown.values())
        assert marks.count("[image 1.5 MB]") == COUNT
        assert "look: data:image/png;base64,[1.5 MB] end" in marks
        assert sum(mark.startswith("[image") for mark in marks) == COUNT + 1, (
            "the broken one has its mark too"
        )
        assert run.said() == "[image 1.5 MB]That is what it looks like."
        assert await run.stop() == "stopped"
    files = [caller.home.database, caller.home.database.with_name("devplane.db-wal")]
    assert sum(file.stat().st_size for file in files if file.exists()) < STORE_LIMIT_BYTES
