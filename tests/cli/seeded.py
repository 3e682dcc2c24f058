"""A home whose store was written without a daemon: what reading shows of it depends on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devplane.core import events as e
from devplane.core.permission import Option
from devplane.core.run import Run, reduce
from devplane.daemon.board import now_ms, snapshot_of
from devplane.store.facts import encode_fact
from devplane.store.rows import AskRow, Batch, DecisionRow, EventRow, FragmentRow, TrustRow
from tests.store.build import fill

RUN = "r-aaaaaaaaaa"
ASK = "a-aaaaaaaaaa"
TURN = "t-aaaaaaaaaa"
HOSTILE = "ls\x1b[2K\rrm -rf ~\x1b]52;c;ZWNobw==\x07\x9b6n\u202e"
"""What a terminal would obey: erase the line, go to its start, write the clipboard, report, turn round."""

RULED = "no rule answers"
"""Why requests wait."""

Said = tuple[str, str]
"""A role and its text."""


def created(name: str = "tidy-up", project: str = "/home/me/shop") -> e.RunCreated:
    return e.RunCreated("demo", "Demo agent", ("demo",), project, project, name, None, True, "person")


def write_run(
    home: Path, *history: e.Fact | Said, run: str = RUN, first: e.RunCreated | None = None, age_ms: int = 0
) -> Run:
    """Store a run with `history`, facts and speech in the order in which they came."""
    home.mkdir(mode=0o700, exist_ok=True)
    at_ms = now_ms() - age_ms
    state: Run | None = None
    events: list[EventRow] = []
    fragments: list[FragmentRow] = []
    asks: list[AskRow] = []
    for pos, each in enumerate((first or created(), *history)):
        if isinstance(each, tuple):
            fragments.append(FragmentRow(run, pos, at_ms, each[0], each[1], turn=TURN))
            continue
        state = reduce(state, e.Event(run, pos, at_ms, each))
        events.append(EventRow(run, pos, at_ms, *encode_fact(each)))
        if isinstance(each, e.PermissionAsked):
            asks.append(_ask_row(run, at_ms, each))
    assert state is not None
    fill(
        home / "devplane.db",
        Batch(
            events=tuple(events), snapshot=snapshot_of(state), fragments=tuple(fragments), asks=tuple(asks)
        ),
    )
    return state


def opened(*more: e.Fact | Said) -> Sequence[e.Fact | Said]:
    """A session in its first turn, and what happened then."""
    return (e.SessionOpened("s-1", "new"), e.PromptQueued(TURN, 5, "person"), e.TurnStarted(TURN), *more)


def asked(subject: str = "make test", **more: Any) -> e.PermissionAsked:
    options = (
        Option("yes", "Allow once", "allow_once"),
        Option("yes-for-ever", "Always allow", "allow_always"),
        Option("no", "Reject", "reject_once"),
    )
    given = {"ask": ASK, "call": "c", "title": subject, "tool": "Bash", "options": options, **more}
    return e.PermissionAsked(subject=subject, **given)


def trust(home: Path, root: Path) -> None:
    """Record that somebody trusts `root`, without a daemon."""
    home.mkdir(mode=0o700, exist_ok=True)
    fill(home / "devplane.db", Batch(trusted=(TrustRow(str(root), now_ms(), "person"),)))


def write_decisions(home: Path, *rows: DecisionRow) -> None:
    """Store answers alone."""
    home.mkdir(mode=0o700, exist_ok=True)
    fill(home / "devplane.db", Batch(decisions=rows))


def decided(subject: str, verdict: str = "allow", authority: str = "person", **more: Any) -> DecisionRow:
    given = {"run": RUN, "ask": ASK, "tool": "Bash", "at_ms": now_ms(), **more}
    return DecisionRow(subject=subject, verdict=verdict, authority=authority, **given)


def _ask_row(run: str, at_ms: int, fact: e.PermissionAsked) -> AskRow:
    options = [{"id": each.id, "name": each.name, "kind": each.kind} for each in fact.options]
    ruling = {"verdict": "undecided", "rule": "", "file": "", "line": 0, "reason": RULED}
    payload = {
        "tool": fact.tool,
        "subject": fact.subject,
        "content": "",
        "options": options,
        "ruling": ruling,
    }
    return AskRow(fact.ask, run, at_ms, "permission", "open", fact.title, payload)
