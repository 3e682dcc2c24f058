"""Folders below a checkout's root from which an agent that is started there reads settings."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER_LIMIT = 20_000
"""Folders that are looked into; a checkout has rarely a tenth of that."""

MARKERS = frozenset(
    {".claude", ".mcp.json", ".codex", ".cursor", ".gemini", ".opencode", "opencode.json", "opencode.jsonc"}
)
PASSED_OVER = (
    frozenset({".git", ".hg", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target"}) | MARKERS
)


def folders_with_settings(root: Path) -> tuple[list[Path], bool]:
    """Return folders below `root` that hold settings, sorted, and whether all folders were looked at."""
    found: list[Path] = []
    looked_at = 0
    for at, folders, files in os.walk(root):
        looked_at += 1
        if looked_at > FOLDER_LIMIT:
            return sorted(found), False
        names = {*folders, *files}
        if at != str(root):
            if ".git" in names:
                folders.clear()  # a repository of its own: its trust is asked for by itself
                continue
            if names & MARKERS:
                found.append(Path(at))
        folders[:] = sorted(each for each in folders if each not in PASSED_OVER)
    return sorted(found), True
