"""How the store says that it could not do something. Shared by the writer and the readers."""

from __future__ import annotations

import errno

from devplane.errors import DevplaneError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


class StoreFailed(DevplaneError):
    """The database could not be opened, read or written; what was asked for did not happen.

    `reason` is the failure without the path ("no space left on the disk"), for messages
    that name the store already.
    """

    def __init__(self, message: str, *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


_KNOWN: dict[str, tuple[str, str]] = {
    "SQLITE_BUSY": (
        "another process has it locked",
        "Find the process that holds the file open (`lsof` names it) and end it.",
    ),
    "SQLITE_FULL": ("no space left on the disk", "Free some space; what comes after is stored again."),
    "SQLITE_READONLY": (
        "no permission to write to it or its folder",
        "Give this user write permission to the file and its folder.",
    ),
    "SQLITE_CANTOPEN": ("it cannot be opened", "Check that this user may read and write the file's folder."),
    "SQLITE_NOTADB": ("it is not a database", "Move the file away; a new store is made in its place."),
    "SQLITE_CORRUPT": (
        "it is damaged",
        "Move the file away and keep it; `sqlite3 FILE .recover` may save it.",
    ),
}
_BY_ERRNO = {
    errno.ENOSPC: "SQLITE_FULL",
    errno.EDQUOT: "SQLITE_FULL",
    errno.EACCES: "SQLITE_CANTOPEN",
    errno.EPERM: "SQLITE_CANTOPEN",
    errno.EROFS: "SQLITE_READONLY",
}
_BY_TEXT = {
    "database is locked": "SQLITE_BUSY",
    "database or disk is full": "SQLITE_FULL",
    "attempt to write a readonly database": "SQLITE_READONLY",
    "unable to open database file": "SQLITE_CANTOPEN",
    "file is not a database": "SQLITE_NOTADB",
    "database disk image is malformed": "SQLITE_CORRUPT",
}


def is_busy(error: Exception) -> bool:
    """Whether `error` means that somebody else holds the lock, so that trying again now is no use."""
    return _code(error) == "SQLITE_BUSY"


def explain(path: Path | str, error: Exception, *, doing: str) -> StoreFailed:
    """Return what a person is told of `error`. `doing` is a verb: ``open``, ``read``, ``write``."""
    code = _code(error)
    plain = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    reason, hint = _KNOWN.get(code, (plain, None))
    return StoreFailed(f"cannot {doing} {path}: {reason}", reason=reason, hint=hint)


def too_new(path: Path | str, version: int, latest: int) -> StoreFailed:
    reason = f"its schema is version {version} and this Devplane knows up to {latest}"
    return StoreFailed(f"cannot open {path}: {reason}", reason=reason, hint="Install a newer Devplane.")


def _code(error: Exception) -> str:
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, "")
    # The extended name begins with the plain one (SQLITE_BUSY_SNAPSHOT, SQLITE_CORRUPT_VTAB); errors
    # that the sqlite3 module raises by itself carry a text only.
    name = getattr(error, "sqlite_errorname", None) or _BY_TEXT.get(str(error), "")
    return "_".join(name.split("_")[:2])
