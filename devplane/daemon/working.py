"""What a person asks for of a work: one function a verb."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from devplane import config
from devplane.agents.catalog import Catalog
from devplane.control import requests as r
from devplane.core import ids
from devplane.core import work as w
from devplane.core.brief import anew, brief_of
from devplane.core.failures import feedback_for
from devplane.core.run import ImpossibleFact
from devplane.core.slugs import branch_of, slug_of
from devplane.core.work import IN_PLAY, Phase, Why, Work
from devplane.daemon import resuming
from devplane.daemon.folders import existing_folder
from devplane.daemon.service import Service
from devplane.daemon.steps import settings_of, stamp, tree_of
from devplane.daemon.trusting import check_trust
from devplane.daemon.works import Entry
from devplane.errors import Refused, UsageError
from devplane.store.facts import plain
from devplane.worktrees.checkout import git_folders, root_of, trusted_root_of
from devplane.worktrees.git import GitFailed, asked
from devplane.worktrees.making import Base, base_of, uncommitted
from devplane.worktrees.removing import losses, remove

PERSON = "person"
STOP_LIMIT_S = 30.0
FILES_NAMED = 10
GO_ON = "Go on from where you stopped; what is done need not be done again."


async def start(service: Service, request: r.WorkStart) -> dict[str, Any]:
    """Begin a work: everything that can be refused is, before anything is made."""
    title = " ".join(request.title.split())
    if not title:
        raise UsageError("the title is empty", hint="Say what is to be done: devplane work start TITLE")
    cwd = existing_folder(request.cwd)
    root = trusted_root_of(cwd)
    check_trust(service, root)
    settings = config.load(root_of(root))
    agent = Catalog.load(service.home).resolve(request.agent, cwd=cwd)
    service.bounds.refuse_if_full(str(root), str(root))
    base = await anyio.to_thread.run_sync(_base, root, request.in_place, settings.workspace.base_branch)
    left_out = [] if request.in_place else await anyio.to_thread.run_sync(uncommitted, root)
    work_id = ids.make("w", os.urandom(ids.ID_BYTES))
    slug = slug_of(title, work_id)
    branch = "" if request.in_place else branch_of(slug)
    worktree = root if request.in_place else service.home.worktrees / slug_of(root.name, "") / slug
    brief = brief_of(
        title, branch=branch, spec=request.spec, issue=request.issue, checks=settings.gates.check
    )
    created = w.WorkCreated(
        title=title,
        agent=agent.id,
        project=str(root),
        worktree=str(worktree),
        in_place=request.in_place,
        branch=branch,
        base_branch=base.branch or "",
        base_ref=base.ref,
        base_commit=base.commit,
        brief=brief if settings.keep_transcripts else "",
        by=PERSON,
    )
    entry, commit = service.works.create(work_id, created, request.environ)
    await commit
    service.works.begin_step(entry, partial(service.steps.prepare, brief=brief))
    return {
        **_answer(entry.work),
        "left_out": left_out[:FILES_NAMED],
        "left_out_count": len(left_out),
    }


def _base(root: Path, in_place: bool, wanted: str | None) -> Base:
    if not in_place:
        return base_of(root, wanted)
    if git_folders(root) is None:
        return Base(None, "", "")
    return Base(None, "HEAD", asked(root, "rev-parse", "--verify", "--quiet", "HEAD") or "")


async def news(service: Service, request: r.WorkNews) -> dict[str, Any]:
    """Answer once more than `after` is on record of a work, or nothing more comes by itself."""
    entry = service.works.entry(_resolve(service, request.work))
    while entry.work.pos <= request.after and entry.work.phase in IN_PLAY:
        await entry.changed.wait()
    # What is told is to be found in the store.
    await service.board.log.drain()
    return _answer(entry.work)


async def verify(service: Service, request: r.WorkVerify) -> dict[str, Any]:
    """Run the gate for a person: its report goes on record, and nothing else changes (lesson 172)."""
    entry = service.works.entry(_resolve(service, request.work))
    work = entry.work
    _refuse_in_play(work)
    if entry.step is not None:
        raise Refused(f"the gate of {work.id} is running already")
    if not work.is_made:
        raise Refused(f"{work.id} has no worktree any more, so there is nothing to run the gate on")
    if not settings_of(work).gates.check:
        raise Refused(
            "the project declares no gate",
            hint=f"Name its commands as check under [gates] in {root_of(Path(work.project))}/devplane.toml.",
        )
    check_trust(service, Path(work.project))
    entry.environ = request.environ
    reports: list[tuple[Any, int]] = []

    async def run(entry: Entry) -> None:
        commit, changed = await anyio.to_thread.run_sync(stamp, work)
        reports.append((await service.steps.gate(entry, commit), changed))

    service.works.begin_step(entry, run)
    await entry.ended.wait()
    if not reports:
        raise Refused(f"the gate of {work.id} was cut off")
    report, changed = reports[0]
    try:
        await service.works.record(entry, w.Verified(report, changed))
    except ImpossibleFact:
        raise Refused(f"{work.id} is {entry.work.state} by now: the report is not kept") from None
    return {**_answer(entry.work), "passed": report.passed, "report": plain(report)}


async def resume(service: Service, request: r.WorkResume) -> dict[str, Any]:
    """Take up a work that stopped, by the session of its own run."""
    entry = service.works.entry(_resolve(service, request.work))
    work = entry.work
    _refuse_unless_stopped(work)
    entry.environ = request.environ
    if not work.runs or not work.is_prepared:
        return _prepare_again(service, entry, "resume", work.brief or work.title)
    if work.run in service.drivers:
        raise Refused(
            f"the session of {work.id} is open: {work.run}",
            hint=f"Tell it more: devplane say {work.run} TEXT. Hand it back: devplane work retry {work.id}",
        )
    taken_up = r.Resume(work.run, None, request.is_same_rights, dict(request.environ))
    answer = await resuming.resume(service, taken_up, PERSON)
    _taken_up(service, entry, "resume")
    if not answer["turn"]:
        # The agent had said that it was done.
        service.works.begin_step(entry, service.steps.check)
    return {**_answer(entry.work), "turn": answer["turn"], "how": "session"}


async def retry(service: Service, request: r.WorkRetry) -> dict[str, Any]:
    """Hand a work that stopped back to its agent: its own session where that can be had, else a new one."""
    entry = service.works.entry(_resolve(service, request.work))
    work = entry.work
    _refuse_unless_stopped(work)
    check_trust(service, Path(work.project))
    entry.environ = request.environ
    failures = _failures(work)
    if not work.runs or not work.is_prepared:
        return _prepare_again(service, entry, "retry", work.brief or work.title)
    driver = service.drivers.get(work.run)
    if driver is not None:
        service.bounds.refuse_if_met(driver.run)
        _taken_up(service, entry, "retry")
        await driver.prompt(ids.make("t", os.urandom(ids.ID_BYTES)), failures or GO_ON, PERSON)
        return {**_answer(entry.work), "how": "session"}
    try:
        taken_up = r.Resume(work.run, None, False, dict(request.environ))
        answer = await resuming.resume(service, taken_up, PERSON)
    except resuming.NotResumable as error:
        _taken_up(service, entry, "retry")
        begun = anew(work.brief or work.title, failures)
        service.works.begin_step(entry, partial(service.steps.start_agent, brief=begun))
        return {**_answer(entry.work), "how": "new session", "because": str(error)}
    _taken_up(service, entry, "retry")
    if not answer["turn"]:
        await service.drivers[work.run].prompt(
            ids.make("t", os.urandom(ids.ID_BYTES)), failures or GO_ON, PERSON
        )
    return {**_answer(entry.work), "how": "session"}


async def stop(service: Service, request: r.WorkStop) -> dict[str, Any]:
    """End what is under way in a work, and its run."""
    entry = service.works.entry(_resolve(service, request.work))
    await service.works.end_step(entry)
    service.works.stop(
        entry, Why.STOPPED, f"stopped by {PERSON}", f"Go on: devplane work resume {entry.work.id}"
    )
    await _end_run(service, entry.work)
    return _answer(entry.work)


async def finish(service: Service, request: r.WorkFinish) -> dict[str, Any]:
    """Call a work finished; with `remove`, take its worktree away, and never what is in it unsaid (G-44)."""
    entry = service.works.entry(_resolve(service, request.work))
    work = entry.work
    _refuse_in_play(work)
    if entry.step is not None:
        raise Refused(f"the gate of {work.id} is running")
    if work.phase is Phase.FINISHED and not (request.remove and work.is_made):
        raise Refused(f"{work.id} is finished already", hint=f"See: devplane work show {work.id}")
    if request.remove and work.in_place:
        raise Refused(f"{work.id} was done in place: there is no worktree to remove")
    lost, commit, changed = await anyio.to_thread.run_sync(_look, work, request.remove, request.force)
    if lost and not request.force:
        raise Refused(
            f"{work.worktree} holds " + "; ".join(lost),
            hint="Commit what is to stay, or give it up: devplane work finish --remove-worktree --force",
        )
    await _end_run(service, work)
    if work.phase is not Phase.FINISHED:
        has_gate = bool(settings_of(work).gates.check)
        basis = w.basis_of(work, commit, changed, has_gate=has_gate)
        await service.works.record(entry, w.WorkFinished(basis, commit, changed, PERSON))
    stays = ""
    if request.remove and work.is_made:
        stays = await _remove(service, entry, request.force)
    return {
        **_answer(entry.work),
        "basis": str(entry.work.basis),
        "branch_stays": stays,
        "given_up": list(lost),
    }


def _look(work: Work, is_to_go: bool, force: bool) -> tuple[tuple[str, ...], str, int]:
    """Return what would be lost, and the stamp. What cannot be told is an error, unless it is given up."""
    if work.in_place or not work.is_made:
        return ((), *stamp(work)) if work.in_place else ((), "", 0)
    try:
        state = tree_of(work)
    except GitFailed as error:
        if not force:
            raise
        return (f"what cannot be told: {error}",), "", 0
    moved = f"HEAD is at {state.head or 'no branch'}, not on {work.branch}"
    if state.has_moved and not force:
        raise Refused(
            f"{work.worktree}: {moved}" + (f"; an unfinished {state.operation}" if state.operation else ""),
            hint=f"git switch {state.renamed_to or work.branch} there, or --force to take it as it is.",
        )
    lost = losses(state, branch_stays=True) if is_to_go else ()
    return lost, state.commit or "", len(state.changed) + len(state.untracked)


async def _remove(service: Service, entry: Entry, force: bool) -> str:
    """Remove the worktree; return the branch where it stays, since commits are on it alone."""
    work = entry.work
    try:
        has_own = bool((await anyio.to_thread.run_sync(tree_of, work)).unpushed)
    except GitFailed:
        has_own = True  # what cannot be told stays
    await anyio.to_thread.run_sync(
        partial(
            remove,
            Path(work.project),
            Path(work.worktree),
            work.branch,
            base_commit=work.base_commit,
            base_branch=work.base_branch or None,
            included=work.copied,
            force=force,
            delete_branch=not has_own,
        )
    )
    await service.works.record(entry, w.WorktreeRemoved(not has_own))
    return work.branch if has_own else ""


async def _end_run(service: Service, work: Work) -> None:
    driver = service.drivers.get(work.run)
    if driver is not None:
        driver.stop(PERSON)
        with anyio.move_on_after(STOP_LIMIT_S):
            await driver.ended.wait()


def _prepare_again(service: Service, entry: Entry, how: str, brief: str) -> dict[str, Any]:
    work = entry.work
    check_trust(service, Path(work.project))
    _taken_up(service, entry, how)
    service.works.begin_step(entry, partial(service.steps.prepare, brief=brief))
    return {**_answer(entry.work), "how": "prepared again"}


def _taken_up(service: Service, entry: Entry, how: str) -> None:
    # Its run may have been quicker, and has said so then.
    if entry.work.phase is Phase.STOPPED:
        service.works.record(entry, w.WorkTakenUp(how, PERSON))


def _failures(work: Work) -> str:
    """Return what the last gate said, for the agent; "" where that is no news."""
    if work.why is not Why.GATE_FAILED or work.gate is None:
        return ""
    return feedback_for(work.gate, 1, max(1, settings_of(work).gates.max_feedback_rounds))


def _refuse_in_play(work: Work) -> None:
    if work.phase in IN_PLAY:
        what = {Phase.PREPARING: "is being prepared", Phase.CHECKING: "is being checked"}
        raise Refused(
            f"{work.id} {what.get(work.phase, 'is in the hands of its agent')}",
            hint=f"Wait for it, or end it first: devplane work stop {work.id}",
        )


def _refuse_unless_stopped(work: Work) -> None:
    _refuse_in_play(work)
    if work.phase is Phase.REVIEW:
        raise Refused(
            f"{work.id} waits for your review: its agent says that it is done",
            hint=f"Tell it more: devplane say {work.run} TEXT. Finish it: devplane work finish {work.id}",
        )
    if work.phase is Phase.FINISHED:
        raise Refused(f"{work.id} is finished", hint=f"See: devplane work show {work.id}")


def _resolve(service: Service, text: str) -> str:
    if text in service.works.entries:
        return text
    with service.reader() as reader:
        return reader.resolve_work(text)


def _answer(work: Work) -> dict[str, Any]:
    return {
        "work": work.id,
        "pos": work.pos,
        "phase": str(work.phase),
        "state": work.state,
        "text": work.text,
        "hint": work.hint,
        "agent": work.agent,
        "run": work.run,
        "branch": work.branch,
        "worktree": work.worktree,
    }
