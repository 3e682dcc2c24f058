"""``.worktreeinclude``: files that git ignores and a work needs all the same, such as ``.env``.

They are copied, never linked: what an agent writes to its copy is not to reach the person's file.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from devplane.errors import Refused
from devplane.files import Unreadable, read_text
from devplane.worktrees.git import fields, git

INCLUDE_NAME = ".worktreeinclude"
FILES_LIMIT = 10_000
BYTES_LIMIT = 1 << 30

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_COPY = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Included:
    """What was copied. Paths are relative to the checkout, with forward slashes."""

    copied: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Each path that was asked for and not copied, and why."""


class _Kept(Exception):
    """One file is not copied; ``str()`` says why."""


def copy_included(root: Path, worktree: Path) -> Included:
    """Copy the files that the ``.worktreeinclude`` of the checkout at `root` names into `worktree`.

    Its lines are gitignore's; what they match is copied where git ignores it in `root`, with its
    mode, and a symbolic link as a link. A link that leads out of the repository is not copied, no
    link in `worktree` is written through, and no file there is overwritten.

    Raises:
        Refused: The file cannot be read as such, or it matches more than `FILES_LIMIT` files or
            `BYTES_LIMIT` bytes; nothing was copied.
        GitFailed: What git ignores cannot be told.
    """
    spec = _spec(root / INCLUDE_NAME)
    if spec is None:
        return Included()
    out = git(root, "ls-files", "--others", "--ignored", "--exclude-standard", "-z")
    matched = [path for path in fields(out) if spec.match_file(path)]
    _check_size(root, matched)
    copied, refused = [], []
    for path in matched:
        try:
            _copy(root, worktree, path)
        except _Kept as why:
            refused.append((path, str(why)))
        except OSError as error:
            refused.append((path, error.strerror or str(error)))
        else:
            copied.append(path)
    return Included(tuple(copied), tuple(refused))


def _spec(file: Path) -> GitIgnoreSpec | None:
    try:
        text = read_text(file)
    except Unreadable as error:
        raise Refused(f"{file} cannot be read: {error}", hint="Correct the file, or remove it.") from error
    if text is None:
        return None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    for number, line in enumerate(lines, 1):
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError as error:
            raise Refused(f"{file}:{number}: {line!r} is no pattern", hint="Correct the line.") from error
    return GitIgnoreSpec.from_lines(lines)


def _check_size(root: Path, paths: list[str]) -> None:
    hint = f"Name fewer files in {INCLUDE_NAME}, and let a set-up command make the rest."
    if len(paths) > FILES_LIMIT:
        said = f"{INCLUDE_NAME} matches {len(paths)} files; at most {FILES_LIMIT} are copied"
        raise Refused(said, hint=hint)
    size_bytes = 0
    for path in paths:
        with suppress(OSError):
            size_bytes += (root / path).lstat().st_size
    if size_bytes > BYTES_LIMIT:
        said = f"{INCLUDE_NAME} matches {size_bytes >> 20} MiB; at most {BYTES_LIMIT >> 20} are copied"
        raise Refused(said, hint=hint)


def _copy(root: Path, worktree: Path, path: str) -> None:
    if path.endswith("/"):
        raise _Kept("a repository of its own")
    source = root / path
    if source.is_symlink():
        link = _link(root, path)
        with _folder_for(root, worktree, path) as folder:
            os.symlink(link, source.name, dir_fd=folder)
        return
    with os.fdopen(os.open(source, _SOURCE), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise _Kept("not an ordinary file")
        with _folder_for(root, worktree, path) as folder:
            made = os.open(source.name, _COPY, 0o600, dir_fd=folder)
            try:
                with os.fdopen(made, "wb") as copy:
                    shutil.copyfileobj(file, copy)
                    os.fchmod(made, stat.S_IMODE(mode) & 0o777)
            except OSError:
                os.unlink(source.name, dir_fd=folder)
                raise


def _link(root: Path, path: str) -> str:
    """Return where the link at `path` leads, if that is a place in the worktree too."""
    text = os.readlink(root / path)
    if os.path.isabs(text):
        raise _Kept(f"a link to {text}, which is no place in the worktree")
    top = os.path.realpath(root)
    for end in (
        os.path.normpath(os.path.join(top, os.path.dirname(path), text)),
        os.path.realpath(root / path),
    ):
        if end != top and not end.startswith(top + os.sep):
            raise _Kept(f"a link that leads out of the repository, to {end}")
    return text


@contextmanager
def _folder_for(root: Path, worktree: Path, path: str) -> Iterator[int]:
    """Open the folder of `path` in `worktree`, made where it is missing; no link is followed."""
    handle = os.open(worktree, _FOLDER)
    done = ""
    try:
        for name in path.split("/")[:-1]:
            done = os.path.join(done, name)
            with suppress(FileExistsError):
                mode = stat.S_IMODE((root / done).stat().st_mode) & 0o777
                os.mkdir(name, mode | 0o700, dir_fd=handle)
            try:
                inner = os.open(name, _FOLDER, dir_fd=handle)
            except OSError:  # a link or a file; each system has a number of its own for it
                raise _Kept(f"{done} is no folder in the worktree") from None
            os.close(handle)
            handle = inner
        yield handle
    except FileExistsError:
        raise _Kept("the worktree has one already") from None
    finally:
        os.close(handle)
