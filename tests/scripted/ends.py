"""Processes that are hard to end: wrappers, deaf children, children that left the group."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

from devplane.testing.turn import Turn
from tests.scripted import log
from tests.scripted.cases import Recorded, agent, case


@case
def wrapper(arguments: list[str]) -> NoReturn:
    """G-32: a shell that runs a shell that runs a deaf agent; their pids are in the log."""
    outer = Path(__file__).with_name("outer.sh")
    inner = Path(__file__).with_name("inner.sh")
    os.execv("/bin/sh", ["/bin/sh", str(outer), str(inner), sys.executable, str(Path(__file__).parent)])


@case
def deaf(arguments: list[str]) -> None:
    """Behaves, but ignores SIGTERM and the end of its input; its pid is in the log, and each signal."""
    made = Deaf(Deaf.say_pid)
    log.record(note={"pid": os.getpid(), "is": "agent"})
    made.run()


class Deaf(Recorded):
    """Hears what should end it, and stays."""

    def end(self, status: int) -> NoReturn:
        log.record(**({"signal": status - 128} if status > 128 else {"eof": True}))
        if status <= 128:
            threading.Event().wait()
        return None  # type: ignore[return-value] # only a signal's handler comes here

    @staticmethod
    def say_pid(turn: Turn) -> None:
        turn.say(f"I am {os.getpid()}.")


@case
def setsid_child(arguments: list[str]) -> None:
    """In each turn starts a child in a session of its own that ignores SIGTERM; its pid is in the log.

    ``hold`` keeps the agent's stdout open in the child; ``exit`` then leaves with status 0. A ``mild``
    child hears SIGTERM.
    """

    def behave(turn: Turn) -> None:
        kept = [turn.wire.out_fd] if "hold" in arguments else []
        child = _start_child(kept=kept, is_deaf="mild" not in arguments)
        log.record(note={"pid": child, "is": "child"})
        turn.say(f"My child is {child}.")
        if "exit" in arguments:
            turn.end()
            os._exit(0)

    agent(behave).run()


def _start_child(*, kept: list[int], is_deaf: bool) -> int:
    """Start it, wait until it is deaf if it is to be, and return its pid; it holds `kept` open."""
    deaf = "trap '' TERM HUP; " if is_deaf else ""
    child = subprocess.Popen(
        ["/bin/sh", "-c", f"{deaf}echo ready; exec sleep 600 >/dev/null 2>&1"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=kept,
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child.pid


@case
def slow_end(arguments: list[str]) -> None:
    """Ends on EOF or SIGTERM only after SECONDS (1), as agents do that save something first."""
    made = agent()
    pause = float(arguments[0]) if arguments else 1.0
    made.at_end.append(lambda: threading.Event().wait(pause))
    made.run()
