"""What a work is begun with beside its title: a specification from a file, a report from an issue."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from devplane.core.text import one_line
from devplane.errors import DevplaneError, UsageError
from devplane.files import Unreadable, read_text

SPEC_LIMIT_BYTES = 256 << 10
GH_LIMIT_S = 60.0


def spec_of(path: Path) -> str:
    """Return the text of a specification.

    Raises:
        UsageError: There is none, or it cannot be read as text.
    """
    try:
        text = read_text(path, limit_bytes=SPEC_LIMIT_BYTES)
    except Unreadable as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="Name a text file with --spec.") from None
    if text is None:
        raise UsageError(f"{path} does not exist", hint="Name a text file with --spec.")
    return text


def issue_of(number: int, cwd: Path) -> str:
    """Return an issue of the repository at `cwd`, as the ``gh`` program has it.

    Raises:
        DevplaneError: There is no gh, or it does not give the issue; the message ends in its words.
    """
    command = ["gh", "issue", "view", str(number), "--json", "title,body,url"]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=GH_LIMIT_S,
        )
    except FileNotFoundError:
        raise DevplaneError(
            "there is no gh on PATH, which --issue asks for the issue",
            hint="Install the GitHub command line (gh), or pass the text with --spec.",
        ) from None
    except subprocess.TimeoutExpired:
        raise DevplaneError(f"gh did not answer within {GH_LIMIT_S:g} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise DevplaneError(
            f"gh gave no issue {number}: {one_line(said[-1] if said else 'it said nothing', 300)}"
        )
    try:
        issue = json.loads(done.stdout)
        return f"{issue['title']}\n{issue['url']}\n\n{issue['body']}"
    except (ValueError, KeyError, TypeError):
        raise DevplaneError(f"gh's answer about issue {number} cannot be read") from None
