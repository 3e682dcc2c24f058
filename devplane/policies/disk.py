"""The disk as the evaluator may see it: where links lead, and what lies in a folder."""

from __future__ import annotations

import os

NAMES_LIMIT = 10_000


class RealDisk:
    """Answers from the file system; what cannot be read is not there."""

    def real(self, path: str) -> str:
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return os.path.normpath(path)

    def names(self, folder: str) -> list[str]:
        found: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    found.append(entry.name)
                    if len(found) >= NAMES_LIMIT:
                        break
        except (OSError, ValueError):
            return []
        return found
