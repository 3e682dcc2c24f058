"""From a command to the commands that it runs: wrappers, shells, ``find`` and ``git`` looked through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from devplane.core.policy import words
from devplane.core.policy.found import found_by, placed, roots_of_find
from devplane.core.policy.line import Command, Doubt
from devplane.core.policy.wrappers import WRAPPERS, Cover, Wrapper

NEST_LIMIT = 8
"""Wrappers around one command that are looked through."""


SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash"})
_SHELL_VALUED = "oO"


@dataclass(slots=True)
class Inside:
    """The commands that a command runs, and how an allow rule has to cover the two."""

    commands: list[Inside]
    command: Command
    cover: Cover = "inside"
    head: int = 0
    """How many of the command's own words come before the command inside; 0: it runs none."""
    doubts: tuple[Doubt, ...] = ()

    def all(self) -> list[Inside]:
        """This one and everything in it, the outermost first."""
        found = [self]
        for each in self.commands:
            found += each.all()
        return found


Read = Callable[[str], tuple[list[Command], list[Doubt], bool]]
"""Reads a command line that stands in another: its commands, its doubts and whether it is readable."""


def opened(command: Command, read: Read, depth: int = 0) -> Inside:
    """Return `command` with everything that it would run, wrappers and ``sh -c`` looked through."""
    name = command.name
    if not command.words:
        return Inside([], command)
    if depth > NEST_LIMIT:
        return Inside([], command, doubts=(Doubt("wraps a command too many times"),))
    if name in SHELLS:
        return _shell(command, read, depth)
    if name in ("find", "fd", "fdfind"):
        return _find(command, read, depth)
    if name == "git":
        return _git(command, read, depth)
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return Inside([], command)
    if wrapper.words and not _has_subcommand(command, wrapper):
        return Inside([], command)
    return _wrapped(command, wrapper, read, depth)


def _has_subcommand(command: Command, wrapper: Wrapper) -> bool:
    operands = [each for each in command.words[1:] if not each.startswith("-")]
    return bool(operands) and operands[0] in wrapper.words


def _wrapped(command: Command, wrapper: Wrapper, read: Read, depth: int) -> Inside:
    name = command.name
    given = list(command.words)
    at, operands, seen_word = 1, wrapper.operands, not wrapper.words
    assignments: list[tuple[str, str]] = []
    replaced = ""
    while at < len(given):
        word = given[at]
        if words.is_hidden(word) or (not words.is_literal(word) and operands == 0):
            return Inside([], command, wrapper.cover, 0, (Doubt(f"hides what {name} runs"),))
        if word == "--":
            at += 1
            if operands == 0 or wrapper.words:
                break
            continue
        if word.startswith("-") and word != "-":
            if name in ("nice", "valgrind", "firejail") and (word[1:].isdigit() or "=" in word):
                at += 1
                continue
            step, code = _flag(word, wrapper)
            if step == 0:
                return _unknown_flag(command, wrapper, given, at)
            if code is not None:
                return _code(command, wrapper, given, at, step, code, read, depth)
            if name == "xargs" and (word[1:2] == "I" or word.startswith("--replace")):
                replaced = (given[at + 1] if step == 2 and at + 1 < len(given) else word[2:]) or "{}"
                if word.startswith("--replace"):
                    replaced = word.partition("=")[2] or "{}"
            if name in ("env", "sudo") and word[1:2] in ("C", "D"):
                return _unknown_flag(command, wrapper, given, at)
            at += step
            continue
        if word == "-" and name in ("env", "su"):
            at += 1
            continue
        if not seen_word:
            seen_word = True
            at += 1
            continue
        if operands > 0:
            operands -= 1
            at += 1
            if name in ("flock", "script") and at < len(given) and given[at] in ("-c", "--command"):
                return _code(command, wrapper, given, at, 2, None, read, depth)
            continue
        if wrapper.assigns and "=" in word and word.partition("=")[0].isidentifier():
            variable, _, value = word.partition("=")
            assignments.append((variable, value))
            at += 1
            continue
        break
    if at >= len(given):
        return _bare(command, wrapper)
    if name == "watch":
        line = " ".join(words.shown(each) for each in given[at:])
        if not all(words.is_literal(each) for each in given[at:]):
            return Inside([], command, wrapper.cover, 0, (Doubt("hides what watch runs"),))
        return _line(command, wrapper.cover, at, line, read, depth)
    inner = given[at:]
    if name == "xargs":
        feeding = command.feeding
        found = found_by(feeding.words) if feeding is not None and feeding.name == "find" else [words.ANY]
        inner = list(placed(inner, replaced, found)) if replaced else [*inner, *found]
    return _run(command, wrapper, at, tuple(inner), tuple(assignments), read, depth)


def _run(
    command: Command,
    wrapper: Wrapper,
    head: int,
    inner: tuple[str, ...],
    assignments: tuple[tuple[str, str], ...],
    read: Read,
    depth: int,
) -> Inside:
    name = command.name
    inside = replace(command, words=inner, assignments=assignments, redirects=[])
    if name == "xargs":
        inside.is_fed, inside.fed_text = False, None
    if name in ("su", "runuser") and depth >= 0:
        # Whatever stands behind the user's name goes to that user's shell.
        return Inside([], command, "both", 0, (Doubt(f"hides what {name} runs"),))
    doubts: tuple[Doubt, ...] = ()
    if name in ("chroot", "nsenter"):
        doubts = (Doubt(f"runs a command elsewhere ({name})"),)
    return Inside([opened(inside, read, depth + 1)], command, wrapper.cover, head, doubts)


def _flag(word: str, wrapper: Wrapper) -> tuple[int, str | None]:
    """Return how many words a flag takes (0: it is unknown), and the letter or name if its value is code."""
    if word.startswith("--"):
        name, sign, _ = word[2:].partition("=")
        if wrapper.code and name in ("command", "split-string", "call"):
            return (1 if sign else 2), name
        if name in wrapper.long:
            return 1, None
        if name + "+" in wrapper.long:
            return (1 if sign else 2), None
        return 0, None
    for at, letter in enumerate(word[1:], 1):
        if letter == wrapper.code:
            return (1 if word[at + 1 :] else 2), letter
        if letter in wrapper.valued:
            return (1 if word[at + 1 :] else 2), None
        if letter not in wrapper.flags:
            return 0, None
    return 1, None


def _code(
    command: Command,
    wrapper: Wrapper,
    given: list[str],
    at: int,
    step: int,
    flag: str | None,
    read: Read,
    depth: int,
) -> Inside:
    word = given[at]
    if step == 2:
        code = given[at + 1] if at + 1 < len(given) else words.ANY
    elif word.startswith("--"):
        code = word.partition("=")[2]
    else:
        code = word[word.index(flag or "c") + 1 :]
    if not words.is_literal(code):
        return Inside([], command, wrapper.cover, 0, (Doubt(f"hides the code that {command.name} runs"),))
    if command.name in ("env", "genv"):
        rest = given[at + step :]
        if not all(words.is_literal(each) for each in rest) or "\\" in code or "$" in code:
            return Inside([], command, wrapper.cover, 0, (Doubt("hides what env runs"),))
        inner = (*code.split(), *rest)
        quoted = any(sign in code for sign in "'\"#")
        again = replace(command, words=("env", *inner))
        found = opened(again, read, depth + 1)
        if quoted:
            found.doubts = (*found.doubts, Doubt("hides what env runs"))
        return Inside([found], command, wrapper.cover, at + step)
    return _line(command, wrapper.cover, at, code, read, depth)


def _line(command: Command, cover: Cover, head: int, code: str, read: Read, depth: int) -> Inside:
    """A command line inside a command."""
    if "\0" in code or words.HOME in code:
        return Inside([], command, cover, head, (Doubt(f"hides the code that {command.name} runs"),))
    commands, doubts, is_readable = read(code)
    if not is_readable:
        doubts = [*doubts, Doubt("holds code that cannot be read")]
    inside = []
    for each in commands:
        each.places = tuple((*before, *after) for before in command.places for after in each.places)
        each.is_lost = each.is_lost or command.is_lost
        each.is_fed = each.is_fed or command.is_fed
        inside.append(opened(each, read, depth + 1))
    return Inside(inside, command, cover, head, tuple(doubts))


def _unknown_flag(command: Command, wrapper: Wrapper, given: list[str], at: int) -> Inside:
    if command.name in ("command",) and given[at] in ("-v", "-V", "-pv", "-pV"):
        return Inside([], command)
    if given[at] in ("--help", "--version") and at == 1:
        return Inside([], command)
    if command.name == "sudo" and given[at] in ("-l", "-v", "-k", "-K", "-V"):
        return Inside([], command)
    if wrapper.cover == "outside" and wrapper.words:
        # A flag of the subcommand itself; the whole is judged as it stands.
        return Inside([], command, doubts=(Doubt(f"gives {command.name} a flag that is not known"),))
    why = f"gives {command.name} a flag that is not known ({words.shown(given[at])})"
    return Inside([], command, wrapper.cover, 0, (Doubt(why),))


def _bare(command: Command, wrapper: Wrapper) -> Inside:
    """A wrapper without a command: it prints something, or starts a shell."""
    if command.name in ("su", "runuser", "sudo", "unshare", "chroot", "nsenter", "script", "doas"):
        return Inside([], command, "both", 0, (Doubt(f"starts a shell ({command.name})"),))
    return Inside([], command)


def _shell(command: Command, read: Read, depth: int) -> Inside:
    """``sh -c CODE``, a script, or code on standard input."""
    given = command.words
    at = 1
    while at < len(given):
        word = given[at]
        if not words.is_literal(word):
            return Inside([], command, doubts=(Doubt(f"hides what {command.name} runs"),))
        if word in ("--help", "--version"):
            return Inside([], command)
        if word.startswith("--"):
            if word == "--":
                at += 1
                break
            takes = word in ("--rcfile", "--init-file")
            if takes:
                return Inside([], command, doubts=(Doubt("runs a start-up file"),))
            at += 1
            continue
        if not word.startswith(("-", "+")) or word == "-":
            break
        if "c" in word[1:] and word.startswith("-"):
            rest = list(given[at + 1 :])
            skip = sum(letter in _SHELL_VALUED for letter in word[1:])
            rest = rest[skip:]
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            if not rest or not words.is_literal(rest[0]):
                return Inside([], command, doubts=(Doubt(f"hides the code that {command.name} runs"),))
            found = _line(command, "inside", at, rest[0], read, depth)
            if "i" in word or "l" in word:
                found.cover = "both"
            return found
        if "s" in word[1:]:
            at = len(given)
            break
        at += 1 + any(letter in _SHELL_VALUED for letter in word[1:])
    if at < len(given):
        return Inside(
            [],
            command,
            doubts=(Doubt(f"runs a script that nobody has read ({words.shown(given[at])})", at),),
        )
    if command.fed_text is not None:
        return _line(replace(command, is_fed=False), "inside", 1, command.fed_text, read, depth)
    return Inside([], command, doubts=(Doubt(f"feeds code to {command.name}"),))


_RUNS_EACH = {"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"}


def _find(command: Command, read: Read, depth: int) -> Inside:
    """``find … -exec CMD {} ;`` runs CMD, and ``-delete`` is an rm."""
    inside: list[Inside] = []
    doubts: list[Doubt] = []
    head = 0
    given = command.words
    found = found_by(given) if command.name == "find" else [words.ANY]
    for at, word in enumerate(given):
        if word in _RUNS_EACH:
            # `find` needs the operator's exact name; an expansion before it may hide another.
            end = at + 1
            while end < len(given) and given[end] not in (";", "+"):
                end += 1
            inner = placed(given[at + 1 : end], "{}", found)
            if command.name != "find" and words.ANY not in inner:
                inner = (*inner, words.ANY)
            head = head or at + 1
            if inner:
                inside.append(
                    opened(replace(command, words=inner, redirects=[], assignments=()), read, depth + 1)
                )
        elif word == "-delete":
            roots = roots_of_find(given)
            inside.append(
                Inside([], replace(command, words=("rm", "-rf", *roots), redirects=[], assignments=()))
            )
            head = head or at + 1
    return Inside(inside, command, "both" if inside else "inside", head, tuple(doubts))


_GIT_VALUED = {
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--config-env",
    "--super-prefix",
}


def _git(command: Command, read: Read, depth: int) -> Inside:
    """What git runs by itself: ``rebase --exec``, ``bisect run``, ``submodule foreach``, ``difftool -x``."""
    given = command.words
    at, places, is_lost = 1, command.places, command.is_lost
    while at < len(given) and given[at].startswith("-"):
        if given[at] == "-C" and at + 1 < len(given):
            if words.is_literal(given[at + 1]):
                places = tuple((*place, given[at + 1]) for place in places)
            else:
                is_lost = True
        at += 2 if given[at] in _GIT_VALUED else 1
    command.places, command.is_lost = places, is_lost
    if at >= len(given):
        return Inside([], command)
    verb, rest = given[at], given[at + 1 :]
    code: list[str] = []
    if verb == "rebase":
        code = _values(rest, ("-x", "--exec"))
    elif verb == "difftool":
        code = _values(rest, ("-x", "--extcmd"))
    elif verb == "filter-branch":
        return Inside([], command, doubts=(Doubt("runs the filters of git filter-branch"),))
    elif verb == "submodule" and "foreach" in rest:
        behind = [
            each for each in rest[rest.index("foreach") + 1 :] if each not in ("--recursive", "-q", "--quiet")
        ]
        code = [" ".join(behind)]
    elif verb == "bisect" and rest[:1] == ("run",):
        inner = replace(command, words=rest[1:], redirects=[])
        return Inside([opened(inner, read, depth + 1)] if rest[1:] else [], command, "both", at + 2)
    if not code:
        return Inside([], command)
    if not all(words.is_literal(each) for each in code):
        return Inside([], command, doubts=(Doubt("hides what git runs"),))
    found = Inside([], command, "both", at)
    for each in code:
        made = _line(command, "both", at, each, read, depth)
        found.commands += made.commands
        found.doubts += made.doubts
    return found


def _values(given: tuple[str, ...], flags: tuple[str, ...]) -> list[str]:
    """The values of a flag, however it is written."""
    found = []
    for at, word in enumerate(given):
        name, sign, value = word.partition("=")
        if word in flags:
            found.append(given[at + 1] if at + 1 < len(given) else words.ANY)
        elif sign and name in flags:
            found.append(value)
        elif word.startswith(flags[0]) and not word.startswith("--"):
            found.append(word[2:])
    return found
