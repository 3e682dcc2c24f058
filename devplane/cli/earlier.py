"""The conversation of one run as the beginning of another: for a session that its agent has lost."""

from __future__ import annotations

from devplane.cli.common import reader
from devplane.errors import Refused

TOLD_LIMIT_CHARS = 48 * 1024
"""As much of the end of a conversation as the next agent is given to read, and the person to pay."""
SPEAKERS = {"user": "person", "agent": "agent"}


def told(run: str, text: str) -> str:
    """Return `text` behind what was said in `run`, or as much of its end as is bearable.

    Raises:
        Refused: Nothing that was said in it is on record.
    """
    parts: list[str] = []
    with reader() as store:
        for entry in store.transcript(run):
            if entry["type"] != "fragment" or entry["role"] not in SPEAKERS:
                continue
            if not (entry["continues"] and parts):
                parts.append(f"\n\n[{SPEAKERS[entry['role']]}] ")
            parts.append(entry["text"])
    if not parts:
        raise Refused(f"nothing that was said in {run} is on record", hint=f"See: devplane show {run}")
    said = "".join(parts).strip()
    if len(said) > TOLD_LIMIT_CHARS:
        said = "[…]" + said[-TOLD_LIMIT_CHARS:]
    fence = "`" * max(3, 1 + _longest_fence(said))
    return (
        "An earlier conversation about this work cannot be continued. This is what was said in it, for you to"
        f" know and not to answer:\n\n{fence}\n{said}\n{fence}\n\n{text}"
    )


def _longest_fence(text: str) -> int:
    longest = at = 0
    for char in text:
        at = at + 1 if char == "`" else 0
        longest = max(longest, at)
    return longest
