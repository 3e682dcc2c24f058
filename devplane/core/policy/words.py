"""A word of a command line as the shell would see it, with marks where nobody can know.

What an expansion puts in is marked, not guessed: a word is a plain `str` in which four
private characters stand for text that the line does not show.
"""

from __future__ import annotations

import re
from functools import lru_cache

ANY = "\uf8f0"
"""An expansion: any text, slashes and further words included."""
STAR = "\uf8f1"
"""An unquoted ``*``: any text without a slash, not a leading dot."""
ONE = "\uf8f2"
"""An unquoted ``?`` or ``[…]``: one character."""
HOME = "\uf8f3"
"""The person's home folder: ``~`` or ``$HOME``."""

PIPED = "/dev/fd/63"
"""The name that a process substitution stands for."""

MARKS = f"[{ANY}{STAR}{ONE}{HOME}]"
_WILD = re.compile(f"[{ANY}{STAR}{ONE}]")

ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_ANSI_C = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)


def names(text: str) -> frozenset[str]:
    """Return the words of a table of names."""
    return frozenset(text.split())


def is_literal(word: str) -> bool:
    """Whether the shell would see exactly this text; `HOME` counts as known."""
    return _WILD.search(word) is None


def is_hidden(word: str) -> bool:
    """Whether an expansion makes up some of it, so that it may also be several words or none."""
    return ANY in word


def shown(word: str) -> str:
    """Return the word for a person: marks as what stood there."""
    return word.translate({ord(ANY): "…", ord(STAR): "*", ord(ONE): "?", ord(HOME): "~"})


def unquoted(text: str) -> str:
    """Return what the shell makes of a bare word: backslashes gone, globs and a leading ``~`` marked."""
    if text.isalnum():
        return text
    made: list[str] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char == "\\":
            at += 1
            if at < end and text[at] != "\n":
                made.append(text[at])
        elif char == "*":
            made.append(STAR)
        elif char == "?":
            made.append(ONE)
        elif char == "[" and (close := text.find("]", at + 2)) > 0:
            made.append(ONE)
            at = close
        else:
            made.append(char)
        at += 1
    return "".join(made)


def tilde(word: str, raw: str) -> str:
    """Mark a leading ``~`` of a word that was written as `raw`; another user's home is anything."""
    if not raw.startswith("~"):
        return word
    if word == "~" or word.startswith("~/"):
        return HOME + word[1:]
    if word == "~+" or word.startswith("~+/"):
        return "." + word[2:]
    return ANY + word[len(word.partition("/")[0]) :]


def double_quoted(text: str) -> str:
    """Return the text between double quotes without the backslashes that the shell removes."""
    return re.sub(r'\\([\\"$`])|\\\n', lambda found: found.group(1) or "", text) if "\\" in text else text


def ansi_c(text: str) -> str:
    """Return the text between ``$'`` and ``'`` with its escapes carried out."""
    return _ANSI_C.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, single = found.groups()
    if code := hexadecimal or short or long:
        value = int(code, 16)
        return chr(value) if value < 0x110000 else ANY
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control.upper()) & 0x1F)
    return ESCAPES.get(single, single if single in "\\'\"?" else "\\" + single)


BRACES_LIMIT = 64
"""Words that one brace list may become; a longer one is not spelt out."""


def braces(word: str, raw: str) -> list[str]:
    """Return the words that ``{a,b}`` in an unquoted word makes; `raw` is the word as written."""
    if "{" not in raw or "}" not in raw or ("," not in raw and ".." not in raw):
        return [word]
    if word != raw or ".." in raw:
        return [ANY]
    made = [""]
    at = 0
    for found in re.finditer(r"\{([^{}]*,[^{}]*)\}", word):
        before = word[at : found.start()]
        made = [each + before + choice for each in made for choice in found.group(1).split(",")]
        at = found.end()
        if len(made) > BRACES_LIMIT:
            return [ANY]
    rest = word[at:]
    if "{" in rest and ("," in rest or ".." in rest):
        return [ANY]
    return [each + rest for each in made]


@lru_cache(maxsize=4096)
def glob(pattern: str) -> re.Pattern[str]:
    """Return a matcher of whole words for a pattern in which `STAR` spans anything."""
    return re.compile(
        "".join(".*" if char == STAR else re.escape(char) for char in pattern), re.DOTALL | re.IGNORECASE
    )
