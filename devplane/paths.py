"""Where Devplane's files live. Nothing here opens them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devplane.errors import DevplaneError

SOCKET_PATH_LIMIT_BYTES = 103
"""Longest socket path that every supported system can bind (104 with its closing zero)."""


class HomeUnusable(DevplaneError):
    """The home folder cannot be made, written or kept private."""

    hint = "Set DEVPLANE_HOME to a folder of your own that can be written."


@dataclass(frozen=True, slots=True)
class Home:
    """One Devplane home: an absolute folder that holds one store and at most one daemon."""

    root: Path

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Home:
        """Return the home that `environ` names: ``$DEVPLANE_HOME``, else ``~/.devplane``."""
        named = environ.get("DEVPLANE_HOME")
        root = Path(named) if named else Path(environ.get("HOME") or os.path.expanduser("~")) / ".devplane"
        return cls(Path(os.path.abspath(root)))

    @property
    def database(self) -> Path:
        return self.root / "devplane.db"

    @property
    def lock(self) -> Path:
        return self.root / "daemon.lock"

    @property
    def log(self) -> Path:
        return self.root / "daemon.log"

    @property
    def agents_file(self) -> Path:
        return self.root / "agents.toml"

    @property
    def policy_file(self) -> Path:
        """This machine's rules, for every project."""
        return self.root / "policy.toml"

    @property
    def agent_logs(self) -> Path:
        """Folder of one file a run: what the agent wrote to stderr, and stdout noise."""
        return self.root / "logs"

    @property
    def worktrees(self) -> Path:
        """Folder of the worktrees of works, one folder a project."""
        return self.root / "worktrees"

    def socket(self) -> Path:
        """Return the control socket's path, short enough to bind (case G-35).

        In the home where it fits, else in the user's runtime folder under a name
        derived from the home, so that two homes never share a daemon.
        """
        inside = self.root / "daemon.sock"
        if len(os.fsencode(inside)) <= SOCKET_PATH_LIMIT_BYTES:
            return inside
        import hashlib

        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16] + ".sock"
        if os.environ.get("XDG_RUNTIME_DIR"):
            import platformdirs

            outside = Path(platformdirs.user_runtime_dir("devplane")) / name
            if len(os.fsencode(outside)) <= SOCKET_PATH_LIMIT_BYTES:
                return outside
        # Without a runtime folder: one of this user's own, which `prepare` refuses if it is not.
        return Path("/tmp") / f"devplane-{os.getuid()}" / name

    def prepare(self) -> None:
        """Make the home and the socket's folder, private to this user.

        Raises:
            HomeUnusable: It cannot be made or written, or belongs to somebody else.
        """
        for folder in (self.root, self.agent_logs, self.socket().parent):
            _make_private(folder)


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.stat()
        if info.st_uid != os.getuid():
            raise HomeUnusable(f"{folder} belongs to another user")
        if stat.S_IMODE(info.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise HomeUnusable(f"cannot use {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise HomeUnusable(f"cannot write in {folder}")
