"""What a work's worktree holds at this moment, read so that nothing in it is run or changed.

What cannot be read is an error, never "clean" (lesson 186).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from devplane.core.slugs import is_branch_name
from devplane.worktrees.git import GitFailed, asked, fields, filters_off, git
from devplane.worktrees.registered import own_folder, short_text

FIRST = 10
"""How many names or subjects are kept of what is only counted."""

Operation = Literal["rebase", "am", "merge", "cherry-pick", "revert", "bisect"]
Reach = Literal["remote", "local only", "no remote"]

_MARKS: tuple[tuple[str, Operation], ...] = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
"""Files in git's folder and what they are a sign of, the outermost first: a rebase picks commits too."""
_RENAMED = re.compile(r"Branch: renamed refs/heads/(\S+) to refs/heads/(\S+)")
_STASHED_ON = re.compile(r"(?:WIP on|On) ([^:]+): ")
STATUS = ("status", "--porcelain=v2", "-z", "--no-renames")
_FIELDS_BEFORE_PATH = {"1": 8, "2": 9, "u": 10}
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Counted:
    """How many there are, and the first of them."""

    count: int = 0
    first: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Collection[str]) -> Counted:
        return cls(len(names), tuple(names)[:FIRST])

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(frozen=True, slots=True)
class TreeState:
    """A worktree as it is. Paths are relative to it, with forward slashes; folders end in one."""

    branch: str
    """The branch that the work was given."""
    head: str | None
    """The branch that is checked out; ``None`` when HEAD is detached."""
    commit: str | None
    """What HEAD is at; ``None`` on a branch without a commit."""
    operation: Operation | None
    """What git was left in the middle of."""
    changed: tuple[str, ...]
    """Tracked files that are staged, modified, deleted or in conflict."""
    untracked: tuple[str, ...]
    ignored: Counted
    """Ignored files and folders, without those that Devplane copied."""
    repositories: tuple[str, ...]
    """Folders that are repositories of their own: what is in them is no part of any commit here."""
    stashes: tuple[str, ...]
    """Stashes made on its branches: ``stash@{0} (WIP on …)``. They belong to the repository."""
    unpushed: Counted
    """Subjects of the commits since the base, newest first, that no remote and no base branch has."""
    stranded: Counted
    """Subjects of the commits that no branch, tag or remote holds, only this worktree's HEAD."""
    ahead: int
    """Commits of HEAD since the base."""
    reach: Reach
    """Whether some remote is known to have HEAD's commit."""
    branch_exists: bool
    renamed_to: str | None
    """What `branch` is called by now, where git's own record of HEAD tells."""
    filters_off: tuple[str, ...] = ()
    """Filters of the repository's configuration that were not run: see `git.filters_off`."""

    @property
    def has_moved(self) -> bool:
        """Whether something other than the work's branch is checked out (case G-45)."""
        return self.head != self.branch


@dataclass(frozen=True, slots=True)
class DiffSummary:
    """Tracked files against a commit; a file that is not text counts without lines."""

    files: int
    insertions: int
    deletions: int


def state_of(
    worktree: Path,
    branch: str,
    base_commit: str,
    root: Path,
    *,
    base_branch: str | None = None,
    included: Collection[str] = (),
) -> TreeState:
    """Read the worktree of a work whose `branch` began at `base_commit` (cases G-44, G-45).

    `base_branch`: the branch of the main checkout that its commits end up in; the one that is
    checked out at `root` when ``None``. `included`: paths that Devplane copied into it.

    Raises:
        GitFailed: It is missing, is no worktree of `root`, or cannot be read.
        Refused: `root` is not a repository.
    """
    own = own_folder(root, worktree)
    _check(base_commit)
    off = filters_off(worktree)
    read = _status(worktree, off)
    head_ref = asked(worktree, "symbolic-ref", "--quiet", "HEAD")
    head = head_ref.removeprefix("refs/heads/") if head_ref else None
    hidden, repositories = _index(worktree)
    names = _names(worktree, branch, read.commit)
    tips = [*([read.commit] if read.commit else []), *([f"refs/heads/{branch}"] if names.exists else [])]
    since = set(git(worktree, "rev-list", *tips, f"^{base_commit}", "--").split()) if tips else set()
    stranded = (
        _subjects(worktree, [read.commit], ["--branches", "--tags", "--remotes"])
        if head is None and read.commit
        else []
    )
    return TreeState(
        branch=branch,
        head=head,
        commit=read.commit,
        operation=_operation(own),
        changed=tuple(sorted({*read.changed, *hidden})),
        untracked=tuple(read.untracked),
        ignored=Counted.of([each for each in read.ignored if not _is_included(worktree, each, included)]),
        repositories=tuple(repositories),
        stashes=_stashes(worktree, {*names.ever, head}, since) if names.has_stash else (),
        unpushed=Counted.of(unpushed(root, tips, branch, base_commit, base_branch)),
        stranded=Counted.of(stranded),
        ahead=_ahead(worktree, base_commit, read.commit),
        reach=_reach(worktree, read.commit),
        branch_exists=names.exists,
        renamed_to=names.renamed_to,
        filters_off=tuple(sorted({name.split(".", 1)[1].rpartition(".")[0] for name in off})),
    )


def diff_summary(worktree: Path, base_commit: str) -> DiffSummary:
    """Count what tracked files in `worktree` add to and take from `base_commit`, committed or not.

    Raises:
        GitFailed: It cannot be read.
    """
    _check(base_commit)
    runs_nothing = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    wanted = ("--numstat", "-z", "--no-renames", base_commit, "--")
    out = git(worktree, "diff", *runs_nothing, *wanted, settings=filters_off(worktree))
    rows = [entry.split("\t", 2) for entry in fields(out)]
    return DiffSummary(
        len(rows),
        sum(int(added) for added, _, _ in rows if added != "-"),
        sum(int(taken) for _, taken, _ in rows if taken != "-"),
    )


def unpushed(
    root: Path, tips: Iterable[str], branch: str, base_commit: str, base_branch: str | None
) -> list[str]:
    """Return subjects of the commits of `tips` since the base that no remote and no base branch has."""
    return _subjects(root, tips, ["--remotes", base_commit, *_base_refs(root, base_branch, branch)])


def own_commits(root: Path, tip: str, *, branch: str | None, held: Iterable[str] = ()) -> list[str]:
    """Return subjects of commits of `tip` that no tag, remote or branch but `branch` holds, nor `held`."""
    spared = [f"--exclude={branch}"] if branch else []
    return _subjects(root, [tip], [*spared, "--branches", "--tags", "--remotes", *held])


@dataclass(frozen=True, slots=True)
class _Status:
    commit: str | None
    changed: list[str]
    untracked: list[str]
    ignored: list[str]


def _status(worktree: Path, off: Mapping[str, str]) -> _Status:
    options = ("--untracked-files=normal", "--ignored=traditional", "--ignore-submodules=dirty")
    found = _Status(None, [], [], [])
    commit: str | None = None
    for kind, rest in entries_of(git(worktree, *STATUS, "--branch", *options, settings=off)):
        if kind in "12u":
            found.changed.append(rest)
        elif kind == "?":
            found.untracked.append(rest)
        elif kind == "!":
            found.ignored.append(rest)
        elif rest.startswith("branch.oid "):
            commit = rest.removeprefix("branch.oid ")
    return _Status(commit if commit != "(initial)" else None, found.changed, found.untracked, found.ignored)


def entries_of(status: str) -> list[tuple[str, str]]:
    """Return what `STATUS` printed as pairs of an entry's kind and its path (``#``: its header)."""
    entries = []
    lines = iter(fields(status))
    for line in lines:
        kind = line[0]
        entries.append((kind, line.split(" ", _FIELDS_BEFORE_PATH.get(kind, 1))[-1]))
        if kind == "2":
            next(lines)  # where it was renamed from
    return entries


def _index(worktree: Path) -> tuple[list[str], list[str]]:
    """Return changed files that the index hides from git's status, and repositories inside the worktree."""
    hidden, repositories = [], []
    for entry in fields(git(worktree, "ls-files", "-s", "-v", "-z")):
        about, _, path = entry.partition("\t")
        tag, mode, blob, _ = about.split(" ")
        if mode == "160000":
            if os.path.lexists(worktree / path / ".git"):
                repositories.append(path + "/")
        elif (tag.islower() or tag == "S") and not _is_blob(worktree / path, blob):
            hidden.append(path)
    return hidden, repositories


def _is_blob(file: Path, blob: str) -> bool:
    """Whether `file` is gone, or is byte for byte what git keeps as `blob`."""
    try:
        info = file.lstat()
    except OSError:
        return True
    digest = hashlib.sha1(usedforsecurity=False) if len(blob) == 40 else hashlib.sha256()
    digest.update(f"blob {info.st_size}\0".encode())
    try:
        if stat.S_ISLNK(info.st_mode):
            digest.update(os.fsencode(os.readlink(file)))
        elif stat.S_ISREG(info.st_mode):
            with open(file, "rb") as opened:
                while data := opened.read(1 << 20):
                    digest.update(data)
        else:
            return False
    except OSError:
        return False
    return digest.hexdigest() == blob


@dataclass(frozen=True, slots=True)
class _Names:
    exists: bool
    ever: frozenset[str]
    """Every name that the branch has had."""
    renamed_to: str | None
    has_stash: bool


def _names(worktree: Path, branch: str, commit: str | None) -> _Names:
    if not is_branch_name(branch):
        raise GitFailed(f"{branch!r} is not the name of a branch")
    ref = f"refs/heads/{branch}"
    found = git(worktree, "for-each-ref", "--format=%(refname)", ref, "refs/stash").split("\n")
    has_stash = "refs/stash" in found
    if ref in found or commit is None:
        return _Names(ref in found, frozenset({branch}), None, has_stash)
    ever = [branch]
    for _, said in reversed(_record(worktree, "HEAD")):
        renamed = _RENAMED.fullmatch(said)
        if renamed and renamed[1] == ever[-1]:
            ever.append(renamed[2])
    is_there = asked(worktree, "rev-parse", "--verify", "--quiet", f"refs/heads/{ever[-1]}") is not None
    return _Names(False, frozenset(ever), ever[-1] if is_there else None, has_stash)


def _record(worktree: Path, ref: str) -> list[tuple[str, str]]:
    """Return git's record of `ref`, newest first: the first parent of each commit, and what was done."""
    log = git(worktree, "log", "-g", "-z", "--format=%P%x09%gs", "--no-show-signature", ref, "--")
    entries = [entry.partition("\t") for entry in fields(log)]
    return [(parents.split(" ")[0], said) for parents, _, said in entries]


def _base_refs(root: Path, base_branch: str | None, branch: str) -> list[str]:
    if base_branch is None:
        ref = asked(root, "symbolic-ref", "--quiet", "HEAD")
    else:
        ref = f"refs/heads/{base_branch}" if is_branch_name(base_branch) else None
    if ref is None or ref == f"refs/heads/{branch}":
        return []
    return [ref] if asked(root, "rev-parse", "--verify", "--quiet", ref) is not None else []


def _subjects(cwd: Path, tips: Iterable[str], held: Iterable[str]) -> list[str]:
    tips = list(tips)
    if not tips:
        return []
    out = git(cwd, "rev-list", "--no-commit-header", "--format=%s", *tips, "--not", *held, "--")
    return out.removesuffix("\n").split("\n") if out else []


def _stashes(worktree: Path, names: Collection[str | None], since: Collection[str]) -> tuple[str, ...]:
    """Stashes that were made on one of `names`, or, on no branch, at one of the commits `since` the base."""
    found = []
    for at, (parent, said) in enumerate(_record(worktree, "refs/stash")):
        on = _STASHED_ON.match(said)
        if on and (on[1] in names or (on[1] == "(no branch)" and parent in since)):
            found.append(f"stash@{{{at}}} ({said})")
    return tuple(found)


def _ahead(worktree: Path, base_commit: str, commit: str | None) -> int:
    return int(git(worktree, "rev-list", "--count", f"{base_commit}..{commit}", "--")) if commit else 0


def _reach(worktree: Path, commit: str | None) -> Reach:
    if not git(worktree, "remote"):
        return "no remote"
    if commit is None or git(worktree, "rev-list", "--max-count=1", commit, "--not", "--remotes", "--"):
        return "local only"
    return "remote"


def _operation(own: Path) -> Operation | None:
    for name, operation in _MARKS:
        if os.path.lexists(own / name):
            return operation
    # Between two commits of several there is no mark but the list of what is left.
    todo = short_text(own / "sequencer" / "todo")
    if todo is None:
        return None
    return "revert" if todo.startswith("revert") else "cherry-pick"


def _is_included(worktree: Path, ignored: str, included: Collection[str]) -> bool:
    """Whether an ignored file, or everything in an ignored folder, was copied by Devplane."""
    if not included:
        return False
    if not ignored.endswith("/"):
        return ignored in included
    for folder, _, names in os.walk(worktree / ignored):
        inside = os.path.relpath(folder, worktree)
        if any(f"{inside}/{name}" not in included for name in names):
            return False
    return True


def _check(base_commit: str) -> None:
    if not _COMMIT.fullmatch(base_commit):
        raise GitFailed(f"{base_commit!r} is not the name of a commit")
