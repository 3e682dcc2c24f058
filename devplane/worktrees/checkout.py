"""Which checkout owns a directory: the roots that settings and trust belong to.

Files are read, no git program is run: the directory may not be trusted yet, and
its own configuration could name programs that git would start. What a ``.git``
file claims is believed only where git's own back-reference confirms it
(https://git-scm.com/docs/gitrepository-layout), so that nobody who can write in
one directory can borrow the trust of another.
"""

from __future__ import annotations

import os
from pathlib import Path

from devplane import git_config
from devplane.config import CONFIG_NAME
from devplane.files import Unreadable, read_text

_POINTER_LIMIT_BYTES = 8192
_CONFIG_LIMIT_BYTES = 1 << 20


def root_of(path: Path) -> Path:
    """Return the checkout that owns `path`, symbolic links resolved.

    A linked worktree answers to the checkout that it was made from. A repository
    inside another answers to the outermost one that has a ``devplane.toml``, and to
    itself when none has. Outside every repository it is the nearest folder above
    that has a ``devplane.toml``, else the directory itself.
    """
    start = _folder(path)
    owners = _owners(start)
    for owner in reversed(owners):
        if _has_config(owner):
            return owner
    if owners:
        return owners[0]
    return next((folder for folder in (start, *start.parents) if _has_config(folder)), start)


def trusted_root_of(path: Path) -> Path:
    """Return the root whose trust covers `path`: the checkout that owns it, and no outer one.

    A repository inside another brings hooks and servers of its own that nobody saw when the
    outer one was trusted, so unlike its settings its trust is not inherited.
    """
    start = _folder(path)
    owners = _owners(start)
    return owners[0] if owners else root_of(start)


def worktree_of(root: Path, path: Path) -> Path | None:
    """Return the linked worktree of the checkout at `root` that `path` lies in; ``None`` outside of one."""
    start = _folder(path)
    for folder in (start, *start.parents):
        found = git_folders(folder)
        if found is not None:
            own, common = found
            is_linked = own != common and _main_checkout(common) == root
            return folder if is_linked else None
    return None


def _folder(path: Path) -> Path:
    start = Path(os.path.realpath(path))
    while not os.path.isdir(start) and start != start.parent:
        start = start.parent
    return start


def git_folders(root: Path) -> tuple[Path, Path] | None:
    """Return the git folder of the checkout at `root` and the one that it shares with its worktrees.

    They are the same folder but for a linked worktree. ``None`` when `root` is not
    the top of a checkout, whatever a ``.git`` file there claims.
    """
    marker = root / ".git"
    if os.path.isdir(marker):
        folder = Path(os.path.realpath(marker))
        return (folder, folder) if _is_git_folder(folder) else None
    folder_named = _pointer(marker, prefix="gitdir:")
    if folder_named is None:
        return None
    if folder_named.parent.name == "worktrees":
        common = folder_named.parent.parent
        is_confirmed = (
            _is_git_folder(common)
            and _pointer(folder_named / "commondir") == common
            and _pointer(folder_named / "gitdir") == Path(os.path.realpath(root)) / ".git"
        )
        return (folder_named, common) if is_confirmed else None
    return (folder_named, folder_named) if _belongs_to(folder_named, root) else None


def _owners(start: Path) -> list[Path]:
    """The checkouts around `start`, innermost first; from a worktree on, those around its owner."""
    owners: list[Path] = []
    at = start
    while True:
        found = git_folders(at)
        if found is not None:
            folder, common = found
            owner = at if folder == common else _main_checkout(common) or at
            if owner in owners:
                return owners
            owners.append(owner)
            at = owner
        if at == at.parent:
            return owners
        at = at.parent


def _main_checkout(common: Path) -> Path | None:
    """The checkout whose git folder is `common`; ``None`` for a bare repository, which has none."""
    if common.name == ".git":
        return None if _setting(common, "bare") == "true" else common.parent
    named = _setting(common, "worktree")
    if named is None:
        return None
    checkout = Path(os.path.realpath(common / named))
    return checkout if _pointer(checkout / ".git", prefix="gitdir:") == common else None


def _belongs_to(folder: Path, root: Path) -> bool:
    """Whether `folder` is the git folder of `root` alone: a submodule's, or one that was put elsewhere.

    The ``.git`` folder of another checkout is not, nor one that names another checkout as its own.
    """
    if folder.name == ".git" or not _is_git_folder(folder):
        return False
    named = _setting(folder, "worktree")
    return named is None or os.path.realpath(folder / named) == os.path.realpath(root)


def _is_git_folder(folder: Path) -> bool:
    """Git's own test of a git folder, in short."""
    return os.path.lexists(folder / "HEAD") and all(
        os.path.isdir(folder / name) for name in ("objects", "refs")
    )


def _pointer(file: Path, *, prefix: str = "") -> Path | None:
    """The path that a one-line file names, links resolved, but for one that ends in a ``.git`` file."""
    text = _text(file, _POINTER_LIMIT_BYTES)
    if text is None or not text.startswith(prefix):
        return None
    named = text[len(prefix) :].strip()
    if not named or "\n" in named or "\0" in named:
        return None
    target = file.parent / named
    if target.name == ".git" and not os.path.isdir(target):
        return Path(os.path.realpath(target.parent)) / ".git"
    return Path(os.path.realpath(target))


def _setting(folder: Path, key: str) -> str | None:
    text = _text(folder / "config", _CONFIG_LIMIT_BYTES) or ""
    values = [entry.value for entry in git_config.entries(text) if entry.name == f"core.{key}"]
    return values[-1] if values else None


def _has_config(folder: Path) -> bool:
    return os.path.isfile(folder / CONFIG_NAME)


def _text(file: Path, limit_bytes: int) -> str | None:
    try:
        return read_text(file, limit_bytes=limit_bytes)
    except Unreadable:
        return None
