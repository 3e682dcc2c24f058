"""What takes time in a work: its worktree and set-up, its agent's start, and its gate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from devplane import config
from devplane.agents import tree
from devplane.agents.catalog import Catalog
from devplane.core import events as e
from devplane.core import ids
from devplane.core import work as w
from devplane.core.failures import feedback_for
from devplane.core.gates import GateReport, Outcome
from devplane.core.run import ImpossibleFact
from devplane.core.slugs import slug_of
from devplane.core.work import Why, Work
from devplane.daemon.trusting import check_trust
from devplane.daemon.works import RETRY, Entry
from devplane.errors import Refused
from devplane.worktrees.checkout import git_folders, root_of, trusted_root_of
from devplane.worktrees.gates import run_gate, run_setup
from devplane.worktrees.git import git
from devplane.worktrees.included import copy_included
from devplane.worktrees.making import Base, make, uncommitted
from devplane.worktrees.state import TreeState, state_of

if TYPE_CHECKING:
    from devplane.daemon.service import Service

SWEEP_TERM_S = 1.0
SWEEP_KILL_S = 3.0
GATE = "gate"
"""Who says the failures."""


class Steps:
    """The steps of every work, each called as a background task of `Works`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def prepare(self, entry: Entry, brief: str) -> None:
        """Make what is not there yet of the worktree, set it up, and start the agent on `brief`."""
        work = entry.work
        if not work.is_made:
            await self._make(entry)
        if not entry.work.is_prepared or entry.work.setup is None:
            workspace = settings_of(work).workspace
            if workspace.setup:
                report = await run_setup(
                    workspace.setup,
                    cwd=Path(work.worktree),
                    environ=self._environ(entry),
                    timeout_s=workspace.setup_timeout_s,
                    clock_ms=self._service.board.clock_ms,
                    sweep=partial(self._sweep, work.id),
                )
                self._service.works.record(entry, w.SetupEnded(report))
                failed = next((each for each in report.commands if not each.passed), None)
                if failed is not None:
                    raise Refused(
                        f"the set-up failed: {failed.command}: {failed.ending}",
                        hint=f"See: devplane work show {work.id}. Then: {RETRY.format(work.id)}",
                    )
        await self.start_agent(entry, brief)

    async def _make(self, entry: Entry) -> None:
        work, root = entry.work, Path(entry.work.project)
        base = Base(work.base_branch or None, work.base_ref, work.base_commit)
        target = Path(work.worktree)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        await anyio.to_thread.run_sync(make, root, target, work.branch, base, entry.environ or os.environ)
        included = await anyio.to_thread.run_sync(copy_included, root, target)
        refused = tuple(f"{path}: {why}" for path, why in included.refused)
        await self._service.works.record(entry, w.WorktreeMade(included.copied, refused))

    async def start_agent(self, entry: Entry, brief: str) -> None:
        """Start a run on a work, and tell it `brief`."""
        service, work = self._service, entry.work
        cwd = Path(work.worktree)
        check_trust(service, trusted_root_of(cwd))
        service.bounds.refuse_if_full(work.project, work.worktree)
        agent = Catalog.load(service.home).resolve(work.agent, cwd=cwd)
        keeps = settings_of(work).keep_transcripts
        created = e.RunCreated(
            agent=agent.id,
            agent_name=agent.name,
            command=agent.command,
            cwd=work.worktree,
            project=work.project,
            name=slug_of(work.title, work.id) if keeps else "",
            expected_version=agent.expected_version,
            keeps_transcript=keeps,
            by="person",
            work=work.id,
        )
        driver = await service.begin(agent, created, entry.environ or {}, model=None, mode=None)
        service.works.record(entry, w.RunJoined(driver.run.id))
        await driver.prompt(_turn(), brief, "person")

    async def check(self, entry: Entry) -> None:
        """Run the gate, and let the failures go back to the agent or to a person."""
        works, work = self._service.works, entry.work
        declared = settings_of(work).gates
        if not declared.check:
            works.record(entry, w.Unchecked())
            return
        commit, changed = await anyio.to_thread.run_sync(stamp, work)
        works.record(entry, w.CheckBegan(commit, changed, declared.check))
        report = await self.gate(entry, commit)
        works.record(entry, w.CheckEnded(report))
        if not report.passed:
            most = 0 if declared.on_fail == "escalate" else declared.max_feedback_rounds
            self._hand_back(entry, report, most)

    async def gate(self, entry: Entry, commit: str) -> GateReport:
        """Run the gate that the owning checkout declares now over the worktree."""
        work = entry.work
        declared = settings_of(work).gates
        return await run_gate(
            declared.check,
            cwd=Path(work.worktree),
            environ=self._environ(entry),
            timeout_s=declared.timeout_s,
            commit=commit,
            clock_ms=self._service.board.clock_ms,
            sweep=partial(self._sweep, work.id),
        )

    def _hand_back(self, entry: Entry, report: GateReport, most: int) -> None:
        works, work, failed = self._service.works, entry.work, report.failed
        said = f"{failed.command}: {failed.ending}" if failed else "no command ran"
        look = f"See: devplane work show {work.id}. Hand it back: {RETRY.format(work.id)}"
        # What says nothing of the work is nothing that the agent could mend.
        is_about_work = failed is not None and failed.outcome in (Outcome.EXITED, Outcome.TIMED_OUT)
        if not is_about_work or work.rounds >= most:
            rounds = f" after {work.rounds} of {most} rounds of feedback" if most and is_about_work else ""
            works.stop(entry, Why.GATE_FAILED, f"{said}{rounds}", look)
            return
        driver = self._service.drivers.get(work.run)
        if driver is None:
            works.stop(entry, Why.GATE_FAILED, f"{said}; its agent is gone", look)
            return
        turn = _turn()
        works.record(entry, w.FedBack(turn))
        try:
            driver.prompt(turn, feedback_for(report, work.rounds + 1, most), GATE)
        except ImpossibleFact:
            works.stop(entry, Why.GATE_FAILED, f"{said}; its agent is {driver.run.state}", look)

    def _environ(self, entry: Entry) -> dict[str, str]:
        given: Mapping[str, str] | None = entry.environ
        driver = self._service.drivers.get(entry.work.run)
        if given is None and driver is not None:
            given = driver.environ
        marks = {tree.HOME_VARIABLE: str(self._service.home.root), tree.RUN_VARIABLE: entry.work.id}
        return {**(os.environ if given is None else given), **marks}

    async def _sweep(self, work_id: str) -> None:
        """End what a command detached from its group: its environment still names the work."""
        home = str(self._service.home.root)
        left = await anyio.to_thread.run_sync(tree.marked, home, work_id)
        if left:
            await tree.end(left, term_grace_s=SWEEP_TERM_S, kill_grace_s=SWEEP_KILL_S)


def settings_of(work: Work) -> config.Config:
    """Return the settings of the checkout that owns a work, never those of its branch (lesson 182).

    Raises:
        ConfigBroken: They cannot be taken at their word.
    """
    return config.load(root_of(Path(work.project)))


def tree_of(work: Work) -> TreeState:
    """Return what the worktree of a work holds. Blocks.

    Raises:
        GitFailed: It cannot be told.
    """
    return state_of(
        Path(work.worktree),
        work.branch,
        work.base_commit,
        Path(work.project),
        base_branch=work.base_branch or None,
        included=work.copied,
    )


def stamp(work: Work) -> tuple[str, int]:
    """Return the commit that is checked out for a work, and how many files are not as in it. Blocks.

    Raises:
        GitFailed: It cannot be told.
    """
    if not work.in_place:
        state = tree_of(work)
        return state.commit or "", len(state.changed) + len(state.untracked)
    root = Path(work.worktree)
    if not work.base_commit or git_folders(root) is None:
        return "", 0
    return git(root, "rev-parse", "HEAD").strip(), len(uncommitted(root))


def _turn() -> str:
    return ids.make("t", os.urandom(ids.ID_BYTES))
