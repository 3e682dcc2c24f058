"""Which of git's own folders belongs to a worktree, alive or dead, by the files that say so."""

from __future__ import annotations

import os
from pathlib import Path

from devplane.errors import Refused
from devplane.files import Unreadable, read_text
from devplane.worktrees.checkout import git_folders
from devplane.worktrees.git import GitFailed, asked


def repository_of(root: Path) -> Path:
    """Return the folder that git keeps for the checkout at `root` and its worktrees.

    Raises:
        Refused: `root` is not a checkout of a repository.
    """
    found = git_folders(root)
    if found is None:
        raise Refused(
            f"{root} is not a git repository, so nothing can have a worktree of its own there",
            hint="Run git init and make a first commit, or work in place with --no-worktree.",
        )
    return found[1]


def own_folder(root: Path, worktree: Path) -> Path:
    """Return git's own folder of the linked `worktree` of `root`.

    Raises:
        GitFailed: There is no such worktree, or its ``.git`` leads elsewhere: what git says
            there would be about another tree.
        Refused: `root` is not a repository.
    """
    common = repository_of(root)
    if not os.path.isdir(worktree):
        raise GitFailed(f"there is no folder {worktree}")
    found = git_folders(worktree)
    if found is None or found[1] != common or found[0] == common:
        raise GitFailed(
            f"{worktree} is not a worktree of {root}, whatever its .git says",
            hint=f"git worktree repair {worktree}, run in {root}, may mend it.",
        )
    top = asked(worktree, "rev-parse", "--show-toplevel")
    if top is None or os.path.realpath(top) != os.path.realpath(worktree):
        raise GitFailed(f"git takes {worktree} for {top}: its configuration leads elsewhere")
    return found[0]


def registration(root: Path, target: Path) -> Path | None:
    """Return git's own folder of the worktree that is registered at `target`, alive or dead.

    Read from the files, not from ``git worktree list``: its answer cannot be told apart for
    every name by every git that is in use.
    """
    folder = repository_of(root) / "worktrees"
    wanted = placed(target) / ".git"
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    for name in names:
        text = short_text(folder / name / "gitdir")
        if text and placed(folder / name / text.rstrip("\n")) == wanted:
            return folder / name
    return None


def placed(path: Path) -> Path:
    """Return `path` with the links above it resolved, and not its own."""
    return Path(os.path.realpath(path.parent)) / path.name


def short_text(file: Path) -> str | None:
    """Return the text of one of git's small files; ``None`` when it is missing or no such file."""
    try:
        return read_text(file)
    except Unreadable:
        return None
