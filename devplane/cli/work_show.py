"""One work in full: as it is on record and in its worktree, and its certificate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from devplane.cli import render
from devplane.cli.common import print_json, reader
from devplane.core.certificate import AgentUsed, Certificate, as_markdown, as_statement
from devplane.core.text import one_line, visible
from devplane.core.work import Work
from devplane.errors import DevplaneError
from devplane.store.answers import RunRow
from devplane.store.facts import decode_work, plain

_CREDENTIALS = re.compile(r"^(\w[\w+.-]*://)[^/@]*@")
TAIL_LINES = 30


def load(work_id: str) -> tuple[Work, list[RunRow]]:
    """Return a work and its runs, the oldest first."""
    with reader() as store:
        row = store.work(work_id)
        assert row is not None
        runs = [store.run(each) for each in row["snapshot"]["runs"]]
    return decode_work(row["snapshot"]), [each for each in runs if each is not None]


def show(work_id: str, *, as_json: bool) -> None:
    """Print a work."""
    work, runs = load(work_id)
    tree, unreadable = _tree(work)
    if as_json:
        state = plain(tree) if tree is not None else None
        passed = work.gate.passed if work.gate else None
        print_json(
            {**plain(work), "state": work.state, "passed": passed, "tree": state, "unreadable": unreadable}
        )
        return
    print(f"{render.paint(one_line(work.title, 300), 'bold')}")
    print(f"  {render.paint(work.id, 'magenta')} · {work.state} · {render.age(work.updated_ms)}")
    if work.text:
        print(f"  {one_line(work.text, 1000)}")
    if work.hint:
        print(f"  {one_line(work.hint, 500)}")
    if work.basis:
        print(f"  {work.basis}")
    branch = work.branch or "none: it is done in place"
    print(f"  branch    {branch}, begun at {work.base_commit[:12] or 'no commit'}")
    print(f"  worktree  {visible(render.home_path(work.worktree))}{'' if work.is_made else ' (not there)'}")
    for line in _state(work, tree, unreadable):
        print(f"            {line}")
    for each in work.refused:
        print(f"            not copied: {one_line(each, 300)}")
    for run in runs:
        cost = render.cost(run["snapshot"].get("spending") or []) or "cost not reported"
        print(f"  run       {run['id']} {one_line(run['agent'], 30)} {run['state']}, {cost}")
    if work.setup is not None and not work.setup.succeeded:
        print("  set-up")
        for line in gate_lines(plain(work.setup)):
            print(f"    {line}")
    if work.gate is not None:
        stale = f" with {work.check_changed} uncommitted files" if work.check_changed else ""
        verdict = "passed" if work.gate.passed else "did not pass"
        print(f"  gate      {verdict} at {work.check_commit[:12] or 'no commit'}{stale}, check {work.checks}")
        for line in gate_lines(plain(work.gate)):
            print(f"    {line}")


def gate_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the commands of a report with how each ended, and of the first that failed what it printed."""
    is_first = True
    for each in report["commands"]:
        passed = each["outcome"] == "exited" and each["code"] == 0
        mark = render.paint("✓", "green") if passed else render.paint("✗", "red")
        how = f"exit status {each['code']}" if each["outcome"] == "exited" else each["outcome"]
        reason = f" ({one_line(each['reason'], 200)})" if each["reason"] else ""
        yield f"{mark} {one_line(each['command'], 200)}  {how}{reason}, {each['duration_ms'] / 1000:.1f} s"
        if not passed and is_first:
            is_first = False
            for line in each["tail"].splitlines()[-TAIL_LINES:]:
                yield f"    {one_line(line, 400)}"


def _tree(work: Work) -> tuple[Any, str]:
    """Return what the worktree holds, or why that cannot be told."""
    from devplane.worktrees.state import state_of

    if work.in_place or not work.is_made:
        return None, ""
    try:
        return state_of(
            Path(work.worktree),
            work.branch,
            work.base_commit,
            Path(work.project),
            base_branch=work.base_branch or None,
            included=work.copied,
        ), ""
    except DevplaneError as error:
        return None, str(error)


def _state(work: Work, tree: Any, unreadable: str) -> Iterator[str]:
    from devplane.worktrees.removing import losses

    if unreadable:
        yield render.paint(f"what it holds cannot be told: {one_line(unreadable, 300)}", "yellow")
    if tree is None:
        return
    if tree.has_moved:
        at = f"the branch {one_line(tree.head, 100)}" if tree.head else "no branch"
        renamed = f" ({work.branch} is now {one_line(tree.renamed_to, 100)})" if tree.renamed_to else ""
        yield render.paint(f"HEAD is at {at}, not on {work.branch}{renamed}", "yellow")
    lost = losses(tree)
    yield from (one_line(each, 500) for each in lost)
    if not lost:
        yield "everything in it is committed, and pushed or merged"


def export(work_id: str, *, as_json: bool) -> None:
    """Print the certificate of a work."""
    work, runs = load(work_id)
    certificate = Certificate(work, tuple(map(_used, runs)), _remote(Path(work.project)))
    if as_json:
        print_json(as_statement(certificate))
    else:
        print(as_markdown(certificate))


def _used(run: RunRow) -> AgentUsed:
    snapshot = run["snapshot"]
    spending = snapshot.get("spending") or []
    cost = " + ".join(render.money(each["spent"], each["currency"]) for each in spending)
    return AgentUsed(run["id"], snapshot["agent_name"], snapshot["reported_version"], snapshot["turns"], cost)


def _remote(root: Path) -> str:
    from devplane.worktrees.git import asked

    try:
        url = asked(root, "config", "--get", "remote.origin.url")
    except DevplaneError:
        return ""
    return _CREDENTIALS.sub(r"\1", url) if url else ""
