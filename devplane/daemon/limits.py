"""Every bound that the daemon waits by, in one place. Tests and users may set shorter or longer ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devplane.errors import UsageError

START_VARIABLE = "DEVPLANE_START_TIMEOUT"
"""Seconds for each step of an agent's start; documented for users of slow machines."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds in seconds."""

    start_s: float = 120.0
    """For each step of the start: the handshake, and opening the session."""
    fetch_s: float = 900.0
    """For the handshake while something may still be downloaded: npx and its like, or an agent whose
    stderr shows that it is busy (G-08)."""
    fetch_quiet_s: float = 30.0
    """An agent that wrote nothing to stderr for this long is not downloading."""
    cancel_s: float = 5.0
    """For the end of a turn after `session/cancel` (G-19)."""
    close_s: float = 2.0
    """For the answer to `session/close`."""
    settle_s: float = 0.5
    """How long after a turn's end late text still belongs to it (G-17)."""
    replay_quiet_s: float = 0.3
    """How long an agent that loaded a session must say nothing before its replay is taken for over."""
    replay_s: float = 10.0
    """For the end of a replay."""
    flush_s: float = 0.1
    """How long what was said may be in memory only."""


def from_environment(environ: Mapping[str, str]) -> Limits:
    """Return the default limits with what the environment changes.

    Raises:
        UsageError: The variable is no positive number.
    """
    text = environ.get(START_VARIABLE)
    if not text:
        return Limits()
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 86_400:
        raise UsageError(f"{START_VARIABLE} is {text!r}", hint="Give seconds, such as 300.")
    return Limits(start_s=seconds, fetch_s=max(seconds, Limits().fetch_s))
