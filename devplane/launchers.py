"""Programs that fetch a package and run it: which package a command names, and whether it is pinned.

A pin is one exact version. A range, a tag such as ``latest``, and no version at all
may run other code tomorrow than today.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

_NPM_EXACT = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_PYPI_EXACT = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[0-9a-z.]+)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

_LAUNCHERS: dict[tuple[str, ...], bool] = {
    ("npx",): False,
    ("bunx",): False,
    ("pnpx",): False,
    ("pnpm", "dlx"): False,
    ("yarn", "dlx"): False,
    ("npm", "exec"): False,
    ("npm", "x"): False,
    ("bun", "x"): False,
    ("uvx",): True,
    ("uv", "tool", "run"): True,
    ("pipx", "run"): True,
}
"""The words that begin such a command, and whether the package is a Python one."""

_NPM_PACKAGE_OPTIONS = frozenset({"-p", "--package"})
_NPM_OPTIONS = frozenset(
    {"-c", "--call", "-w", "--workspace", "--registry", "--cache", "--prefix", "--shell"}
)
_PYPI_PACKAGE_OPTIONS = frozenset({"--from", "--spec"})
# fmt: off
_PYPI_OPTIONS = frozenset(
    {
        "--with", "--with-editable", "--with-requirements", "-w", "-p", "--python", "-i", "--index",
        "--index-url", "--extra-index-url", "--default-index", "-f", "--find-links", "--directory",
        "--cache-dir", "--config-file", "--env-file", "-c", "--constraints",
    }
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Package:
    """The package that a command fetches and runs."""

    launcher: str
    """The launcher's words, e.g. ``pnpm dlx``."""
    name: str
    """Without its version, npm scope included; for an address or a path, the whole word."""
    version: str | None
    """One exact version, or ``None`` when what is asked for can change."""
    others_pinned: bool
    """Whether every other package that the command fetches beside it has an exact version."""
    index: int
    """Which word of the command names it."""
    is_python: bool
    rest: int
    """Index of the first word that the package's own program gets."""

    @property
    def is_pinned(self) -> bool:
        return self.version is not None and self.others_pinned


def is_exact(version: str, *, is_python: bool = False) -> bool:
    """Say whether `version` can only ever mean one release of a package."""
    return (_PYPI_EXACT if is_python else _NPM_EXACT).fullmatch(version) is not None


def package_of(command: Sequence[str]) -> Package | None:
    """Return the package that `command` fetches; ``None`` when it starts an ordinary program."""
    start = _program(command)
    words = [PurePath(word).name if at == 0 else word for at, word in enumerate(command[start : start + 3])]
    for launcher, is_python in _LAUNCHERS.items():
        if tuple(words[: len(launcher)]) == launcher:
            return _package(command, start + len(launcher), " ".join(launcher), is_python=is_python)
    return None


def with_version(command: Sequence[str], package: Package, version: str) -> tuple[str, ...]:
    """Return `command` with `package` at `version`, all else as it was."""
    word = command[package.index]
    option = word[: word.index("=") + 1] if word.startswith("--") else ""
    separator = "==" if package.is_python and "==" in word else "@"
    spec = f"{option}{package.name}{separator}{version}"
    return (*command[: package.index], spec, *command[package.index + 1 :])


def _program(command: Sequence[str]) -> int:
    """Skip ``env NAME=value …`` in front of the program itself."""
    if not command or PurePath(command[0]).name != "env":
        return 0
    at = 1
    while at < len(command) and (_ASSIGNMENT.match(command[at]) or command[at].startswith("-")):
        at += 1
    return at


def _package(command: Sequence[str], at: int, launcher: str, *, is_python: bool) -> Package | None:
    naming = _PYPI_PACKAGE_OPTIONS if is_python else _NPM_PACKAGE_OPTIONS
    valued = _PYPI_OPTIONS if is_python else _NPM_OPTIONS
    named: list[Package] = []
    while at < len(command) and command[at].startswith("-") and command[at] != "--":
        option, equals, value = command[at].partition("=")
        if option in naming or (is_python and option == "--with"):
            index = at if equals else at + 1
            if index < len(command):
                spec = value if equals else command[index]
                named.append(_parse(spec, launcher, index, is_python=is_python))
            at = index + 1
        else:
            at += 2 if option in valued and not equals else 1
    if at < len(command) and command[at] == "--":
        at += 1
    if at < len(command) and not _has_own_package(command, naming, at):
        main, rest = _parse(command[at], launcher, at, is_python=is_python), at + 1
        beside = named
    elif named:
        program = command[at] if at < len(command) else ""
        main = next((one for one in named if one.name.rsplit("/", 1)[-1] == program), named[-1])
        beside = [one for one in named if one is not main]
        rest = at + 1
    else:
        return None
    pinned = all(one.version is not None for one in beside)
    return replace(main, others_pinned=pinned, rest=min(rest, len(command)))


def _has_own_package(command: Sequence[str], naming: frozenset[str], end: int) -> bool:
    return any(word.partition("=")[0] in naming for word in command[:end])


def _parse(spec: str, launcher: str, index: int, *, is_python: bool) -> Package:
    name, version = spec, ""
    if is_python:
        found = re.fullmatch(r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)\s*(?:==|@)\s*(.+)", spec)
        if found:
            name, version = found.group(1), found.group(2)
    elif "@" in spec[1:]:
        name, _, version = spec.rpartition("@")
    if "://" in name or name.startswith((".", "/", "git+", "file:")):
        name, version = spec, ""
    exact = version if version and is_exact(version, is_python=is_python) else None
    return Package(launcher, name, exact, True, index, is_python, index + 1)
