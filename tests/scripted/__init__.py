"""Scripted agents for the cases from the field: real processes that misbehave in one way each.

``python -m tests.scripted CASE [ARGUMENT...]``, or the path of this folder instead of ``-m
tests.scripted``, which works from any working directory. `command` gives the latter.
Without a case it lists them. What an agent heard, and a few facts of its own, are appended
as JSON lines to the file that ``SCRIPTED_LOG`` names; see `tests.scripted.log`.
"""

from __future__ import annotations

import sys
from pathlib import Path


def command(case: str, *arguments: object) -> list[str]:
    """Return the command line of one scripted agent."""
    return [sys.executable, str(Path(__file__).parent), case, *map(str, arguments)]
