"""Removing a work's worktree: what would be lost is named first, and nothing else is touched (case G-44)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from devplane.core.slugs import is_branch_name
from devplane.core.text import one_line
from devplane.errors import Refused
from devplane.worktrees.checkout import git_folders
from devplane.worktrees.git import GitFailed, asked, filters_off, git
from devplane.worktrees.registered import placed, registration, repository_of, short_text
from devplane.worktrees.state import (
    FIRST,
    STATUS,
    Counted,
    TreeState,
    entries_of,
    own_commits,
    state_of,
    unpushed,
)

NAME_LIMIT_CHARS = 80


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal did beyond the worktree itself."""

    ignored: Counted
    """Ignored files and folders that went with it."""
    branch_deleted: bool


def losses(state: TreeState, *, branch_stays: bool = False) -> tuple[str, ...]:
    """Return one plain line for each thing that would be lost with the worktree and its branch.

    `branch_stays`: only the worktree is to go, so what its branches hold is not lost.
    Ignored files are no loss: they are what a build makes again.
    """
    lost = []
    if state.operation:
        lost.append(f"an unfinished {state.operation}")
    if state.changed:
        said = _named("changed file", Counted.of(state.changed))
        if state.filters_off:
            said += f" (the repository's filters were not run: {', '.join(state.filters_off)})"
        lost.append(said)
    if state.untracked:
        lost.append(_named("untracked file", Counted.of(state.untracked)))
    if state.repositories:
        inside = Counted.of(state.repositories)
        lost.append(_named("repository of its own", inside, "repositories of their own"))
    if state.stranded:
        lost.append(_named("commit on no branch", state.stranded, "commits on no branch"))
    if state.unpushed and not branch_stays:
        kind = "that is neither pushed nor merged"
        lost.append(_named(f"commit {kind}", state.unpushed, f"commits {kind.replace('is', 'are')}"))
    if state.stashes:
        lost.append(_named("stash", Counted.of(state.stashes), "stashes"))
    return tuple(lost)


def remove(
    root: Path,
    target: Path,
    branch: str,
    *,
    base_commit: str,
    base_branch: str | None = None,
    included: Collection[str] = (),
    force: bool,
    delete_branch: bool,
) -> Removed:
    """Remove the worktree of `root` at `target` and, if asked, its `branch`.

    `base_commit`, `base_branch` and `included`: as in `state_of`. A worktree that is gone
    already is no error. No link is followed, and no other worktree is touched.

    Raises:
        Refused: Something would be lost, and not `force`; or `target` is no worktree of `root`.
        GitFailed: What it holds cannot be told, and not `force`; or git would not, as for one
            that is locked.
    """
    _check_branch(branch)
    target = placed(target)
    entry = registration(root, target)
    tip = _tip(root, target, branch) if delete_branch else None
    ignored = Counted()
    if entry is not None and _is_folder(target) and os.listdir(target):
        try:
            state = state_of(target, branch, base_commit, root, base_branch=base_branch, included=included)
        except GitFailed:
            if not force:
                raise
        else:
            ignored = state.ignored
            if not force:
                _refuse(target, losses(state, branch_stays=not delete_branch))
        if force:
            _remove_entry(root, target, entry)
        else:
            _remove_checked(root, target)
    elif os.path.lexists(target) and (entry is None or not _is_folder(target)):
        raise Refused(
            f"{target} is not a worktree of {root}, so it is left alone",
            hint="If nothing in it is wanted, delete it by hand.",
        )
    else:
        if tip and not force:
            _refuse_branch(branch, unpushed(root, [tip], branch, base_commit, base_branch))
        if entry is not None:
            forget(root, target, entry, force=force)
    if tip:
        git(root, "branch", "-D", "--", branch)
    return Removed(ignored, tip is not None)


def is_made(root: Path, target: Path) -> bool:
    """Say whether there is a whole worktree of `root` at `target`: git finished making it (case G-36).

    Raises:
        Refused: `root` is not a repository.
    """
    entry = registration(root, target)
    return entry is not None and _is_whole(target, entry)


def unmake(root: Path, target: Path, branch: str) -> None:
    """Remove what a start that was cut short left behind: folder, registration and branch (case G-36).

    Right for every point at which git can have been killed, and where there is nothing at all.

    Raises:
        Refused: Something is there that the start did not put there; nothing was removed.
        GitFailed: It could not be told, or git would not.
    """
    _check_branch(branch)
    target = placed(target)
    common = repository_of(root)
    entry = registration(root, target)
    tip = _tip(root, target, branch)
    if os.path.lexists(target) and not _is_folder(target):
        raise Refused(f"{target} is not a folder, so no start of a work made it")
    if tip is not None:
        head = asked(root, "rev-parse", "--verify", "--quiet", "HEAD")
        _refuse_branch(branch, own_commits(root, tip, branch=branch, held=[head] if head else []))
    if target.is_dir() and os.listdir(target):
        _refuse(target, _kept(root, target, entry, branch, tip))
    if entry is not None:
        _remove_entry(root, target, entry)
    elif target.is_dir():
        target.rmdir()
    _remove_stub(common / "worktrees" / target.name)
    if tip is not None:
        git(root, "branch", "-D", "--", branch)


def forget(root: Path, target: Path, entry: Path, *, force: bool) -> None:
    """Take `entry`, the registration of a worktree whose folder is gone, out of git's books alone (G-43).

    Raises:
        Refused: It alone holds commits, and not `force`.
        GitFailed: Git would not, as for one that a person locked.
    """
    at = asked(root, "rev-parse", "--verify", "--quiet", f"worktrees/{entry.name}/HEAD^{{commit}}")
    if at is not None and not force:
        lost = Counted.of(own_commits(root, at, branch=None))
        if lost:
            raise Refused(
                f"the worktree at {target} is gone, and its commits are on no branch: {_listed(lost)}",
                hint=f"Keep them with: git branch NAME {at[:12]}",
            )
    _remove_entry(root, target, entry)


def _remove_entry(root: Path, target: Path, entry: Path) -> None:
    """Remove the worktree at `target`, whole, begun or gone; what is lost with it was looked at."""
    if target.is_dir() and set(os.listdir(target)) <= {".git"}:
        # Git will not remove one that it had only begun to write down, but takes it for gone.
        with suppress(FileNotFoundError):
            (target / ".git").unlink()
        target.rmdir()
    # Git locks a worktree while it makes it; a lock with any other reason is a person's.
    twice = ("--force",) if _is_locked_by_git(entry) else ()
    git(root, "worktree", "remove", "--force", *twice, "--", str(target))


def _remove_checked(root: Path, target: Path) -> None:
    """Remove a worktree that holds nothing to lose; git looks once more."""
    settings = filters_off(root)
    try:
        git(root, "worktree", "remove", "--", str(target), settings=settings)
    except GitFailed as error:
        # It has a person force whatever has submodules, empty ones too; what is in them was looked at.
        if "containing submodules" not in str(error):
            raise
        git(root, "worktree", "remove", "--force", "--", str(target))


def _kept(root: Path, target: Path, entry: Path | None, branch: str, tip: str | None) -> tuple[str, ...]:
    """Name what lies in `target` and was not put there by the start of a work."""
    held = Counted.of(sorted(os.listdir(target)))
    if entry is not None and _is_whole(target, entry):
        at = tip or git(target, "rev-parse", "--verify", "HEAD").strip()
        return losses(state_of(target, branch, at, root))
    if entry is not None and held.first == (".git",) and (target / ".git").is_file():
        return ()
    if entry is None or tip is None or not _is_linked(target, entry):
        return (_named("file", held),)
    return _foreign(target, tip)


def _is_whole(target: Path, entry: Path) -> bool:
    return _is_linked(target, entry) and os.path.lexists(entry / "index") and not _is_locked_by_git(entry)


def _is_linked(target: Path, entry: Path) -> bool:
    found = git_folders(target)
    return found is not None and os.path.samefile(found[0], entry)


def _is_locked_by_git(entry: Path) -> bool:
    return (short_text(entry / "locked") or "").strip() == "initializing"


def _foreign(target: Path, commit: str) -> tuple[str, ...]:
    """Name what lies in a half-checked-out `target` and is not from `commit`.

    Its index may not be there yet, so another is made to compare with. A file that git was
    writing is the beginning of the one in the commit: nothing is lost with it.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        git(target, "read-tree", commit, index=index)
        options = ("--untracked-files=normal", "--ignore-submodules=dirty")
        entries = entries_of(git(target, *STATUS, *options, index=index))
    found = [path for kind, path in entries if kind == "?" or not _is_begun(target, path, commit)]
    return (_named("file that is not from the commit", Counted.of(found), _NOT_FROM),) if found else ()


_NOT_FROM = "files that are not from the commit"


def _is_begun(target: Path, path: str, commit: str) -> bool:
    file = target / path
    if not os.path.lexists(file):
        return True
    if file.is_symlink() or not file.is_file():
        return False
    content = file.read_bytes()
    return os.fsencode(git(target, "cat-file", "--filters", f"{commit}:{path}")).startswith(content)


def _remove_stub(folder: Path) -> None:
    """Remove git's own folder of a worktree that it was killed before naming; nothing else looks for it."""
    with suppress(OSError):
        if not folder.is_symlink() and os.listdir(folder) == ["locked"] and _is_locked_by_git(folder):
            (folder / "locked").unlink()
            folder.rmdir()


def _is_folder(target: Path) -> bool:
    return target.is_dir() and not target.is_symlink()


def _tip(root: Path, target: Path, branch: str) -> str | None:
    """Return the commit of `branch`, which is to be deleted; ``None`` when there is none of this name."""
    ref = f"refs/heads/{branch}"
    found = git(root, "for-each-ref", "--format=%(objectname) %(refname) %(worktreepath)", ref).rstrip("\n")
    commit, _, rest = found.partition(" ")
    name, _, where = rest.partition(" ")
    if name != ref:
        return None
    if where and placed(Path(where)) != target:
        raise Refused(f"the branch {branch} is checked out at {where}, so it cannot be deleted")
    return commit


def _check_branch(branch: str) -> None:
    if not is_branch_name(branch):
        raise Refused(f"{branch!r} is not a name for a branch")


def _refuse_branch(branch: str, lost: list[str]) -> None:
    if lost:
        said = _named("commit of its own", Counted.of(lost), "commits of its own")
        raise Refused(f"the branch {branch} has {said}", hint=f"Look at them with: git log {branch}")


def _refuse(target: Path, lost: tuple[str, ...]) -> None:
    if lost:
        raise Refused(
            f"{target} was not removed, since it holds " + "; ".join(lost),
            hint="Commit and push what is to stay, or force the removal.",
        )


def _named(kind: str, what: Counted, plural: str | None = None) -> str:
    return f"{what.count} {kind if what.count == 1 else plural or kind + 's'}: {_listed(what)}"


def _listed(what: Counted) -> str:
    shown = [one_line(each, NAME_LIMIT_CHARS) for each in what.first[:FIRST]]
    more = what.count - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
