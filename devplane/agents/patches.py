"""The files that a patch names: a unified diff, also git's or Subversion's, or the form that models write."""

from __future__ import annotations

import re
from posixpath import join, normpath

PATCH_LIMIT_CHARS = 4 * 1024 * 1024

_HUNK = re.compile(r"@@+ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PLAIN = re.compile(
    r"(?:\s*\*\*\* (?:(?:Update|Add|Delete) File|Move to):|Index: |(?:rename|copy) (?:from|to) )(.+)"
)
_SIDE = re.compile(r"(?:--- |\+\+\+ )(.+)")
_GIT = "diff --git "
_NOWHERE = ("/dev/null", "a/dev/null", "b/dev/null")


def files_of(patch: str, known: tuple[str, ...], cwd: str) -> tuple[tuple[str, ...], bool]:
    """Return the files that `patch` names beside those in `known`, and whether these are all.

    It is read line by line as ``patch`` reads it, so that what a hunk adds or removes
    is never taken for a header. Copilot writes an absolute path behind ``b``, so
    ``b/etc/x`` may be both ``etc/x`` and ``/etc/x``: unless one of them is known,
    both are returned. A text without any header is no patch and names nothing.
    """
    if len(patch) > PATCH_LIMIT_CHARS:
        return (), False
    here = {normpath(join(cwd, path)) for path in known}
    found: dict[str, None] = {}
    is_whole = True
    before = after = 0
    for line in patch.split("\n"):
        if before > 0 or after > 0:
            mark = line[:1]
            if mark in ("", " ", "-", "+", "\\", "\r"):
                before -= mark in ("", "\r", " ", "-")
                after -= mark in ("", "\r", " ", "+")
                continue
            before = after = 0
        if hunk := _HUNK.match(line):
            before, after = (int((count or "1")[:9]) for count in hunk.groups())
            continue
        spellings = _spellings(line.rstrip("\r"))
        if spellings is None:
            is_whole = False
        elif spellings and not any(normpath(join(cwd, each)) in here for each in spellings):
            found.update(dict.fromkeys(spellings))
    return tuple(found), is_whole


def _spellings(line: str) -> tuple[str, ...] | None:
    """What the file of a header may be called; () for any other line, ``None`` when it cannot be read."""
    if line.startswith(_GIT):
        names = line[len(_GIT) :]
        old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
        # Two different names with spaces in them cannot be told apart, but the lines below name both again.
        return _prefixed(new) if old[2:] == new[2:] and new.startswith("b/") else None if '"' in names else ()
    found = _PLAIN.match(line) or _SIDE.match(line)
    if found is None:
        return ()
    name = found[1].partition("\t")[0].strip()
    if name.startswith('"'):
        return None
    if name in _NOWHERE:
        return ()
    return _prefixed(name) if found.re is _SIDE else (name,)


def _prefixed(name: str) -> tuple[str, ...]:
    if name.startswith(("a/", "b/")) and len(name) > 2:
        return name[2:], name[1:]
    return (name,)
