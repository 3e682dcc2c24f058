"""Which files a simple command reads and writes, as far as its words name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from devplane.core.policy import words
from devplane.core.policy.line import Command, Redirect
from devplane.core.policy.words import names


class Access(Enum):
    """What happens to a file."""

    READ = "read"
    WRITE = "write"
    NAMED = "named"
    """A program that nobody knows is given its name: it can read it, and perhaps write it."""


class Use(NamedTuple):
    """One file, or one folder with all that is in it, that a command touches."""

    word: str
    access: Access
    is_deep: bool = False
    """Whether everything beneath it is touched too."""
    skips_hidden: bool = False


INERT = names(
    """
    echo printf ls test [ cd pushd popd which type command pwd basename dirname realpath readlink
    stat du df tree true false : export set unset local declare typeset readonly read shift return
    exit break continue wait jobs kill pkill pgrep ps sleep date id whoami groups hostname uname
    printenv getopts seq expr umask ulimit trap hash alias unalias times let tput clear find fd
    fdfind lsof nproc arch tty stty yes whereis man help getconf cal
    """
)
"""Programs that open none of the files that they are given."""
READERS = names(
    """
    cat head tail less more wc uniq cut tr diff cmp file strings hexdump xxd od md5sum sha1sum
    sha224sum sha256sum sha384sum sha512sum shasum cksum b2sum nl tac rev fold fmt pr column comm
    join paste base64 base32 bat batcat zcat bzcat xzcat zless expand unexpand look ptx tsort
    mapfile readarray source .
    """
)
PATTERN_READERS = names(
    """
    grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk jq yq
    """
)
"""Readers whose first operand is a pattern or a script, unless a flag brings it."""
WRITERS = names(
    """
    touch truncate mkdir rmdir rm shred unlink mkfifo mknod srm wipe
    """
)
AFTER_FIRST = frozenset({"chmod", "chown", "chgrp", "chattr", "setfacl", "chflags", "xattr"})
"""Writers whose first operand says what to change."""
COPIERS = names(
    """
    cp mv install ln rsync scp ditto link gcp gmv
    """
)
ALWAYS_DEEP = names(
    """
    mv rsync tar zip 7z ag ack scp rg ditto rmtree cpio
    """
)
DEEP_LETTERS = {
    "cp": "rRa",
    "grep": "rR",
    "egrep": "rR",
    "fgrep": "rR",
    "diff": "r",
    "rm": "rR",
    "chmod": "R",
    "chown": "R",
    "chgrp": "R",
    "scp": "r",
    "shred": "",
    "gcp": "rRa",
    "ls": "",
}
_GIT_INERT = names(
    """
    status ls-files check-ignore branch rev-parse remote fetch push pull commit merge rebase switch
    tag config init describe reflog version
    """
)
_GIT_WRITERS = frozenset({"rm", "mv", "restore", "checkout", "clean", "sparse-checkout"})
_DOWNLOADS = (
    "-o",
    "--output",
    "-O",
    "--output-document",
    "--output-dir",
    "-P",
    "--directory-prefix",
    "-D",
    "-c",
)
_UNPACKS = ("-C", "--directory", "-d", "-D")
_INTO = frozenset({"--output-dir", "-P", "--directory-prefix", *_UNPACKS})
_PATTERN_FLAGS = {"-e", "--regexp", "--expression", "-f", "--file", "--source"}
_FILE_FLAGS = {"-f", "--file", "-L", "--slurpfile", "--rawfile", "--from-file"}
_NO_VALUE = re.compile(r"[\d,:+.%-]+[a-zA-Z]?")


def uses_of(command: Command) -> Iterator[Use]:
    """Yield every file that `command` names: by its arguments first, then by its redirections."""
    if command.words:
        yield from _arguments(command)
    for redirect in command.redirects:
        if not is_nothing(redirect):
            yield Use(redirect.target, Access.WRITE if redirect.writes else Access.READ)
            if redirect.operator == "<>":
                yield Use(redirect.target, Access.READ)


NOWHERE = frozenset(
    {
        "/dev/null",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/stdin",
        "/dev/tty",
        "/dev/zero",
        "/dev/fd/1",
        "/dev/fd/2",
    }
)


def is_nothing(redirect: Redirect) -> bool:
    """Whether a redirection touches no file of anybody's."""
    return redirect.target in NOWHERE


def _arguments(command: Command) -> Iterator[Use]:
    name = command.name
    given = command.words[1:]
    if name in INERT:
        if name in ("find", "fd", "fdfind"):
            yield from _find(given)
        elif name == "date":
            yield from (use for use in _with_output(given, ()) if use.word not in given or "-f" in given)
        return
    if name in WRITERS:
        is_deep = _has_letter(given, DEEP_LETTERS.get(name, ""), ("--recursive",))
        for word in _operands(given):
            yield Use(word, Access.WRITE, is_deep)
    elif name in COPIERS:
        yield from _copier(name, given)
    elif name in AFTER_FIRST:
        is_deep = _has_letter(given, "R", ("--recursive",))
        for word in _operands(given)[0 if any(each.startswith("--reference") for each in given) else 1 :]:
            yield Use(word, Access.WRITE, is_deep)
    elif name in ("tee", "sponge"):
        for word in _operands(given):
            yield Use(word, Access.WRITE)
    elif name == "dd":
        for word in given:
            key, sign, value = word.partition("=")
            if sign and key in ("if", "of"):
                yield Use(value, Access.READ if key == "if" else Access.WRITE)
    elif name in PATTERN_READERS:
        yield from _pattern_reader(name, given)
    elif name in READERS:
        is_deep = _has_letter(given, DEEP_LETTERS.get(name, ""), ("--recursive",))
        for word in given:
            for form in _forms(word):
                yield Use(form, Access.READ, is_deep)
        if name == "xxd" and len(_operands(given)) > 1:
            yield Use(_operands(given)[-1], Access.WRITE)
        if name == "uniq" and len(_operands(given)) > 1:
            yield Use(_operands(given)[1], Access.WRITE)
    elif name == "git":
        yield from _git(given)
    elif name == "sort":
        yield from _with_output(given, ("-o", "--output"))
    elif name in ("curl", "wget"):
        yield from _with_output(given, _DOWNLOADS)
    elif name == "patch":
        # Which files it changes stands in the patch.
        yield from (Use(word, Access.WRITE) for word in _operands(given)[:1] or [words.ANY])
        yield from (Use(form, Access.NAMED) for word in given for form in _forms(word))
    else:
        is_deep = name in ALWAYS_DEEP
        for word in given:
            for form in _forms(word):
                yield Use(form, Access.NAMED, is_deep)
        if name in ("tar", "unzip", "7z", "cpio", "bsdtar"):
            yield from (use for use in _with_output(given, _UNPACKS) if use.access is Access.WRITE)


def _forms(word: str) -> Iterator[str]:
    """Yield the files that a word may name: itself, ``--x=FILE``, ``@FILE``, ``REV:FILE``, ``-xFILE``."""
    if not word.startswith("-"):
        yield word
    elif len(word) > 2 and word[1] != "-":
        yield word[2:]
    rest = word
    for _ in range(4):
        found = re.search(r"[=:@,]", rest)
        if found is None:
            return
        rest = rest[found.end() :]
        if rest:
            yield rest


def _operands(given: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    is_ended = False
    for word in given:
        if word == "--" and not is_ended:
            is_ended = True
        elif (is_ended or not word.startswith("-")) and word != "-":
            found.append(word)
    return found


def _has_letter(given: tuple[str, ...], letters: str, names: tuple[str, ...]) -> bool:
    for word in given:
        if word == "--":
            return False
        if word.startswith("--"):
            if len(word) > 3 and any(name.startswith(word) for name in names):
                return True
        elif word.startswith("-") and any(letter in word for letter in letters):
            return True
    return False


def _copier(name: str, given: tuple[str, ...]) -> Iterator[Use]:
    operands = _operands(given)
    if name == "install" and _has_letter(given, "d", ("--directory",)):
        yield from (Use(word, Access.WRITE) for word in operands)
        return
    target: str | None = None
    for at, word in enumerate(given):
        if word in ("-t", "--target-directory") and at + 1 < len(given):
            target = given[at + 1]
        elif word.startswith("--target-directory="):
            target = word.partition("=")[2]
        elif word.startswith("-t") and len(word) > 2 and not word.startswith("--"):
            target = word[2:]
    sources = operands
    if target is None and len(operands) > 1:
        target, sources = operands[-1], operands[:-1]
    else:
        sources = [each for each in operands if each != target]
    is_deep = name in ALWAYS_DEEP or _has_letter(
        given, DEEP_LETTERS.get(name, ""), ("--recursive", "--archive")
    )
    # A hard link is the file itself under another name.
    is_link = name in ("ln", "link") and not _has_letter(given, "s", ("--symbolic",))
    removes = name in ("mv", "gmv") or is_link or "--remove-source-files" in given
    for word in sources:
        yield Use(word, Access.WRITE if removes else Access.READ, is_deep)
        if removes:
            yield Use(word, Access.READ, is_deep)
    if target is not None:
        yield Use(target, Access.WRITE)
        for word in sources:
            last = word.rstrip("/").rpartition("/")[2]
            if last:
                yield Use(f"{target.rstrip('/')}/{last}", Access.WRITE)
        if name == "rsync" and any(each.startswith("--delete") for each in given):
            yield Use(target, Access.WRITE, True)


def _pattern_reader(name: str, given: tuple[str, ...]) -> Iterator[Use]:
    has_pattern = any(
        each in _PATTERN_FLAGS
        or each.partition("=")[0] in _PATTERN_FLAGS
        or (each[:2] in ("-e", "-f") and len(each) > 2)
        for each in given
    ) or (name == "rg" and "--files" in given)
    is_sed = name.endswith("sed") or name == "yq"
    writes = is_sed and any(
        each.startswith("--in-place") or (each.startswith("-") and not each.startswith("--") and "i" in each)
        for each in given
    )
    is_deep = name in ALWAYS_DEEP or _has_letter(
        given, DEEP_LETTERS.get(name, ""), ("--recursive", "--dereference-recursive")
    )
    is_hidden_too = name != "rg" or any(
        each in ("--hidden", "-.", "-uu", "-uuu", "--no-ignore") for each in given
    )
    skip_next = False
    found = False
    for at, word in enumerate(given):
        if skip_next:
            skip_next = False
            before = given[at - 1]
            if before in _FILE_FLAGS:
                yield Use(word, Access.READ)
            continue
        if word in (
            "-e",
            "-f",
            "--regexp",
            "--expression",
            "--file",
            "--source",
            "-A",
            "-B",
            "-C",
            "-m",
            "-F",
            "-v",
        ) and (word not in ("-F", "-v") or name.endswith("awk")):
            skip_next = True
            continue
        if word.startswith("-") and word != "-":
            sign = word.partition("=")
            if sign[0] in _FILE_FLAGS and sign[1]:
                yield Use(sign[2], Access.READ)
            elif word.startswith("-f") and len(word) > 2:
                yield Use(word[2:], Access.READ)
            continue
        if not has_pattern:
            has_pattern = True
            continue
        found = True
        yield Use(word, Access.WRITE if writes else Access.READ, is_deep, not is_hidden_too)
        if writes:
            yield Use(word, Access.READ)
    if is_deep and not found:
        yield Use(".", Access.READ, True, not is_hidden_too)


def _git(given: tuple[str, ...]) -> Iterator[Use]:
    at = 0
    while at < len(given) and given[at].startswith("-"):
        at += 2 if given[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
    if at >= len(given):
        return
    verb, rest = given[at], given[at + 1 :]
    if verb in ("init", "clone", "worktree", "format-patch", "bundle", "config"):
        for place, word in enumerate(rest):
            before = rest[place - 1] if place else ""
            if before in ("-f", "--file", "-o", "--output", "--output-directory", "--separate-git-dir"):
                yield Use(word, Access.WRITE, before in ("-o", "--output-directory"))
            elif word.startswith(("--file=", "--output=", "--output-directory=", "--separate-git-dir=")):
                yield Use(word.partition("=")[2], Access.WRITE)
            elif verb in ("init", "clone", "worktree") and not word.startswith("-"):
                yield Use(word, Access.WRITE)
        return
    if verb in _GIT_INERT:
        # Only a file that holds the message is opened.
        for place, word in enumerate(rest):
            if word in ("-F", "--file", "-t", "--template") and verb in ("commit", "tag", "merge"):
                yield Use(rest[place + 1] if place + 1 < len(rest) else "", Access.READ)
            elif word.startswith(("--file=", "--template=", "--global", "--pathspec-from-file=")):
                yield Use(word.partition("=")[2], Access.READ)
        return
    if verb in _GIT_WRITERS:
        for word in rest:
            for form in _forms(word):
                yield Use(form, Access.WRITE, True)
        return
    if verb in ("apply", "am"):
        yield Use(words.ANY, Access.WRITE)
    is_pattern = verb == "grep" and not any(each in ("-e", "-f") for each in rest)
    if verb == "grep" and "--" not in rest:
        yield Use(".", Access.READ, True, not any(each in ("--no-index", "--untracked") for each in rest))
    for place, word in enumerate(rest):
        if is_pattern and not word.startswith("-"):
            is_pattern = False
            continue
        if verb == "apply" and not word.startswith("-"):
            yield Use(word, Access.READ)
            continue
        if word.startswith("--output=") or (place and rest[place - 1] in ("--output", "-o")):
            yield Use(word.partition("=")[2] or word, Access.WRITE)
        for form in _forms(word):
            yield Use(form, Access.READ)


def _find(given: tuple[str, ...]) -> Iterator[Use]:
    for at, word in enumerate(given):
        if word in ("-fprint", "-fprint0", "-fls", "-fprintf") and at + 1 < len(given):
            yield Use(given[at + 1], Access.WRITE)
        elif word == "-files0-from" and at + 1 < len(given):
            yield Use(given[at + 1], Access.READ)


def _with_output(given: tuple[str, ...], flags: tuple[str, ...]) -> Iterator[Use]:
    """Yield what an argument may name as read, and what stands behind one of `flags` as written.

    What stands behind one of `_INTO` is a folder that files are written into.
    """
    letters = "".join(flag[1] for flag in flags if len(flag) == 2)
    for at, word in enumerate(given):
        name, sign, value = word.partition("=")
        is_cluster = len(word) > 1 and word[0] == "-" and word[1] != "-"
        if word in flags and at + 1 < len(given):
            yield Use(given[at + 1], Access.WRITE, word in _INTO)
        elif sign and name in flags:
            yield Use(value, Access.WRITE, name in _INTO)
        elif is_cluster:
            for place, letter in enumerate(word[1:], 1):
                if letter in letters:
                    rest = word[place + 1 :] or (given[at + 1] if at + 1 < len(given) else "")
                    yield Use(rest, Access.WRITE, f"-{letter}" in _INTO)
                    break
        for form in _forms(word):
            yield Use(form, Access.READ)
