"""A command line put together for rules: its commands with what is inside them, and the files they touch."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from devplane.core.policy import words
from devplane.core.policy.files import Access, Use, uses_of
from devplane.core.policy.hides import doubts_of
from devplane.core.policy.line import Command, Doubt, Line
from devplane.core.policy.matching import Words
from devplane.core.policy.opening import Inside, Read, opened
from devplane.core.policy.paths import normal
from devplane.core.policy.walk import read

NEST_LIMIT = 4
"""Command lines within command lines (``sh -c``) that are read."""


class Disk(Protocol):
    """What an evaluation may ask of the disk. It must not fail: what cannot be read is not there."""

    def real(self, path: str) -> str:
        """Return an absolute path with the links of what exists of it resolved."""
        ...

    def names(self, folder: str) -> Iterable[str]:
        """Return the names in a folder; none when it is no folder."""
        ...


class NoDisk:
    """A disk on which nothing is."""

    def real(self, path: str) -> str:
        return normal(path)

    def names(self, folder: str) -> Iterable[str]:
        return ()


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a call, found out as far as its spelling goes."""

    access: Access
    shown: str
    paths: tuple[str, ...] = ()
    """Absolute: where the text says, and where links lead. () when it is a pattern."""
    glob: str = ""
    """Absolute with marks, when it is one."""
    is_deep: bool = False
    skips_hidden: bool = False

    @property
    def is_hidden(self) -> bool:
        """Whether nobody can tell which file it is."""
        return words.is_hidden(self.glob)


class Ground:
    """What paths start from: the caller's folder, the person's home and the disk."""

    def __init__(self, cwd: str, home: str, disk: Disk) -> None:
        self.cwd = cwd or "/"
        self.home = home
        self.disk = disk
        self._real: dict[str, str] = {}

    def real(self, path: str) -> str:
        """Resolve links, asking the disk once a path and evaluation."""
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = normal(self.disk.real(path))
        return found

    def spellings(self, path: str) -> tuple[str, ...]:
        """Return where an absolute path says it is, and where it really is if that differs."""
        said, real = normal(path), self.real(path)
        return (said,) if said == real else (said, real)

    def alias(self, folder: str) -> str | None:
        """Return how the caller spells `folder` if its own folder, reached through a link, lies in there."""
        said, real = normal(self.cwd), self.real(self.cwd)
        if said == real or not (real == folder or real.startswith(folder + "/")):
            return None
        beneath = real[len(folder) :]
        return said[: len(said) - len(beneath)] if said.endswith(beneath) else None

    def target(self, path: str, access: Access, *, is_deep: bool = False) -> Target:
        """A path that an agent names to a tool: text, not a pattern."""
        whole = self.home + path[1:] if path == "~" or path.startswith("~/") else path
        return Target(access, path, self.spellings(posixpath.join(self.cwd, whole)), is_deep=is_deep)

    def targets(self, use: Use, command: Command) -> Iterator[Target]:
        """What a word of a command may be, one for each folder the command may run in."""
        word = use.word
        if not word:
            return
        if word.startswith(words.HOME):
            starts: Iterable[str] = ("",)
            word = self.home + word[1:]
        elif word.startswith("/"):
            starts = ("",)
        elif command.is_lost:
            starts = ("/" + words.ANY,)
        else:
            starts = dict.fromkeys(self._folder(place) for place in command.places)
        word = word.replace(words.HOME, "~")
        for start in starts:
            whole = posixpath.join(start, word) if start else word
            if words.is_literal(whole):
                yield Target(use.access, use.word, self.spellings(whole), "", use.is_deep, use.skips_hidden)
            else:
                yield Target(use.access, use.word, (), _cleaned(whole), use.is_deep, use.skips_hidden)

    def _folder(self, place: tuple[str, ...]) -> str:
        folder = self.cwd
        for step in place:
            folder = posixpath.join(folder, self.home + step[1:] if step.startswith(words.HOME) else step)
        return folder


def _cleaned(glob: str) -> str:
    """Take out ``.`` and ``..`` where no expansion stands before them."""
    made: list[str] = []
    for part in glob.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and made and not words.is_hidden(made[-1]):
            made.pop()
        elif part == "..":
            made.append(words.ANY)
        else:
            made.append(part)
    return "/" + "/".join(made)


class Part:
    """One command of a line, with what rules ask of it worked out when it is first asked."""

    def __init__(self, inside: Inside, ground: Ground) -> None:
        self.inside = inside
        self.command = inside.command
        self._ground = ground

    @cached_property
    def parts(self) -> Words:
        return Words(self.command)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        found: list[Target] = []
        for use in dict.fromkeys(uses_of(self.command)):
            found += self._ground.targets(use, self.command)
        return tuple(found)


class Reading:
    """A command line as rules see it."""

    def __init__(self, text: str, ground: Ground) -> None:
        self.line: Line = read(text)
        self.tops: list[Inside] = [opened(each, _reader(1)) for each in self.line.commands]
        self.parts: list[Part] = [Part(each, ground) for top in self.tops for each in top.all()]
        self.is_readable = self.line.is_readable
        self.doubts: list[Doubt] = list(self.line.doubts)
        self.scripts: list[tuple[Part, Doubt]] = []
        self._follow_links()
        written = {target for part in self.parts for target in _written(part)}
        for part in self.parts:
            for doubt in (*part.inside.doubts, *doubts_of(part.command)):
                if doubt.script:
                    self.scripts.append((part, doubt))
                elif doubt not in self.doubts:
                    self.doubts.append(doubt)
            if written and "/" in part.command.program and _program_paths(part, ground) & written:
                self.doubts.append(Doubt("writes the program that it runs"))

    def _follow_links(self) -> None:
        """Doubt a line that makes a link and then goes through it: where it leads is not on the disk yet."""
        made = {
            path
            for part in self.parts
            if part.command.name in ("ln", "link", "mount")
            for target in part.targets
            if target.access is Access.WRITE
            for path in target.paths
        }
        if not made:
            return
        for part in self.parts:
            if part.command.name in ("ln", "link"):
                continue
            for target in part.targets:
                if any(path == link or path.startswith(link + "/") for path in target.paths for link in made):
                    self.doubts.append(Doubt("goes through a link that it makes"))
                    return


def _written(part: Part) -> Iterator[str]:
    for redirect in part.command.redirects:
        if redirect.writes:
            yield from (
                path for target in part.targets for path in target.paths if target.access is Access.WRITE
            )
            return
    if part.command.name in ("cp", "mv", "install", "ln", "tee", "dd", "curl", "wget", "sed", "tar"):
        yield from (path for target in part.targets for path in target.paths if target.access is Access.WRITE)


def _program_paths(part: Part, ground: Ground) -> set[str]:
    use = Use(part.command.program, Access.READ)
    return {path for target in ground.targets(use, part.command) for path in target.paths}


def _reader(depth: int) -> Read:
    def inner(code: str) -> tuple[list[Command], list[Doubt], bool]:
        if depth > NEST_LIMIT:
            return [], [Doubt("is code within code too many times")], False
        made = read(code)
        return made.commands, made.doubts, made.is_readable

    return inner
