"""What titles and texts say, for agents whose table tells how to read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from devplane.agents.agent import CallHints

READINGS_LIMIT = 16
"""A name that can be split in more ways is not split at all."""
NAME_LIMIT_CHARS = 500
URL_LIMIT_CHARS = 64 * 1024

_NAME = re.compile(r"[\w.:@+-]+")


def mcp_name(server: str, tool: str) -> str:
    """Return the name that rules use."""
    return f"mcp__{server}__{tool}"


def mcp_names(asked: str, announced: str, hints: CallHints, servers: Sequence[str]) -> tuple[str, ...]:
    """Return the name of every MCP tool that the titles may mean, () when they mean none.

    `asked` is the request's own title, `announced` that of the call before it. A
    separator may also stand inside a name (``a_b_c`` with ``{server}_{tool}``). Where one
    of `servers`, those that the session was given, is among the readings, no other holds.
    """
    if hints.mcp_announced is None:
        found = list(_splits(asked or announced, hints.mcp_title))
    else:
        found = list(_splits(announced, hints.mcp_announced))
        if hints.mcp_title is not None:
            found = [(s, t) for s, t in found if asked == hints.mcp_title.format(server=s, tool=t)]
    found = [each for each in found if each[0] in servers] or found
    return tuple(mcp_name(*each) for each in found) if len(found) <= READINGS_LIMIT else ()


def urls(title: str, hints: CallHints) -> tuple[str, ...]:
    """Return the URL that the title of a fetch holds, or ()."""
    start, _, end = (hints.url_title or "").partition("{url}")
    if not start or not title.startswith(start) or not title.endswith(end) or len(title) > URL_LIMIT_CHARS:
        return ()
    url = title[len(start) : len(title) - len(end)]
    return (url,) if url and not re.search(r"\s", url) else ()


def folders(text: str, hints: CallHints, cwd: str) -> tuple[str, ...]:
    """Return the folder that the text of a command says it runs in, joined to `cwd`, or ()."""
    for template in hints.folder_text:
        start, _, end = template.partition("{folder}")
        folder, found, _ = text.removeprefix(start).partition(end)
        if text.startswith(start) and found and folder:
            return (str(PurePosixPath(cwd, folder)),)
    return ()


def _splits(title: str, template: str | None) -> Iterator[tuple[str, str]]:
    """Every server and tool that `title` may name by `template`, which holds each placeholder once."""
    if template is None or len(title) > NAME_LIMIT_CHARS:
        return
    start, first, separator, _, end = re.split(r"\{(server|tool)\}", template)
    if not (title.startswith(start) and title.endswith(end) and len(title) > len(start) + len(end)):
        return
    middle = title[len(start) : len(title) - len(end)]
    at = middle.find(separator, 1)
    while at > 0:
        before, after = middle[:at], middle[at + len(separator) :]
        if _NAME.fullmatch(before) and _NAME.fullmatch(after):
            yield (before, after) if first == "server" else (after, before)
        at = middle.find(separator, at + 1)
