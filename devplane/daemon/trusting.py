"""No agent starts where no person has said yes (invariant 1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from devplane.errors import Refused

if TYPE_CHECKING:
    from devplane.daemon.service import Service


class NotTrusted(Refused):
    """No person has said yes to running agents in that repository (invariant 1)."""


def check_trust(service: Service, root: Path) -> None:
    """Raises `NotTrusted` with the command that gives trust."""
    with service.reader() as reader:
        if any(row["root"] == str(root) for row in reader.trusted()):
            return
    raise NotTrusted(
        f"{root} is not trusted: an agent there runs that repository's own hooks and servers",
        hint=f"Look at what it brings and decide: devplane trust {root}",
    )
