"""Who is on the other end of the control socket, and whether an agent is behind it (invariant 4).

The kernel says which process connected. On Linux the daemon is the parent of last
resort for everything its agents start, so a process of theirs has the daemon among
its ancestors however it detached itself and whatever its environment says.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from devplane.agents import tree
from devplane.errors import Refused

_SOL_LOCAL = 0
_LOCAL_PEERPID = 2


class AgentMayNot(Refused):
    """An agent's own process tried to act."""

    hint = "Only a person may do this, from a terminal that no agent started."


@dataclass(frozen=True, slots=True)
class Caller:
    """The process that connected. `pid` is ``None`` where the system does not say."""

    pid: int | None
    uid: int | None
    process: psutil.Process | None = None
    """Looked at when it connected, so that another process that is given its pid is not it."""

    def check_may_act(self, agents: Iterable[int]) -> None:
        """Refuse what descends from an agent, and what cannot be told from it.

        Raises:
            AgentMayNot: It does, or the process that connected is gone.
        """
        if self.pid is None:
            raise AgentMayNot("refused: this system does not say which process is calling")
        above = tree.ancestors(self.pid)
        if above is None or self.process is None or not tree.is_alive(self.process):
            raise AgentMayNot("refused: the process that called is gone")
        family = {self.pid, *above}
        if os.getpid() in above or family & set(agents):
            raise AgentMayNot("refused: this command was run by an agent")


def caller_of(sock: socket.socket) -> Caller:
    """Read the peer credentials of a connected unix socket."""
    if sys.platform == "linux":
        pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Caller(pid, uid, _process(pid))
    try:
        pid = struct.unpack("i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))[0]
    except OSError:
        return Caller(None, None)
    return Caller(pid, os.getuid(), _process(pid))


def _process(pid: int) -> psutil.Process | None:
    with suppress(psutil.Error, OSError):
        return psutil.Process(pid)
    return None
