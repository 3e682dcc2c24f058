"""What a project's own commands said of a work: the reports of a gate, and of a set-up.

How the commands are run is `devplane.worktrees.gates`. That a gate has passed is said here and
nowhere else: whoever shows a report serves `GateReport.passed` and derives nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

TAIL_LIMIT_BYTES = 8 << 10
"""What is kept of a command's output: its end."""

TIME_UP = "the time was up"
EARLIER_FAILED = "a command before it failed"
DAEMON_ENDED = "Devplane ended meanwhile"

_FIRST_CONTINUATION, _LAST_CONTINUATION = 0x80, 0xBF


class Outcome(StrEnum):
    """How one command ended."""

    EXITED = "exited"
    """By itself, with a status."""
    TIMED_OUT = "timed out"
    NEVER_STARTED = "never started"
    UNKNOWN = "unknown"
    """By a signal, or unseen: it said nothing of the work."""
    INTERRUPTED = "interrupted"
    """The daemon ended while it ran, or before its turn came."""


@dataclass(frozen=True, slots=True)
class CommandReport:
    """One command of a gate or a set-up, run or not."""

    command: str
    """As the project declares it: a line for ``sh -c``."""
    outcome: Outcome
    code: int | None = None
    """Its exit status, when it exited."""
    reason: str = ""
    """What else is known, for people: the limit, the signal, why it never started, what it left running."""
    duration_ms: int = 0
    """From its start to its own end, on a clock that stands still while the machine sleeps."""
    size_bytes: int = 0
    """All that it printed, on both of its outputs."""
    sha256: str = ""
    """Of all that it printed, in hex; "" when it did not run."""
    tail: str = ""
    """The end of what it printed, at most `TAIL_LIMIT_BYTES` of UTF-8, as it was written."""
    is_cut: bool = False
    """Whether it printed more than `tail`."""
    failures: tuple[str, ...] = ()
    """What `devplane.core.failures` found in more of its output than `tail`, when it did not pass."""

    @property
    def passed(self) -> bool:
        """Whether it ran and ended with status 0."""
        return self.outcome is Outcome.EXITED and self.code == 0

    @property
    def ending(self) -> str:
        """How it ended, in words: ``exit status 2``."""
        what = f"exit status {self.code}" if self.outcome is Outcome.EXITED else str(self.outcome)
        return f"{what} ({self.reason})" if self.reason else what


@dataclass(frozen=True, slots=True)
class GateReport:
    """One run of a gate, with every command that it declares."""

    commands: tuple[CommandReport, ...]
    started_ms: int
    ended_ms: int
    """Both by the wall clock: they say when, and their difference is no duration (G-39)."""
    commit: str
    """What was checked out before the first command ran; "" where there is no commit."""
    timeout_s: float

    @property
    def passed(self) -> bool:
        """Whether there was a command and every one exited with status 0. An empty gate passes nothing."""
        return all_passed(self.commands)

    @property
    def failed(self) -> CommandReport | None:
        """The first command that did not pass; ``None`` when all did, or there was none."""
        return next((each for each in self.commands if not each.passed), None)

    @property
    def is_interrupted(self) -> bool:
        """Whether it says nothing of the work, as the daemon ended meanwhile: it can be run again."""
        return any(each.outcome is Outcome.INTERRUPTED for each in self.commands)


@dataclass(frozen=True, slots=True)
class SetupReport:
    """The commands that made a new worktree ready. It is no attempt at a gate, and passes none."""

    commands: tuple[CommandReport, ...]
    started_ms: int
    ended_ms: int
    timeout_s: float

    @property
    def succeeded(self) -> bool:
        """Whether every command exited with status 0: with none, there was nothing to do."""
        return all(each.passed for each in self.commands)


def all_passed(commands: Iterable[CommandReport]) -> bool:
    """Whether there is a command, and every one exited with status 0."""
    found = [each.passed for each in commands]
    return bool(found) and all(found)


def interrupted(
    commands: Sequence[str], *, commit: str, started_ms: int, ended_ms: int, timeout_s: float
) -> GateReport:
    """Return the report of a gate that a daemon began and did not see the end of (G-33)."""
    reports = tuple(CommandReport(each, Outcome.INTERRUPTED, reason=DAEMON_ENDED) for each in commands)
    return GateReport(reports, started_ms, ended_ms, commit, timeout_s)


def newest(data: bytes, limit_bytes: int) -> tuple[str, bool]:
    """Return the end of `data` as text, and whether that is not all of it.

    At most `limit_bytes` of UTF-8, with no character cut in two. What is no UTF-8 becomes marks,
    within the limit too.
    """
    text = _end_of(data, limit_bytes).decode("utf-8", "replace")
    # A mark takes three bytes, and may stand for one.
    kept = _end_of(text.encode(), limit_bytes).decode()
    return kept, len(data) > limit_bytes or len(kept) < len(text)


def _end_of(data: bytes, limit_bytes: int) -> bytes:
    if len(data) <= limit_bytes:
        return data
    end = data[len(data) - limit_bytes :]
    start = 0
    while start < min(3, len(end)) and _FIRST_CONTINUATION <= end[start] <= _LAST_CONTINUATION:
        start += 1
    return end[start:]
