"""The one place where exceptions become exit statuses.

0 done, 1 failed, 2 usage, 3 not found or ambiguous, 4 refused, 5 the agent failed,
6 no daemon could be had, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from devplane.core.text import visible
from devplane.errors import DevplaneError

INTERRUPTED = 130


@contextmanager
def exiting() -> Iterator[None]:
    """End the process for whatever the body raises; a traceback is only ever shown for a bug."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except DevplaneError as error:
        sys.exit(told(error))
    except BaseExceptionGroup as group:
        only = _only(group)
        if isinstance(only, KeyboardInterrupt):
            sys.exit(INTERRUPTED)
        if isinstance(only, DevplaneError):
            sys.exit(told(only))
        raise


def told(error: DevplaneError) -> int:
    """Print what is wrong and what to do; return the exit status."""
    print(f"devplane: {visible(str(error))}", file=sys.stderr)
    if error.hint:
        print(f"  {visible(error.hint)}", file=sys.stderr)
    return error.exit_status


def _only(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group
