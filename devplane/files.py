"""Reading files that others wrote, and replacing our own whole.

What lies in a repository may be a pipe, a device or endless: only ordinary files
of a bounded size are read, so a look at an untrusted folder cannot hang.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

READ_LIMIT_BYTES = 4 << 20
"""Larger than any settings file that was meant to be read by a person."""


class Unreadable(Exception):
    """The path exists but cannot be read as a small ordinary file of text; ``str()`` says why."""


def read_text(path: Path, *, limit_bytes: int = READ_LIMIT_BYTES) -> str | None:
    """Return the file's text, without a byte order mark; ``None`` when there is nothing at `path`.

    Raises:
        Unreadable: A folder, a pipe, too large, not permitted, or not UTF-8.
    """
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not wait. The kind is checked on
        # the open file, so nothing can be swapped in between.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unreadable("not an ordinary file")
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    finally:
        os.close(handle)
    if len(data) > limit_bytes:
        raise Unreadable(f"larger than {limit_bytes >> 20} MiB" if limit_bytes >> 20 else "too large")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 (byte {error.start})") from error


def replace_private(path: Path, text: str) -> None:
    """Write `text` to `path` whole or not at all, readable by this user only.

    A symbolic link at `path` stays one: the file that it names is replaced.

    Raises:
        OSError: Nothing was changed.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # made with 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
