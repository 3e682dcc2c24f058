"""What no rule can allow: that an agent changes Devplane itself, or the rules that bind it."""

from __future__ import annotations

import re

from devplane.core.policy import words
from devplane.core.policy.files import Access
from devplane.core.policy.line import Command
from devplane.core.policy.paths import PathPattern, normal
from devplane.core.policy.reading import Ground, Target

CONFIG_NAME = "devplane.toml"
READABLE = ("policy.toml",)
"""Files of the home that an agent may read; the rest can hold keys, or what others said."""
WORKTREES = "worktrees"
"""The folder of the home in which agents work."""

_GIT_OWN = re.compile(
    r"(?:^|/)\.git/(?:hooks(?:/|$)|config(?:\.worktree)?$|modules/.*/(?:hooks(?:/|$)|config$))"
)


class Protection:
    """The places that belong to Devplane and to the person alone.

    `home`: Devplane's own folder. `roots`: the folders whose ``devplane.toml`` counts.
    """

    def __init__(self, home: str, roots: tuple[str, ...]) -> None:
        self._home = normal(home)
        self._configs = tuple(f"{root.rstrip('/')}/{CONFIG_NAME}" for root in roots if root)
        self._roots = tuple(root for root in roots if root)

    def why(self, target: Target, ground: Ground, command: Command | None) -> str | None:
        """Return why nobody may do this to `target`, or ``None``."""
        homes = ground.spellings(self._home)
        for home in homes:
            if target.glob:
                if not target.is_hidden and self._meets_home(target, home):
                    return f"{words.shown(target.shown)} can be a file of Devplane's own"
                continue
            for path in target.paths:
                if (why := self._of_home(target, path, home)) is not None:
                    return why
        if target.access is Access.READ:
            return None
        # `git checkout .` puts back what was committed, as `git stash` and `git switch` do.
        restores = command is not None and command.name == "git" and "rm" not in command.words
        return self._of_rules(target, ground, is_deep=target.is_deep and not restores)

    def _meets_home(self, target: Target, home: str) -> bool:
        everything = PathPattern("/**", home, False)
        return everything.meets(target.glob, home, anywhere=False) and not PathPattern(
            f"/{WORKTREES}/**", home, False
        ).meets(target.glob, home, anywhere=False)

    def _of_home(self, target: Target, path: str, home: str) -> str | None:
        is_in = path == home or path.startswith(home + "/")
        inside = path[len(home) + 1 :] if is_in else ""
        if is_in and inside.partition("/")[0] == WORKTREES and "/" in inside:
            return None
        if target.access is Access.READ:
            if is_in and inside and inside not in READABLE:
                return "an agent may not read Devplane's own files"
            return None
        if is_in:
            return "an agent may not change Devplane's own files"
        if target.access is Access.WRITE and home.startswith(path.rstrip("/") + "/") and target.is_deep:
            return "it holds Devplane's own files"
        return None

    def _of_rules(self, target: Target, ground: Ground, *, is_deep: bool) -> str | None:
        for config in self._configs:
            for spelling in ground.spellings(config):
                if target.glob:
                    folder, _, _ = spelling.rpartition("/")
                    pattern = PathPattern("/" + CONFIG_NAME, folder, False)
                    if (
                        not target.is_hidden
                        and target.access is Access.WRITE
                        and pattern.meets(target.glob, folder, anywhere=False)
                    ):
                        return f"an agent may not change the {CONFIG_NAME} that binds it"
                    continue
                for path in target.paths:
                    if path == spelling and target.access is Access.WRITE:
                        return f"an agent may not change the {CONFIG_NAME} that binds it"
                    if (
                        is_deep
                        and target.access is Access.WRITE
                        and spelling.startswith(path.rstrip("/") + "/")
                    ):
                        return f"it holds the {CONFIG_NAME} that binds the agent"
        if target.access is Access.WRITE:
            for path in target.paths:
                if _GIT_OWN.search(path):
                    return "an agent may not change what git runs by itself (.git/hooks, .git/config)"
                if is_deep and (path.endswith("/.git")):
                    return "it holds what git runs by itself (.git/hooks)"
        return None
