"""Making a work's worktree: where it begins, and that nothing which stood in its place is harmed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from devplane.core.slugs import is_branch_name
from devplane.errors import DevplaneError, Refused
from devplane.worktrees.git import asked, git
from devplane.worktrees.registered import placed, registration, repository_of
from devplane.worktrees.removing import forget, is_made, unmake
from devplane.worktrees.state import STATUS, entries_of, own_commits

_REMOTE = "refs/remotes/origin/"


@dataclass(frozen=True, slots=True)
class Base:
    """Where a work begins."""

    branch: str | None
    """The branch that it is based on, without a remote's name; ``None`` for a commit of no branch."""
    ref: str
    """What was resolved: ``refs/remotes/origin/main``, ``refs/heads/main``, ``HEAD``."""
    commit: str


def base_of(root: Path, wanted: str | None) -> Base:
    """Return where a work in `root` begins: at the branch `wanted`, else at the default one.

    The default is what the remote ``origin`` calls its HEAD, else the branch that is checked out,
    else the commit that is. ``origin``'s version of a branch is taken, unless the local one is
    that and more. `wanted` may also be a tag or a commit.

    Raises:
        Refused: `root` is no repository, has no commit yet (case G-42), or has nothing of this name.
    """
    repository_of(root)
    if wanted is not None:
        return _wanted(root, wanted)
    default = asked(root, "symbolic-ref", "--quiet", f"{_REMOTE}HEAD")
    if default is not None and default.startswith(_REMOTE):
        found = _branch(root, default.removeprefix(_REMOTE))
        if found is not None:
            return found
    current = asked(root, "symbolic-ref", "--quiet", "HEAD")
    if current is not None and current.startswith("refs/heads/"):
        found = _branch(root, current.removeprefix("refs/heads/"))
        if found is not None:
            return found
    commit = _commit(root, "HEAD") if current is None else None
    if commit is None:
        raise _no_commit(root)
    return Base(None, "HEAD", commit)


def uncommitted(root: Path) -> tuple[str, ...]:
    """Return the tracked files of the checkout at `root` that are not as its last commit has them.

    Only for a trusted checkout: filters of its configuration run, as in a person's own ``git status``.

    Raises:
        GitFailed: It cannot be told.
        Refused: `root` is no repository.
    """
    repository_of(root)
    out = git(root, *STATUS, "--untracked-files=no", "--ignore-submodules=dirty")
    return tuple(path for kind, path in entries_of(out) if kind in "12u")


def make(root: Path, target: Path, branch: str, base: Base, environ: Mapping[str, str]) -> None:
    """Make a worktree of `root` at `target`, on a `branch` of its own that begins at `base`.

    Only for a trusted checkout: its hooks and filters run, with `environ`, as in a checkout that a
    person makes. An empty folder at `target` is used, and what a start that was cut short left
    there is cleared away first (cases G-36, G-43). A branch of that name is taken over when it is
    checked out nowhere and every commit of it is on another branch, a tag or a remote too: such a
    one is left over from a start, since names of works end in characters of their own.

    Raises:
        Refused: Something is in the place, or in the name; it is untouched.
        GitFailed: Git would not, a hook included; what was made is removed again.
    """
    repository_of(root)
    if not is_branch_name(branch):
        raise Refused(f"{branch!r} is not a name for a branch")
    target = placed(target)
    _clear(root, target, branch)
    _begin(root, branch, base)
    try:
        git(root, "worktree", "add", "--", str(target), branch, runs_hooks=True, environ=environ)
    except BaseException:
        with suppress(DevplaneError):
            unmake(root, target, branch)
        raise


def _clear(root: Path, target: Path, branch: str) -> None:
    """See that `target` is free, or refuse."""
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir()):
        kind = "a symbolic link" if target.is_symlink() else "a file"
        raise Refused(f"{target} is {kind}, where the worktree should be", hint=_MOVE_IT)
    entry = registration(root, target)
    if target.is_dir() and (held := sorted(os.listdir(target))):
        if entry is None:
            names = ", ".join(repr(name) for name in held[:3])
            more = f" and {len(held) - 3} more" if len(held) > 3 else ""
            raise Refused(f"{target} is not empty: it holds {names}{more}", hint=_MOVE_IT)
        if is_made(root, target):
            raise Refused(f"{target} is a worktree already", hint=f"See git worktree list in {root}.")
        unmake(root, target, branch)
    elif entry is not None:
        forget(root, target, entry, force=False)


_MOVE_IT = "Move it away, or delete it if it is not wanted, and start again."


def _begin(root: Path, branch: str, base: Base) -> None:
    """Make `branch` at `base`, or move one there that was left over."""
    ref = f"refs/heads/{branch}"
    found = git(root, "for-each-ref", "--format=%(refname) %(worktreepath)", ref).rstrip("\n")
    name, _, where = found.partition(" ")
    if name != ref:
        for parent in Path(branch).parents[:-1]:
            if _commit(root, f"refs/heads/{parent}") is not None:
                hint = f"Rename it: git branch -m {parent} NAME"
                raise Refused(f"the branch {parent} is in the way of {branch}", hint=hint)
        git(root, "branch", "--no-track", "--", branch, base.commit)
        return
    if where:
        raise Refused(f"the branch {branch} exists and is checked out at {where}")
    lost = own_commits(root, ref, branch=branch, held=[base.commit])
    if lost:
        raise Refused(
            f"the branch {branch} exists and has commits of its own ({len(lost)})",
            hint=f"Look at them with: git log {branch}, and keep them with: git branch -m {branch} NAME",
        )
    git(root, "branch", "--force", "--no-track", "--", branch, base.commit)


def _wanted(root: Path, wanted: str) -> Base:
    if not is_branch_name(wanted):
        raise Refused(f"{wanted!r} is not a name for a branch", hint="Correct base_branch in devplane.toml.")
    found = _branch(root, wanted)
    if found is None and (commit := _commit(root, wanted)):
        is_origin = wanted.startswith("origin/")
        found = Base(wanted.removeprefix("origin/") if is_origin else None, wanted, commit)
    if found is None and not git(root, "rev-list", "--all", "--max-count=1"):
        raise _no_commit(root)
    if found is None:
        raise Refused(
            f"there is no branch {wanted} in {root}, and none at origin that was fetched",
            hint="Correct base_branch in devplane.toml, or run git fetch.",
        )
    return found


def _branch(root: Path, name: str) -> Base | None:
    local, remote = _commit(root, f"refs/heads/{name}"), _commit(root, _REMOTE + name)
    if local and remote and local != remote:
        is_ahead = asked(root, "merge-base", "--is-ancestor", remote, local) is not None
        remote = None if is_ahead else remote
    if remote:
        return Base(name, _REMOTE + name, remote)
    return Base(name, f"refs/heads/{name}", local) if local else None


def _commit(root: Path, name: str) -> str | None:
    return asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")


def _no_commit(root: Path) -> Refused:
    return Refused(
        f"{root} has no commit yet, so no work can begin there",
        hint="Make a first commit, or work in place with --no-worktree.",
    )
