"""Works with a real daemon, real git, the demo agent, and the project's own commands."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from devplane.control import requests as r
from devplane.errors import DevplaneError, Refused
from devplane.paths import Home
from devplane.store.queries import Reader
from tests.daemon.agents import ask_of, until
from tests.daemon.harness import Caller, Started, daemon, environment, kill_daemon, life, start_daemon
from tests.daemon.harness import caller as caller_of
from tests.worktrees.repo import git

IDENTITY = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")} | {
    "GIT_CONFIG_NOSYSTEM": "1"
}


def repository(root: Path, settings: str = "") -> Path:
    """Make the project a repository with one commit and these settings."""
    project = root / "project"
    project.mkdir(exist_ok=True)
    git(project, "init", "-q", "-b", "main")
    (project / "devplane.toml").write_text(settings)
    (project / "app.py").write_text("one\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    return project


async def start(caller: Caller, title: str = "quick", **more: Any) -> dict[str, Any]:
    request = r.WorkStart(title, "demo", str(caller.folder), environ={**environment(), **IDENTITY}, **more)
    return await caller.ask(request)


async def reach(caller: Caller, work: str, *phases: str, after: int = -1) -> dict[str, Any]:
    """Wait until a work is in one of `phases` by a fact later than `after`, by what is told of it."""
    while True:
        news = await caller.ask(r.WorkNews(work, after))
        if news["phase"] in phases:
            return news
        assert news["phase"] in ("preparing", "working", "checking"), news
        after = news["pos"]


def snapshot(caller: Caller, work: str) -> dict[str, Any]:
    with Reader.open(caller.home.database) as reader:
        row = reader.work(work)
    assert row is not None
    return row["snapshot"]


def branches(project: Path) -> str:
    return git(project, "branch", "--list", "devplane/*")


def is_there(path: str | Path) -> bool:
    return os.path.lexists(path)


GATE = '[gates]\ncheck = ["test -f done.txt"]\nmax_feedback_rounds = {}\n'


async def test_a_work_has_a_branch_and_a_worktree_of_its_own_and_is_set_up_before_its_agent(
    tmp_path: Path,
) -> None:
    project = repository(tmp_path, '[workspace]\nsetup = ["pwd > set-up"]\n')
    (project / ".worktreeinclude").write_text(".env\n")
    (project / ".gitignore").write_text(".env\n")
    (project / ".env").write_text("KEY=1\n")
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        ended = await reach(caller, begun["work"], "review")
        tree = Path(begun["worktree"])
        assert caller.home.root in tree.parents
        assert (tree / "set-up").read_text().strip() == str(tree)
        assert (tree / ".env").read_text() == "KEY=1\n"
        assert git(tree, "branch", "--show-current") == begun["branch"]
        assert begun["branch"].startswith("devplane/quick-")
        assert git(project, "status", "--porcelain", "app.py") == ""
        row = Started(caller, {"run": ended["run"], "turn": ""}).row()
        assert (row["cwd"], row["project"], row["work"]) == (str(tree), str(project), begun["work"])


async def test_without_a_gate_nothing_is_checked_and_finishing_says_so(tmp_path: Path) -> None:
    repository(tmp_path)
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "review")
        answer = await caller.ask(r.WorkFinish(begun["work"]))
        assert answer["basis"] == "a person's word: the project declares no gate"


async def test_a_gate_that_passes_leads_to_review_and_stands_for_that_commit(tmp_path: Path) -> None:
    repository(tmp_path, '[gates]\ncheck = ["test -f app.py"]\n')
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "review")
        assert snapshot(caller, begun["work"])["gate"]["commands"][0]["code"] == 0
        answer = await caller.ask(r.WorkFinish(begun["work"]))
        assert answer["basis"] == "the gate passed on what is committed"


async def test_failures_go_back_to_the_agent_as_often_as_allowed_then_to_a_person(tmp_path: Path) -> None:
    repository(tmp_path, GATE.format(2))
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        ended = await reach(caller, begun["work"], "stopped")
        assert ended["state"] == "gate failed"
        assert "after 2 of 2 rounds" in ended["text"]
        run = Started(caller, {"run": ended["run"], "turn": ""})
        assert run.said("user").count("did not pass") == 2
        assert snapshot(caller, begun["work"])["checks"] == 3


async def test_a_failure_can_go_to_a_person_at_once(tmp_path: Path) -> None:
    repository(tmp_path, GATE.format(2) + 'on_fail = "escalate"\n')
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "stopped")
        assert snapshot(caller, begun["work"])["checks"] == 1


async def test_the_gate_is_the_owning_checkouts_and_never_the_branchs(tmp_path: Path) -> None:
    repository(tmp_path, '[gates]\ncheck = ["test -f app.py"]\n')
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "review")
        (Path(begun["worktree"]) / "devplane.toml").write_text('[gates]\ncheck = ["false"]\n')
        answer = await caller.ask(r.WorkVerify(begun["work"], environment()))
        assert answer["passed"]


async def test_verify_keeps_its_report_and_changes_nothing_else(tmp_path: Path) -> None:
    repository(tmp_path, GATE.format(0))
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "stopped")
        (Path(begun["worktree"]) / "done.txt").write_text("done")
        answer = await caller.ask(r.WorkVerify(begun["work"], environment()))
        assert (answer["passed"], answer["state"]) == (True, "gate failed")
        basis = (await caller.ask(r.WorkFinish(begun["work"])))["basis"]
        assert basis == "the gate passed, and files or commits changed since"


async def test_a_retry_hands_the_failures_to_the_same_session(tmp_path: Path) -> None:
    repository(tmp_path, GATE.format(0))
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        stopped = await reach(caller, begun["work"], "stopped")
        (Path(begun["worktree"]) / "done.txt").write_text("done")
        answer = await caller.ask(r.WorkRetry(begun["work"], environment()))
        assert (answer["run"], answer["how"]) == (stopped["run"], "session")
        await reach(caller, begun["work"], "review")


async def test_a_set_up_that_fails_stops_it_before_an_agent_costs_anything(tmp_path: Path) -> None:
    repository(tmp_path, '[workspace]\nsetup = ["test -f ../allowed || { echo no; exit 3; }"]\n')
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        stopped = await reach(caller, begun["work"], "stopped")
        assert (stopped["state"], stopped["run"]) == ("broken", "")
        assert "exit status 3" in stopped["text"]
        (Path(begun["worktree"]).parent / "allowed").touch()
        await caller.ask(r.WorkRetry(begun["work"], environment()))
        assert (await reach(caller, begun["work"], "review"))["run"]


async def test_g42_a_repository_without_a_commit_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "trunk")
    async with daemon(tmp_path) as caller:
        with pytest.raises(Refused, match="no commit yet"):
            await start(caller)
        assert not caller.home.worktrees.exists()
        in_place = await start(caller, in_place=True)
        assert (await reach(caller, in_place["work"], "review"))["worktree"] == str(project)


async def test_g46_nothing_of_an_untrusted_repository_is_run(tmp_path: Path) -> None:
    project = repository(tmp_path, '[workspace]\nsetup = ["touch ../pwned"]\n')
    async with daemon(tmp_path) as caller:
        await caller.ask(r.Trust(str(project), trusted=False))
        with pytest.raises(Refused, match="is not trusted"):
            await start(caller)
        assert branches(project) == ""


async def test_g44_finish_names_what_would_be_lost_and_removes_nothing_unsaid(tmp_path: Path) -> None:
    project = repository(tmp_path)
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "review")
        tree = Path(begun["worktree"])
        (tree / "new.txt").write_text("new")
        (tree / "app.py").write_text("two\n")
        with pytest.raises(Refused, match=r"1 changed file: app.py; 1 untracked file: new.txt"):
            await caller.ask(r.WorkFinish(begun["work"], remove=True))
        assert (tree / "new.txt").exists()
        assert snapshot(caller, begun["work"])["phase"] == "review"
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", "mine alone")
        answer = await caller.ask(r.WorkFinish(begun["work"], remove=True))
        assert answer["branch_stays"] == begun["branch"]
        assert not is_there(tree)
        assert begun["branch"] in branches(project)


async def test_a_branch_with_nothing_of_its_own_goes_with_its_worktree(tmp_path: Path) -> None:
    project = repository(tmp_path)
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "review")
        await caller.ask(r.WorkFinish(begun["work"]))
        await caller.ask(r.WorkFinish(begun["work"], remove=True))
        assert not is_there(begun["worktree"])
        assert branches(project) == ""


async def test_g45_a_worktree_on_another_branch_is_not_finished_unseen(tmp_path: Path) -> None:
    repository(tmp_path)
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "review")
        git(Path(begun["worktree"]), "switch", "-q", "-c", "other")
        with pytest.raises(Refused, match="HEAD is at other"):
            await caller.ask(r.WorkFinish(begun["work"]))


async def test_a_work_that_was_cut_off_goes_on_with_its_own_session(tmp_path: Path) -> None:
    repository(tmp_path, '[gates]\ncheck = ["true"]\n')
    async with life(tmp_path) as caller:
        begun = await start(caller, "hold")
        news = await reach(caller, begun["work"], "working")
        run = Started(caller, {"run": news["run"], "turn": ""})
        await caller.follow(run)
        await ask_of(run)
        session = run.row()["session"]
    async with daemon(tmp_path) as caller:
        stopped = await reach(caller, begun["work"], "stopped")
        assert stopped["state"] == "interrupted"
        answer = await caller.ask(r.WorkResume(begun["work"], environ=environment()))
        assert answer["run"] == news["run"]
        again = Started(caller, {"run": news["run"], "turn": ""})
        await caller.follow(again)
        await again.until_fact("SessionOpened", how="resume")
        assert again.row()["session"] == session
        assert snapshot(caller, begun["work"])["phase"] == "working"


async def test_g33_a_gate_that_was_cut_off_passed_nothing_and_can_be_run_again(tmp_path: Path) -> None:
    repository(tmp_path, '[gates]\ncheck = ["test -f ../go || { echo $$ > ../pid; sleep 900; }"]\n')
    async with life(tmp_path) as caller:
        begun = await start(caller)
        await reach(caller, begun["work"], "checking")
        pid_file = Path(begun["worktree"]).parent / "pid"
        await until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    pid = int(pid_file.read_text())
    async with daemon(tmp_path) as caller:
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        stopped = await reach(caller, begun["work"], "stopped")
        assert (stopped["state"], "its gate was cut off" in stopped["text"]) == ("interrupted", True)
        assert snapshot(caller, begun["work"])["gate"]["commands"][0]["outcome"] == "interrupted"
        (pid_file.parent / "go").touch()
        await caller.ask(r.WorkResume(begun["work"], environ=environment()))
        await reach(caller, begun["work"], "review")


async def test_g36_a_start_that_was_killed_in_git_blocks_nothing_and_can_go_on(tmp_path: Path) -> None:
    project = repository(tmp_path)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    real = shutil.which("git")
    slow = bin_folder / "git"
    slow.write_text(
        f'#!/bin/sh\ncase " $* " in *" worktree add "*) {real} "$@"; echo > {tmp_path}/there; sleep 900;;'
        f' *) exec {real} "$@";; esac\n'
    )
    slow.chmod(0o755)
    home_path = {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    async with life(tmp_path, **home_path) as caller:
        request = r.WorkStart("quick", "demo", str(caller.folder), environ={**environment(), **home_path})
        begun = await caller.ask(request)
        await until((tmp_path / "there").exists)
    slow.unlink()
    async with daemon(tmp_path) as caller:
        assert (await reach(caller, begun["work"], "stopped"))["state"] == "interrupted"
        other = await start(caller)
        await reach(caller, other["work"], "review")
        await caller.ask(r.WorkResume(begun["work"], environ=environment()))
        await reach(caller, begun["work"], "review")
        assert begun["branch"] in branches(project)


async def test_a_daemon_that_ends_cleanly_ends_a_gate_and_says_so(tmp_path: Path) -> None:
    repository(tmp_path, '[gates]\ncheck = ["echo $$ > ../pid; sleep 900"]\n')
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        pid_file = Path(begun["worktree"]).parent / "pid"
        await until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    assert not psutil.pid_exists(int(pid_file.read_text()))
    assert snapshot(caller, begun["work"])["why"] == "interrupted"


async def test_a_budget_holds_for_all_runs_of_a_work(tmp_path: Path) -> None:
    repository(tmp_path, GATE.format(5) + "[budget]\nmax_turns = 2\n")
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        stopped = await reach(caller, begun["work"], "stopped")
        assert (stopped["state"], stopped["text"]) == ("over budget", "2 of 2 (max_turns)")
        with pytest.raises(Refused, match="max_turns"):
            await caller.ask(r.WorkRetry(begun["work"], environment()))


async def test_a_person_stops_a_gate_and_the_agent_with_it(tmp_path: Path) -> None:
    repository(tmp_path, '[gates]\ncheck = ["echo > ../there; sleep 900"]\n')
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        there = Path(begun["worktree"]).parent / "there"
        await until(there.exists)
        with pytest.raises(Refused, match="is being checked"):
            await caller.ask(r.WorkFinish(begun["work"]))
        answer = await caller.ask(r.WorkStop(begun["work"]))
        assert answer["state"] == "stopped"
        assert (await caller.ask(r.Status()))["runs"] == []


async def test_more_said_to_its_run_takes_a_work_up_again(tmp_path: Path) -> None:
    repository(tmp_path)
    async with daemon(tmp_path) as caller:
        begun = await start(caller)
        news = await reach(caller, begun["work"], "review")
        await caller.ask(r.Say(news["run"], "quick again"))
        await reach(caller, begun["work"], "review", after=news["pos"])
        with Reader.open(caller.home.database) as reader:
            taken_up = [each for each in reader.events(begun["work"]) if each["kind"] == "WorkTakenUp"]
        assert [each["payload"]["how"] for each in taken_up] == ["said"]


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_hundred_kills_leave_every_work_in_a_state_to_go_on_from(tmp_path: Path) -> None:
    project = repository(tmp_path, '[workspace]\nsetup = ["true"]\n' + GATE.format(1))
    process = None
    works: list[str] = []
    delays = [0.01 * (number * 37 % 100) for number in range(100)]
    home = Home(tmp_path / "home")
    try:
        for delay in delays:
            process = start_daemon(home)
            try:
                async with caller_of(home, project) as caller:
                    await caller.ask(r.Trust(str(project)))
                    for work in works[-1:]:
                        await _go_on(caller, work)
                    works.append((await start(caller))["work"])
                    # Random moments are what is tested here: nothing is waited for.
                    await anyio.sleep(delay)
                    kill_daemon(process)
            except (DevplaneError, BaseExceptionGroup):
                kill_daemon(process)
            process = None
        process = start_daemon(home)
        async with caller_of(home, project) as caller:
            rows = [snapshot(caller, each) for each in works]
            assert all(each["phase"] in ("stopped", "review", "finished") for each in rows)
            there = set(re.findall(r"^worktree (.*)", git(project, "worktree", "list", "--porcelain"), re.M))
            assert there <= {str(project), *(each["worktree"] for each in rows)}
            assert {each["worktree"] for each in rows if each["is_made"]} <= there
    finally:
        if process is not None:
            kill_daemon(process)


async def _go_on(caller: Caller, work: str) -> None:
    try:
        await caller.ask(r.WorkResume(work, environ=environment()))
    except DevplaneError:
        return
