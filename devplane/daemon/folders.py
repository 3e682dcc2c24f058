"""The folders that requests name."""

from __future__ import annotations

from pathlib import Path

from devplane.errors import UsageError


def existing_folder(text: str) -> Path:
    """Return the folder that `text` names, symlinks resolved. Raises `UsageError` when it is none."""
    folder = Path(text)
    if not folder.is_dir():
        what = "is not a directory" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}", hint="Name an existing directory with --cwd.")
    return folder.resolve()
