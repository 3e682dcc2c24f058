"""Which checkout owns a directory, with real git folders and forged ones."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from devplane.worktrees.checkout import root_of


def git(where: Path, *arguments: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(where),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", *arguments], cwd=where, env=env, check=True, capture_output=True)


def repository(folder: Path, *, config: bool = False) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    if config:
        (folder / "devplane.toml").write_text("")
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def project(base: Path) -> Path:
    return repository(base / "project")


@pytest.fixture
def worktree(base: Path, project: Path) -> Path:
    git(project, "worktree", "add", "-q", str(base / "elsewhere" / "wt"))
    return base / "elsewhere" / "wt"


def test_a_directory_in_a_checkout_belongs_to_it(project: Path) -> None:
    (project / "a" / "b").mkdir(parents=True)
    assert root_of(project / "a" / "b") == project
    assert root_of(project) == project
    assert root_of(project / ".git" / "hooks") == project


def test_a_file_and_a_path_that_is_not_there_yet_belong_where_they_would_be(project: Path) -> None:
    (project / "file").write_text("")
    assert root_of(project / "file") == project
    assert root_of(project / "not" / "yet") == project


def test_a_symbolic_link_to_a_checkout_names_the_checkout(base: Path, project: Path) -> None:
    (base / "link").symlink_to(project)
    assert root_of(base / "link") == project


def test_a_linked_worktree_answers_to_its_owner(project: Path, worktree: Path) -> None:
    (worktree / "deep").mkdir()
    assert root_of(worktree) == project
    assert root_of(worktree / "deep") == project


def test_a_worktree_with_relative_links_answers_to_its_owner(project: Path, worktree: Path) -> None:
    inner = project / ".git" / "worktrees" / "wt"
    (worktree / ".git").write_text(f"gitdir: {os.path.relpath(inner, worktree)}\n")
    (inner / "gitdir").write_text(os.path.relpath(worktree / ".git", inner) + "\n")
    assert root_of(worktree) == project


def test_a_worktree_does_not_answer_to_the_devplane_toml_on_its_own_branch(
    project: Path, worktree: Path
) -> None:
    (worktree / "devplane.toml").write_text("")
    assert root_of(worktree) == project


def test_a_git_file_that_borrows_anothers_worktree_is_an_ordinary_directory(
    base: Path, worktree: Path
) -> None:
    evil = base / "evil"
    evil.mkdir()
    shutil.copy(worktree / ".git", evil / ".git")
    assert root_of(evil) == evil


def test_a_moved_copy_of_a_worktree_is_not_taken_for_it(base: Path, worktree: Path) -> None:
    shutil.copytree(worktree, base / "copy")
    assert root_of(base / "copy") == base / "copy"


def test_a_forged_git_folder_that_names_a_trusted_one_as_its_common_folder_gains_nothing(
    base: Path, project: Path
) -> None:
    evil, fake = base / "evil", base / "evil" / "fake" / "worktrees" / "x"
    fake.mkdir(parents=True)
    (evil / ".git").write_text(f"gitdir: {fake}\n")
    (fake / "gitdir").write_text(f"{evil}/.git\n")
    (fake / "commondir").write_text(f"{project}/.git\n")
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    assert root_of(evil) == evil


@pytest.mark.parametrize(
    "content", ["", "gitdir:\n", "gitdir: /nowhere\n", "nonsense", "gitdir: ../project/.git\n"]
)
def test_a_forged_git_file_falls_through_to_the_checkout_around_it(
    base: Path, project: Path, content: str
) -> None:
    inner = project / "vendor" / "lib"
    inner.mkdir(parents=True)
    (inner / ".git").write_text(content)
    (inner / "devplane.toml").write_text("")
    assert root_of(inner) == project


def test_a_git_file_that_points_at_another_checkout_does_not_become_it(base: Path, project: Path) -> None:
    evil = base / "evil"
    evil.mkdir()
    (evil / ".git").write_text(f"gitdir: {project}/.git\n")
    assert root_of(evil) == evil


def test_an_empty_git_folder_is_no_checkout(project: Path) -> None:
    (project / "sub" / ".git").mkdir(parents=True)
    assert root_of(project / "sub") == project


def test_a_pipe_in_the_place_of_a_git_file_holds_nobody_up(project: Path) -> None:
    (project / "sub").mkdir()
    os.mkfifo(project / "sub" / ".git")
    assert root_of(project / "sub") == project


def test_a_nested_checkout_does_not_escape_the_outermost_that_is_configured(base: Path) -> None:
    outer = repository(base / "outer", config=True)
    middle = repository(outer / "middle", config=True)
    inner = repository(middle / "inner", config=True)
    assert root_of(inner) == outer


def test_a_nested_checkout_is_its_own_when_none_around_it_is_configured(base: Path) -> None:
    inner = repository(repository(base / "outer") / "inner", config=True)
    assert root_of(inner) == inner


def test_a_checkout_made_inside_a_worktree_answers_to_the_worktrees_configured_owner(
    project: Path, worktree: Path
) -> None:
    (project / "devplane.toml").write_text("")
    inner = repository(worktree / "inner", config=True)
    git(inner, "worktree", "add", "-q", str(worktree / "second"))
    assert root_of(inner) == project
    assert root_of(worktree / "second") == project


def test_a_submodule_is_a_checkout_and_its_worktree_answers_to_it(base: Path, project: Path) -> None:
    library = repository(base / "library")
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    assert root_of(project / "sub") == project / "sub"
    git(project / "sub", "worktree", "add", "-q", str(base / "sub-wt"))
    assert root_of(base / "sub-wt") == project / "sub"
    (project / "devplane.toml").write_text("")
    assert root_of(base / "sub-wt") == project


def test_a_worktree_of_a_bare_repository_has_no_owner_but_itself(base: Path, project: Path) -> None:
    git(base, "clone", "-q", "--bare", str(project), "bare.git")
    git(base / "bare.git", "worktree", "add", "-q", str(base / "wt"), "main")
    assert root_of(base / "wt") == base / "wt"


def test_without_git_the_nearest_devplane_toml_governs(base: Path) -> None:
    deep = base / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert root_of(deep) == deep
    (base / "a" / "devplane.toml").write_text("")
    assert root_of(deep) == base / "a"
    (deep.parent / "devplane.toml").write_text("")
    assert root_of(deep) == deep.parent
