"""Policy and settings files that are not in force since they cannot be read: found out at each look."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devplane.cli import render
from devplane.cli.common import home
from devplane.core.text import one_line

if TYPE_CHECKING:
    from devplane.policies.text import Document

HOLDS_IN_PROJECT = "every call there that no rule denies is asked about"
HOLDS_EVERYWHERE = "every call in every project that no rule denies is asked about"


def folders_in_play(rows: Iterable[Any]) -> list[str]:
    """Return the folders of runs that are live, and the current one."""
    cwds = [row["snapshot"].get("cwd") for row in rows if row["live"]]
    return list(dict.fromkeys(each for each in (*cwds, _here()) if each))


def items(cwds: Iterable[str]) -> list[dict[str, Any]]:
    """Return an inbox item for each broken file that governs one of `cwds`, or the whole machine."""
    from devplane.worktrees.checkout import root_of

    machine = home().policy_file
    roots = dict.fromkeys(root_of(Path(cwd)) for cwd in cwds)
    files = [(root / "devplane.toml", HOLDS_IN_PROJECT) for root in roots] + [(machine, HOLDS_EVERYWHERE)]
    there = [(file, holds) for file, holds in files if os.path.lexists(file)]
    if not there:
        return []
    from devplane.policies.live import document_of

    found = [(file, holds, document_of(file, is_project=file != machine)) for file, holds in there]
    return [_item(file, holds, document) for file, holds, document in found if document.problems]


def line(item: dict[str, Any]) -> str:
    """Return one item on one line."""
    return f"{where(item)} is not in force: {one_line(item['reason'], 300)}"


def where(item: dict[str, Any]) -> str:
    return render.home_path(item["file"]) + (f":{item['line']}" if item["line"] else "")


def _item(file: Path, holds: str, document: Document) -> dict[str, Any]:
    first = document.problems[0]
    return {
        "kind": "config_broken",
        "level": "critical",
        "ask": None,
        "run": None,
        "name": "",
        "title": f"{file} is not in force",
        "file": str(file),
        "line": first.line or None,
        "reason": first.reason,
        "holds": holds,
        "problems": len(document.problems),
        "since_ms": _changed_ms(file),
        "answerable": False,
    }


def _changed_ms(file: Path) -> int:
    try:
        return os.lstat(file).st_mtime_ns // 1_000_000
    except OSError:
        return time.time_ns() // 1_000_000


def _here() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
