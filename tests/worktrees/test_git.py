"""Running git: what it may start, how long it may take, and what its failures say."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from devplane import children
from devplane.errors import DevplaneError
from devplane.worktrees import git as module
from devplane.worktrees.git import GitFailed, asked, fields, filters_off, git
from tests.worktrees import repo


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repo.build(tmp_path_factory.mktemp("git") / "project")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return repo.isolate(monkeypatch, tmp_path)


@pytest.fixture
def root(base: Path, template: Path) -> Path:
    return repo.copy(template, base / "project")


def fake(base: Path, body: str) -> dict[str, str]:
    """Return an environment in which git is this shell script."""
    repo.script(base / "bin" / "git", body)
    return {"PATH": f"{base}/bin:{os.environ['PATH']}"}


def lines(base: Path, body: str, **given: str) -> list[str]:
    return git(base, "status", environ=fake(base, body) | given).splitlines()


def test_an_answer_comes_back_as_git_printed_it(root: Path) -> None:
    assert fields(git(root, "ls-files", "-z")) == [".gitignore", "README", "app.py"]
    assert fields("") == []


def test_a_name_that_is_not_utf8_leads_to_its_file(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_text("")
    (found,) = fields(git(root, "ls-files", "--others", "-z"))
    assert (root / found).exists()


def test_a_failure_names_the_verb_and_ends_in_gits_own_words(base: Path) -> None:
    """G-43: git's own message is part of every failure."""
    with pytest.raises(GitFailed, match=r"^git status: fatal: not a git repository") as caught:
        git(base, "status")
    assert caught.value.status == 128
    assert isinstance(caught.value, DevplaneError)


def test_a_failure_without_a_word_says_that_there_was_none(base: Path) -> None:
    """G-43: status 128 with no text."""
    with pytest.raises(GitFailed, match=r"^git worktree add ended with status 128 and said nothing$"):
        git(base, "worktree", "add", environ=fake(base, "exit 128"))


def test_a_failure_by_a_signal_names_it(base: Path) -> None:
    with pytest.raises(GitFailed, match=r"^git status was ended by SIGKILL; it said: so far$") as caught:
        git(base, "status", environ=fake(base, "echo so far >&2; kill -9 $$"))
    assert caught.value.status == -signal.SIGKILL


def test_hints_and_progress_are_no_part_of_a_failure_and_control_characters_are_shown(base: Path) -> None:
    body = r"printf 'Preparing\n10%%\r20%%\rfatal: no \033[2Jway\n\nuse that\nhint: do\n' >&2; exit 1"
    with pytest.raises(GitFailed) as caught:
        git(base, "status", environ=fake(base, body))
    assert str(caught.value) == "git status: fatal: no ␛[2Jway use that"


def test_a_long_failure_is_cut(base: Path) -> None:
    with pytest.raises(GitFailed, match="characters cut") as caught:
        git(base, "status", environ=fake(base, "printf 'fatal: %02000d' 0 >&2; exit 1"))
    assert len(str(caught.value)) < 700


def test_what_a_script_said_last_is_told_when_git_itself_said_nothing(base: Path) -> None:
    body = "for n in 1 2 3 4 5 6 7 8; do echo $n >&2; done; exit 3"
    with pytest.raises(GitFailed, match=r"^git status: 3 4 5 6 7 8$"):
        git(base, "status", environ=fake(base, body))


def test_without_git_on_path_the_error_says_so(base: Path) -> None:
    with pytest.raises(GitFailed, match="no git on PATH") as caught:
        git(base, "status", environ={"PATH": str(base)})
    assert caught.value.hint


def test_a_git_in_the_repository_is_not_run_for_a_path_that_names_the_folder_one_stands_in(
    root: Path,
) -> None:
    repo.script(root / "git", "echo it ran")
    environ = {"PATH": f".::{os.environ['PATH']}"}
    assert git(root, "rev-parse", "--abbrev-ref", "HEAD", environ=environ) == "main\n"


def test_a_folder_that_is_gone_is_named(base: Path) -> None:
    with pytest.raises(GitFailed, match=f"cannot run in {base}/gone: No such file"):
        git(base / "gone", "status")


def test_git_variables_of_the_caller_are_not_passed_on(root: Path, base: Path) -> None:
    given = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_CONFIG_PARAMETERS": "x"}
    assert git(root, "rev-parse", "HEAD", environ=dict(os.environ) | given)
    seen = lines(base, "env", **given, KEPT="yes")
    assert "KEPT=yes" in seen
    assert not [line for line in seen if line.startswith(tuple(given))]


def test_git_takes_no_lock_it_can_do_without_and_asks_nobody(base: Path) -> None:
    """Lessons 183 and 184."""
    seen = lines(base, "env; cat; ps -o sid= -p $$; echo $$", SSH_ASKPASS="/usr/bin/ask", GIT_ASKPASS="ask")
    for line in ("GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "LC_ALL=C"):
        assert line in seen
    assert seen[-1].strip() == seen[-2].strip()  # it leads a session of its own, which has no terminal


def test_only_a_caller_that_says_so_lets_hooks_and_transports_run(base: Path) -> None:
    environ = fake(base, "env; echo $@")
    inert = git(base, "status", environ=environ)
    assert "core.fsmonitor=false" in inert
    assert "core.hooksPath=/dev/null" in inert
    assert "GIT_ALLOW_PROTOCOL=none" in inert
    trusting = git(base, "status", environ=environ, runs_hooks=True)
    assert "core.fsmonitor=false" in trusting
    assert "hooksPath" not in trusting
    assert "GIT_ALLOW_PROTOCOL" not in trusting


def test_what_a_partial_clone_lacks_is_not_fetched_by_a_program_of_its_configuration(root: Path) -> None:
    """Lesson 184: git would run the remote's `uploadpack`."""
    marker = root / "ran"
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(root),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": f"touch {marker}; false",
    }.items():
        repo.git(root, "config", key, value)
    missing = "12" * 20
    with pytest.raises(GitFailed):
        git(root, "cat-file", "-p", missing)
    assert not marker.exists()
    repo.git(root, "cat-file", "-p", missing, may_fail=True)
    assert marker.exists()  # else this would show nothing


def test_a_folder_without_a_repository_is_not_taken_for_part_of_one_around_it(root: Path) -> None:
    (root / "inner").mkdir()
    with pytest.raises(GitFailed, match="not a git repository"):
        git(root / "inner", "status")


def test_a_no_is_told_from_a_failure(root: Path) -> None:
    assert asked(root, "symbolic-ref", "--quiet", "HEAD") == "refs/heads/main"
    assert asked(root, "rev-parse", "--verify", "--quiet", "refs/heads/none") is None
    with pytest.raises(GitFailed):
        asked(root, "rev-list", "refs/heads/none")


def test_too_much_output_is_a_failure(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTPUT_LIMIT_BYTES", 1 << 20)
    with pytest.raises(GitFailed, match="more than 1 MiB"):
        git(base, "status", environ=fake(base, "head -c 1048577 /dev/zero"))


def sleepers(name: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if name in " ".join(each.info["cmdline"] or [])]


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TERM_GRACE_S", 0.1)
    sleeper = repo.script(base / "sleeper", "trap '' TERM; while :; do sleep 1; done")
    environ = fake(base, f"trap '' TERM; echo waiting >&2; {sleeper} & {sleeper}")
    with pytest.raises(GitFailed, match=r"took longer than 0.5 s and was ended; it said: waiting") as caught:
        git(base, "status", environ=environ, timeout_s=0.5)
    assert caught.value.status is None
    ends = time.monotonic() + 10
    while (left := [each for each in sleepers(str(sleeper)) if each.status() != psutil.STATUS_ZOMBIE]) and (
        time.monotonic() < ends
    ):
        time.sleep(0.01)
    assert left == []
    assert set() == children.OWN


def test_what_a_hook_leaves_running_holds_nobody_up(base: Path) -> None:
    """G-31: it has git's outputs open."""
    sleeper = repo.script(base / "sleeper", "exec sleep 55")
    said = git(base, "status", environ=fake(base, f"{sleeper} & echo $!"))
    child = psutil.Process(int(said))
    assert child.is_running()
    child.kill()


def test_an_interrupt_ends_git(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def interrupt(_: float) -> None:
        seen.extend(children.OWN)
        monkeypatch.undo()
        raise KeyboardInterrupt

    environ = fake(base, "sleep 60")
    monkeypatch.setattr(time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        git(base, "status", environ=environ)
    assert not psutil.pid_exists(seen[0])
    assert set() == children.OWN


def test_a_status_that_somebody_else_took_is_unknown_and_not_success(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lesson 186."""
    real = os.waitpid

    def taken(pid: int, _: int) -> tuple[int, int]:
        real(pid, 0)
        raise ChildProcessError

    monkeypatch.setattr(os, "waitpid", taken)
    with pytest.raises(GitFailed, match="cannot be told"):
        git(base, "status", environ=fake(base, "exit 1"))


def test_filters_of_the_repository_are_switched_off_and_a_persons_own_are_not(root: Path, base: Path) -> None:
    """Lesson 179, with a name that ends a setting on a command line early."""
    assert filters_off(root) == {}
    repo.git(root, "config", "--global", "filter.lfs.clean", "cat")
    repo.git(root, "config", "filter.a=b .clean", f"touch {base}/ran; cat")
    repo.git(root, "config", "filter.a=b .required", "true")
    off = filters_off(root)
    assert set(off) == {f"filter.a=b .{key}" for key in ("clean", "smudge", "process", "required")}
    (root / ".gitattributes").write_text('"README" "filter=a=b "\nREADME filter=a=b\n')
    assert git(root, "config", "filter.a=b .clean", settings=off) == "\n"
    assert git(root, "config", "filter.lfs.clean", settings=off) == "cat\n"
