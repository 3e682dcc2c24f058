"""Names for the folders and branches of works, from a title that a person typed."""

from __future__ import annotations

import re
import unicodedata

BRANCH_PREFIX = "devplane/"

WORDS = 5
LIMIT_CHARS = 60
_TAIL_CHARS = 6

_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def slug_of(title: str, id: str) -> str:  # noqa: A002 - it is what the other modules call it
    """Return the first five words of `title` and the last six characters of `id`, joined by ``-``.

    Lower-case ASCII letters, digits and hyphens, at most 60 characters: a file name and a
    part of a branch name on every system. Accents are dropped, and letters that have no
    ASCII form. A title without a word gives ``work-`` and the end of the id.
    """
    tail = re.sub(r"[^a-z0-9]", "", id.lower())[-_TAIL_CHARS:]
    words = "-".join(re.findall(r"[a-z0-9]+", _ascii(title))[:WORDS])
    head = words[: LIMIT_CHARS - 1 - _TAIL_CHARS].rstrip("-") or "work"
    return f"{head}-{tail}" if tail else head


def branch_of(slug: str) -> str:
    """Return the branch of the work that `slug` names."""
    return BRANCH_PREFIX + slug


def is_branch_name(name: str) -> bool:
    """Say whether git accepts `name` for a branch (https://git-scm.com/docs/git-check-ref-format).

    Such a name is no option and no expression: it can only mean a branch. ``@`` and ``HEAD``
    are refused for that reason, whatever git makes of them.
    """
    if not name or name in ("@", "HEAD") or name.startswith(("-", "/")) or name.endswith((".", "/")):
        return False
    if _FORBIDDEN_IN_REF.search(name):
        return False
    return not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))


def _ascii(title: str) -> str:
    """Return `title` in lower case with its letters as ASCII ones.

    A letter without an ASCII form leaves no gap, so that a word stays one word.
    """
    decomposed = unicodedata.normalize("NFKD", title.casefold()).lower()
    return "".join(
        char for char in decomposed if char.isascii() or not (char.isalnum() or unicodedata.combining(char))
    )
