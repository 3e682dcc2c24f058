"""What ``find`` finds, as words: for the commands that it or ``xargs`` runs on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from devplane.core.policy import words


def placed(given: Sequence[str], sign: str, found: Sequence[str]) -> tuple[str, ...]:
    """Put what was found where `sign` stands; as part of a word it can be anything."""
    made: list[str] = []
    for word in given:
        if word == sign:
            made += found
        else:
            made.append(words.ANY if sign in word else word)
    return tuple(made)


_FIND_ALTERNATIVES = frozenset({"-o", "-or", ",", "!", "-not"})


def found_by(given: Sequence[str]) -> list[str]:
    """What a ``find`` finds, as words: beneath its roots, with the name that it asks for."""
    roots = roots_of_find(tuple(given))
    behind = given[1 + len(roots) :]
    if not all(words.is_literal(root) and root[0] != "-" for root in roots):
        return [words.ANY]
    name = ""
    if not _FIND_ALTERNATIVES & set(behind):
        name = next((after for word, after in pairwise(behind) if word == "-name"), "")
    # It is a pattern of find's own, whose star takes a dot as well.
    name = re.sub(r"\[[^\]]*\]|\?", words.ONE, name).replace("*", words.ANY).replace(words.STAR, words.ANY)
    beneath = f"{words.ANY}/{name}" if name else words.ANY
    return [f"{root.rstrip('/')}/{beneath}" for root in roots]


def roots_of_find(given: tuple[str, ...]) -> tuple[str, ...]:
    roots = []
    for word in given[1:]:
        if word.startswith(("-", "(", "!")) and word not in ("-H", "-L", "-P"):
            break
        if word not in ("-H", "-L", "-P"):
            roots.append(word)
    return tuple(roots) or (".",)
