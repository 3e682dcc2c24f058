"""The one place where exceptions become exit statuses.

0 done, 1 failed, 2 usage, 3 not found or ambiguous, 4 refused, 5 the agent failed,
6 no daemon could be had, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from devplane.core.text import visible
from devplane.errors import DevplaneError, innermost

INTERRUPTED = 130


@contextmanager
def exiting() -> Iterator[None]:
    """End the process for whatever the body raises; a traceback is only ever shown for a bug."""
    try:
        yield
        sys.stdout.flush()
    except BaseException as error:
        status = _status_of(innermost(error))
        if status is None:
            raise
        sys.exit(status)


def told(error: DevplaneError) -> int:
    """Print what is wrong and what to do; return the exit status."""
    _tell(str(error), error.hint)
    return error.exit_status


def _status_of(error: BaseException) -> int | None:
    match error:
        case DevplaneError():
            return told(error)
        case KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            # The reader of our output has gone; Python would complain once more while it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        case OSError() if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EBADF):
            _tell(f"cannot write: {error.strerror}", None)
            return 1
        case _ if hasattr(error, "format_message"):
            return _told_usage(error)
        case _:
            return None


def _told_usage(error: Any) -> int:
    """What the command line's library found wrong; its class lives elsewhere from version to version."""
    message = str(error.format_message()).strip().rstrip(".")
    where = error.ctx.command_path if getattr(error, "ctx", None) is not None else "devplane"
    _tell(message[:1].lower() + message[1:], f"See: {where} --help")
    return int(error.exit_code)


def _tell(what: str, to_do: str | None) -> None:
    print(f"devplane: {visible(what)}", file=sys.stderr)
    if to_do:
        print(f"  {visible(to_do)}", file=sys.stderr)
