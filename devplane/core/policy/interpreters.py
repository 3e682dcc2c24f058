"""Programs that run a language of their own: when what they are told is only text, and when it is code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devplane.core.policy import words
from devplane.core.policy.line import Command, Doubt

_CODE_FLAGS: dict[str, tuple[str, ...]] = {
    "python": ("c",),
    "node": ("e", "p", "eval", "print", "r", "require", "import"),
    "deno": (),
    "bun": ("e", "eval", "p", "print"),
    "perl": ("e", "E", "n", "p", "i"),
    "ruby": ("e",),
    "php": ("r", "B", "R", "E"),
    "lua": ("e",),
    "rscript": ("e",),
    "julia": ("e", "E"),
    "r": ("e",),
    "elixir": ("e",),
    "scala": ("e",),
    "groovy": ("e",),
    "tclsh": (),
}
INTERPRETER = re.compile(
    r"(python|pypy|node|nodejs|deno|bun|perl|ruby|php|lua|luajit|rscript|julia|elixir|groovy|tclsh|fish|nu|xonsh|elvish|csh|tcsh)[\d.]*"
)
_HARMLESS = frozenset({"--version", "-V", "--help", "-h", "-v", "--v8-options"})
_MODULE = {"python": "m", "pypy": "m"}
# What one sed script may be made of without running or writing anything.
_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:[,~+]?(?:\d+|\$|/(?:[^/\\\n]|\\.)*/))?\s*!?\s*"
_SED_SUBSTITUTE = r"s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1[gpiIm\d]*"
_SED_SAFE = re.compile(
    rf"\s*(?:(?:{_SED_ADDRESS})?(?:{_SED_SUBSTITUTE}|[pdqQDPNnGgHhxlz=]\d*|[{{}}]|[aic]\\?[^\n]*)\s*[;}}\n]*\s*)*",
    re.DOTALL,
)
_AWK_RUNS = re.compile(r"system\s*\(|(?<!\|)\|(?!\|)|getline|@load|@include")


def sed_doubts(command: Command) -> Iterator[Doubt]:
    for script in _scripts(command, "e", ("--expression",), ("-f", "--file")):
        if script is None or not words.is_literal(script):
            # An expansion inside a script is text for most people, and code for those who mean harm.
            yield Doubt("hides what sed is told")
        elif not _SED_SAFE.fullmatch(script):
            yield Doubt("may have sed run or write something")


def _prints_to_a_file(statement: str) -> bool:
    _, found, behind = statement.partition("print")
    return bool(found) and re.search(r">(?!=)", behind) is not None


def awk_doubts(command: Command) -> Iterator[Doubt]:
    for script in _scripts(
        command, "e", ("--source",), ("-f", "--file", "-i", "-l", "-E", "--exec", "--include", "--load")
    ):
        if script is None or not words.is_literal(script):
            yield Doubt("hides what awk is told")
        elif _AWK_RUNS.search(script) or any(_prints_to_a_file(each) for each in re.split(r"[;}\n]", script)):
            yield Doubt("may have awk run or write something")


def _scripts(
    command: Command, letter: str, names: tuple[str, ...], files: tuple[str, ...]
) -> Iterator[str | None]:
    """Yield the scripts that a text tool is given; ``None`` for one that is in a file."""
    given = command.words
    found = False
    at = 1
    while at < len(given):
        word = given[at]
        name, sign, value = word.partition("=")
        if word in (f"-{letter}", *names):
            found = True
            at += 1
            yield given[at] if at < len(given) else None
        elif sign and name in names:
            found = True
            yield value
        elif word in files or (sign and name in files) or (len(word) > 2 and word[:2] == "-f" and word[2:]):
            found = True
            yield None
            at += 1
        elif (
            word.startswith("-")
            and not word.startswith("--")
            and word.endswith(letter)
            and command.name.endswith("sed")
        ):
            found = True
            at += 1
            yield given[at] if at < len(given) else None
        elif word in ("-F", "-v"):
            at += 1
        elif not word.startswith("-") and not found:
            found = True
            yield word
        at += 1


def interpreter_doubts(command: Command, kind: str) -> Iterator[Doubt]:
    given = command.words
    name = command.name
    kind = {"pypy": "python", "nodejs": "node", "luajit": "lua"}.get(kind, kind)
    if len(given) == 2 and given[1] in _HARMLESS:
        return
    if kind in ("deno", "bun"):
        verb = next((each for each in given[1:] if not each.startswith("-")), "")
        if verb in ("eval", "repl", "-") or any(
            each in ("-e", "--eval", "-p", "--print") for each in given[1:]
        ):
            yield Doubt(f"runs code given to {name}")
        elif not verb:
            yield Doubt(f"feeds code to {name}")
        return
    flags = _CODE_FLAGS.get(kind, ("c", "e"))
    at = 1
    while at < len(given):
        word = given[at]
        if not words.is_literal(word) and (words.is_hidden(word) or word.startswith("-")):
            yield Doubt(f"hides what {name} runs")
            return
        if word == "-":
            break
        if not word.startswith("-"):
            yield Doubt(f"runs a script that nobody has read ({words.shown(word)})", at)
            return
        long = word[2:].partition("=")[0] if word.startswith("--") else ""
        letters = "" if word.startswith("--") else word[1:]
        module = _MODULE.get(kind)
        if module is not None and module in letters and not set(letters.partition(module)[0]) & set(flags):
            return
        if (long and long in flags) or set(letters) & {each for each in flags if len(each) == 1}:
            yield Doubt(f"runs code given to {name}")
            return
        if kind == "node" and (
            long == "test" or long == "check" or letters == "c" or long in ("run", "test-only")
        ):
            return
        at += 2 if word in ("-W", "-X", "-I", "-C", "--loader", "--env-file", "--conditions") else 1
    yield Doubt(f"feeds code to {name}")
