"""Commands that need no rule, since they change nothing and show nothing; and programs that are known."""

from __future__ import annotations

from collections.abc import Callable

from devplane.core.policy import words
from devplane.core.policy.files import (
    AFTER_FIRST,
    COPIERS,
    INERT,
    PATTERN_READERS,
    READERS,
    WRITERS,
)
from devplane.core.policy.line import Command
from devplane.core.policy.words import names
from devplane.core.policy.wrappers import WRAPPERS

_FREE = names(
    """
    true false : test [ pwd exit return break continue shift wait sleep
    """
)
_KNOWN = names(
    """
    git gh glab hub npm pnpm yarn bun deno node python python3 pip pip3 uv poetry cargo rustc rustup
    go gofmt make cmake ninja gradle mvn javac java dotnet docker podman kubectl helm terraform aws
    gcloud az pytest ruff mypy black isort eslint prettier tsc jest vitest tox nox pre-commit curl
    wget tar zip unzip gzip gunzip brew apt apt-get dnf yum pacman apk snap jq yq sort tee dd patch
    code open sudo ssh scp rsync bash sh zsh sqlite3 psql mysql redis-cli ruby gem rake rails php
    composer perl swift xcodebuild flutter dart mix cabal stack nix bazel buck just task systemctl
    service journalctl launchctl openssl gpg ping dig nslookup ip ifconfig netstat ss chmod chown
    say notify-send convert ffmpeg pandoc latexmk svn hg diff3
    """
)


def is_known(command: Command) -> bool:
    """Whether it is well known what the program does with its words: it will not run one of them."""
    name = command.name
    return (
        name in _KNOWN
        or name in INERT
        or name in READERS
        or name in PATTERN_READERS
        or name in WRITERS
        or name in COPIERS
        or name in AFTER_FIRST
        or name in WRAPPERS
    )


def is_free(command: Command, is_inside: Callable[[str], bool]) -> bool:
    """Whether an allowed line may hold this command without a rule of its own.

    `is_inside` says whether a folder, relative to the caller's, lies where the caller works.
    """
    given = command.words
    name = given[0]
    if name in _FREE:
        return True
    if name in ("echo", "printf"):
        return name == "echo" or not (len(given) > 1 and given[1].startswith("-v"))
    if name == "set":
        return all(each.lstrip("-+").isalpha() for each in given[1:])
    if name in ("export", "local", "readonly", "declare", "typeset"):
        return all(each.isidentifier() or each in ("-x", "-r", "-a", "-A", "-i", name) for each in given[1:])
    if name in ("unset", "read"):
        return all(each.isidentifier() or each in ("-r", "-v") for each in given[1:])
    if name == "cat":
        return len(given) == 1 and command.is_fed
    if name == "cd":
        operands = given[1:]
        return (
            len(operands) == 1 and words.is_literal(operands[0]) and _stays(command, operands[0], is_inside)
        )
    return False


def _stays(command: Command, to: str, is_inside: Callable[[str], bool]) -> bool:
    if to.startswith(words.HOME) or command.is_lost:
        return False
    return all(
        is_inside("/".join((*place, to)) if not to.startswith("/") else to) for place in command.places
    )
