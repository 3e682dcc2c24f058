"""Path patterns of rules: gitignore's, anchored as the rule syntax says, against paths and globs.

Paths are absolute and lie lexically where they say (no ``.`` or ``..``); what a link makes
of them is the caller's to ask and to put in as well.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from devplane.core.policy.words import ANY, ONE, STAR

SEGMENT_LIMIT_CHARS = 256
"""Longest segment that two globs are compared in; longer ones are taken to meet."""
SEGMENTS_LIMIT = 64


@dataclass(frozen=True, slots=True)
class PathPattern:
    """One pattern with its anchor.

    ``base``: the absolute folder that it starts from, ``~`` for the person's home, the caller's
    folder when ``None``; ``floats``: it matches at any depth.
    """

    text: str
    base: str | None
    floats: bool

    @classmethod
    def parse(cls, text: str, folder: str) -> PathPattern:
        """Read the specifier of a rule in a file that lies in `folder`: ``//x``, ``~/x``, ``/x``, ``x``."""
        if text.startswith("//"):
            return cls(text[1:], "/", False)
        if text == "~" or text.startswith("~/"):
            return cls("/" + text[2:], "~", False)
        if text.startswith("/"):
            return cls(text, folder, False)
        while text.startswith("./"):
            text = text[2:]
            if "/" not in text.rstrip("/"):
                return cls("/" + text, None, False)
        text = text or "."
        if text in (".", "*", "**", "**/*"):
            return cls("/**", None, False)
        floats = "/" not in text.rstrip("/") or text.startswith("**/")
        return cls(text, None, floats)

    def floating(self) -> PathPattern:
        """Return it as a deny or an ask has it: one folder's ``dir/**`` is that folder anywhere."""
        head, sign, tail = self.text.partition("/")
        if self.base is None and sign and tail == "**" and head and not re.search(r"[*?\[]", head):
            return PathPattern("**/" + self.text, None, True)
        return self

    def matches(self, path: str, anchor: str, *, anywhere: bool) -> bool:
        """Whether `path` or a folder above it is meant, with the pattern starting at `anchor`.

        `anywhere`: a pattern that floats is not held to lie beneath the anchor.
        """
        if self.floats and anywhere:
            anchor = "/"
        if anchor == "/":
            rest = path[1:]
        elif path.startswith(anchor) and path[len(anchor) : len(anchor) + 1] == "/":
            rest = path[len(anchor) + 1 :]
        else:
            # `dir/**` means what is in it; the folder itself only for what goes beneath it.
            return False
        found = _regex(self.text)
        return found is None or found.match(rest) is not None

    def meets(self, glob: str, anchor: str, *, anywhere: bool) -> bool:
        """Whether some path is meant by both the pattern and `glob` (an absolute path with marks)."""
        if self.floats and anywhere:
            anchor = "/"
        pattern = _segments_of_pattern(self.text)
        if anchor != "/":
            pattern = (*anchor.strip("/").split("/"), *pattern)
        if ANY in glob and len(pattern) > 1 and pattern[-1] == _DEEP0 and _is_file_name(pattern[-2]):
            # Any unknown path could lie in a folder of that name; people who write `.env` mean the file.
            pattern = pattern[:-1]
        return any(_meet(pattern, reading) for reading in _readings(glob))

    def reaches_into(self, folder: str, anchor: str, *, anywhere: bool) -> bool | None:
        """Whether something beneath `folder` is meant; ``None`` where only the disk can tell."""
        if self.floats and anywhere:
            return None
        pattern = _segments_of_pattern(self.text)
        if anchor != "/":
            pattern = (*anchor.strip("/").split("/"), *pattern)
        return _meet(pattern, (*(each for each in folder.strip("/").split("/") if each), DEEP))


DEEP = "\uf8f4"
"""A segment that stands for any number of them, at least one."""
_DEEP0 = "\uf8f5"
"""Any number of segments, or none."""


@lru_cache(maxsize=64)
def any_of(starts: tuple[tuple[PathPattern, str], ...]) -> re.Pattern[str]:
    """Return a matcher of absolute paths for many patterns, each at its anchor, as denies have them."""
    return re.compile("|".join(dict.fromkeys(_source(*start) for start in starts)) or r"(?!)", re.DOTALL)


def _source(pattern: PathPattern, anchor: str) -> str:
    made = _regex(pattern.text)
    beneath = "" if pattern.floats or anchor == "/" else re.escape(anchor)
    rest = made.pattern.removeprefix("^").replace("(?P<ps_d>/)", "/") if made is not None else ""
    return f"{beneath}/{rest}"


@lru_cache(maxsize=8192)
def _regex(pattern: str) -> re.Pattern[str] | None:
    """The matcher of one gitignore pattern on relative paths; ``None`` for one that means everything."""
    if pattern in ("/**", "/"):
        return None
    escaped = "\\" + pattern if pattern[:1] in ("#", "!") else pattern
    made, _ = GitIgnoreSpecPattern.pattern_to_regex(escaped)
    return re.compile(made if made is not None else r"(?!)", re.DOTALL)


@lru_cache(maxsize=8192)
def _segments_of_pattern(text: str) -> tuple[str, ...]:
    """A gitignore pattern as segments with our marks."""
    is_rooted = "/" in text.rstrip("/")
    parts = [each for each in text.strip("/").split("/") if each]
    made: list[str] = [] if is_rooted else [_DEEP0]
    for at, part in enumerate(parts):
        if part == "**":
            made.append(DEEP if at == len(parts) - 1 else _DEEP0)
        else:
            part = re.sub(r"\[[^\]]+\]", ONE, part)
            made.append(part.replace("*", STAR).replace("?", ONE))
    if made and made[-1] not in (DEEP, _DEEP0):
        made.append(_DEEP0)
    return tuple(made)


def _is_file_name(name: str) -> bool:
    return name.startswith(".env") or "." in name[1:]


def _readings(glob: str) -> Iterator[tuple[str, ...]]:
    """Yield a glob as segments. An expansion within one is part of a name, or it holds slashes as well."""
    parts = [part for part in glob.split("/") if part]
    hidden = [at for at, part in enumerate(parts) if ANY in part and part != ANY]
    if len(hidden) > 2:
        yield tuple(_DEEP0 if ANY in part else part for part in parts)
        return
    for choice in range(1 << len(hidden)):
        made: list[str] = []
        for at, part in enumerate(parts):
            if part == ANY:
                made.append(_DEEP0)
            elif at in hidden and choice >> hidden.index(at) & 1:
                before, _, after = part.partition(ANY)
                after = after.rpartition(ANY)[2]
                made += [before + ANY, _DEEP0, ANY + after]
            else:
                made.append(part)
        yield tuple(made)


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if len(one) > SEGMENTS_LIMIT or len(other) > SEGMENTS_LIMIT:
        return True
    seen: set[tuple[int, int]] = set()
    todo = [(0, 0)]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        left, right = at
        if left == len(one) and right == len(other):
            return True
        if left < len(one) and one[left] == _DEEP0:
            todo.append((left + 1, right))
        if right < len(other) and other[right] == _DEEP0:
            todo.append((left, right + 1))
        if left < len(one) and right < len(other) and _segments_meet(one[left], other[right]):
            lefts = (left, left + 1) if one[left] in (DEEP, _DEEP0) else (left + 1,)
            rights = (right, right + 1) if other[right] in (DEEP, _DEEP0) else (right + 1,)
            todo += [(i, j) for i in lefts for j in rights if (i, j) != at]
    return False


@lru_cache(maxsize=16384)
def _segments_meet(one: str, other: str) -> bool:
    """Whether one name satisfies both globs; the shell's ``*`` takes no leading dot."""
    if one in (DEEP, _DEEP0) or other in (DEEP, _DEEP0):
        return True
    if len(one) > SEGMENT_LIMIT_CHARS or len(other) > SEGMENT_LIMIT_CHARS:
        return True
    if other[:1] in (STAR, ONE) and one.startswith("."):
        return False
    reached = {0}
    reached = _starred(one, reached)
    for char in other:
        if char in (STAR, ANY):
            lowest = min(reached)
            reached = set(range(lowest, len(one) + 1))
            continue
        after: set[int] = set()
        for at in reached:
            if at < len(one):
                if one[at] == STAR:
                    after.add(at)
                elif char == ONE or one[at] in (ONE, char):
                    after.add(at + 1)
        reached = _starred(one, after)
        if not reached:
            return False
    return len(one) in reached


def _starred(text: str, reached: set[int]) -> set[int]:
    """Step over stars that stand for nothing."""
    grown = set(reached)
    for at in sorted(reached):
        while at < len(text) and text[at] == STAR:
            at += 1
            grown.add(at)
    return grown


def normal(path: str) -> str:
    """Return an absolute path without ``.``, ``..`` and doubled slashes, as its text says."""
    made = posixpath.normpath(path)
    return made[1:] if made.startswith("//") else made
