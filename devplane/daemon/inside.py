"""Files inside one folder and nowhere else, for somebody who is not trusted with the rest (G-27).

A path is resolved once, links and all; what is then opened is that very place, step by step and
without following any link, so that one which is put there in between gains nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from devplane.acp.messages import size
from devplane.errors import DevplaneError

LIMIT_BYTES = 32 << 20
"""Largest file that is read or written."""
PATH_LIMIT_BYTES = 4096
"""What systems take at once; step by step a longer one could be made, and hardly be removed again."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOOK = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileTrouble(DevplaneError):
    """It cannot be read or written; nothing was changed."""


class Missing(FileTrouble):
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: absolute, without links. Whether anything is there is another question."""

    root: str
    path: str

    @property
    def is_inside(self) -> bool:
        return self.path == self.root or self.path.startswith(os.path.join(self.root, ""))

    @property
    def steps(self) -> list[str]:
        """The names from the root down to it."""
        return os.path.relpath(self.path, self.root).split(os.sep)


def place_of(root: str, path: str) -> Place:
    """Resolve `path`, from `root` if it is relative; a link that leads nowhere is followed all the same.

    Raises:
        FileTrouble: It is no path at all.
    """
    try:
        if len(os.fsencode(path)) > PATH_LIMIT_BYTES:
            raise FileTrouble(f"not a path: longer than {PATH_LIMIT_BYTES} bytes")
        return Place(os.path.realpath(root), os.path.realpath(os.path.join(root, path)))
    except (ValueError, OSError) as error:
        raise FileTrouble(f"not a path: {error}") from error


def read(place: Place) -> bytes:
    """Return the file at `place`, whole.

    Raises:
        Missing: Nothing is there.
        FileTrouble: It is no ordinary file, too large, or not readable.
    """
    with (
        _troubles(place),
        _parent(place) as (folder, name),
        _opened(place, name, _READ, folder) as handle,
        open(handle, "rb", closefd=False) as file,
    ):
        data = file.read(LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        raise FileTrouble(f"{place.path}: larger than {size(LIMIT_BYTES)}")
    return data


def write(place: Place, data: bytes) -> None:
    """Put `data` at `place`, whole or not at all; missing folders above it are made.

    It is written beside, forced to the disk and renamed, so that whoever reads finds the old file or
    the new one, also after a crash. The mode of the old one is kept.

    Raises:
        FileTrouble: Nothing was written; folders that were made for it may be there.
    """
    if len(data) > LIMIT_BYTES:
        raise FileTrouble(f"{place.path}: more than {size(LIMIT_BYTES)}")
    with _troubles(place), _parent(place, make=True) as (folder, name):
        mode = _mode_of(place, folder, name)
        beside = f".{os.urandom(8).hex()}.devplane-part"
        handle = os.open(beside, _MAKE, 0o666, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                if mode is not None:
                    os.fchmod(handle, mode)
                file.write(data)
                file.flush()
                os.fsync(handle)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
        # It is in place; some file systems have no word for the folder's own durability.
        with suppress(OSError):
            os.fsync(folder)


def _mode_of(place: Place, folder: int, name: str) -> int | None:
    """The mode of the file that will be replaced, or ``None`` when there is none.

    It is opened as if it was to be written: a rename alone would replace a file that is read-only.
    """
    try:
        with _opened(place, name, _LOOK, folder) as handle:
            return stat.S_IMODE(os.fstat(handle).st_mode)
    except FileNotFoundError:
        return None


@contextmanager
def _opened(place: Place, name: str, flags: int, folder: int) -> Iterator[int]:
    """Yield the ordinary file `name` of an open folder, opened; what it is is looked at only then."""
    handle = os.open(name, flags, dir_fd=folder)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            what = "is a directory" if stat.S_ISDIR(mode) else "not an ordinary file"
            raise FileTrouble(f"{place.path}: {what}")
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _parent(place: Place, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the open folder above `place` and the name in it, having followed no link below the root."""
    if not place.is_inside:
        raise FileTrouble(f"{place.path}: outside of {place.root}")
    *folders, name = place.steps
    if name == os.curdir:
        raise FileTrouble(f"{place.path}: is a directory")
    handle = os.open(place.root, _FOLDER)
    try:
        for folder in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(folder, 0o777, dir_fd=handle)
            below = os.open(folder, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle, name
    finally:
        os.close(handle)


@contextmanager
def _troubles(place: Place) -> Iterator[None]:
    """Turn what the system says into words about `place`."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(f"{place.path}: no such file") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileTrouble(f"{place.path}: {reason}") from error
