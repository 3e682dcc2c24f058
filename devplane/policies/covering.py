"""Whether one rule says all that another says. Only what can be proved counts; a doubt is a no."""

from __future__ import annotations

import re

from devplane.core.policy import Rule, words
from devplane.core.policy.offer import runs_anything
from devplane.core.policy.wrappers import WRAPPERS

_GIT_RUNS = frozenset({"bisect", "rebase", "submodule", "filter-branch", "-c", "--exec", "-x"})
_GLOB = re.compile(r"[*?\[\]\\!]")


def covers(wide: Rule, narrow: Rule, *, as_allow: bool) -> bool:
    """Whether every call that `narrow` speaks of is one that `wide` speaks of.

    `as_allow`: both allow. Else `wide` is a deny or an ask, which is matched more generously.
    """
    if not _names_tool(wide, narrow, as_allow=as_allow):
        return False
    if wide.is_bare:
        return not as_allow or not (narrow.exact or _runs_others(narrow.command_words))
    if narrow.is_bare:
        return False
    if wide.command_words and narrow.command_words:
        return _covers_command(wide.command_words, narrow.command_words, as_allow)
    if wide.path is not None and narrow.path is not None:
        return _covers_path(wide, narrow)
    return wide.specifier == narrow.specifier


def _names_tool(wide: Rule, narrow: Rule, *, as_allow: bool) -> bool:
    if wide.tool == narrow.tool:
        return True
    if narrow.tool.startswith("mcp__") and "__" not in narrow.tool[5:]:
        # A whole server is covered by a pattern alone, whatever its tools are called.
        return wide.names_tool(narrow.tool + "__x", as_allow=as_allow) and wide.tool.endswith("*")
    return "*" not in narrow.tool and wide.names_tool(narrow.tool, as_allow=as_allow)


def _covers_command(wide: tuple[str, ...], narrow: tuple[str, ...], as_allow: bool) -> bool:
    if wide == narrow:
        return True
    *start, last = wide
    if last != words.STAR or not start or any(words.STAR in each for each in start):
        return False
    if narrow[: len(start)] != tuple(start):
        return False
    # Of what runs other programs an allow must spell these too: there a longer rule says more.
    return not as_allow or not _runs_others(narrow)


def _runs_others(command: tuple[str, ...]) -> bool:
    if not command:
        return False
    program, *rest = command
    name = program.rpartition("/")[2].casefold()
    wrapper = WRAPPERS.get(name)
    if wrapper is not None and wrapper.words:
        return any(each in wrapper.words for each in rest)
    if name == "git":
        return bool(_GIT_RUNS.intersection(rest))
    return name in ("find", "fd", "fdfind") or runs_anything(name)


def _covers_path(wide: Rule, narrow: Rule) -> bool:
    assert wide.path is not None
    assert narrow.path is not None
    if wide.path == narrow.path:
        return True
    if wide.path.base != narrow.path.base or wide.path.floats or narrow.path.floats:
        return False
    folder = wide.path.text.removesuffix("**")
    return (
        wide.path.text.endswith("/**")
        and not _GLOB.search(folder)
        and narrow.path.text.startswith(folder)
        and narrow.path.text != folder
    )
