"""Which files govern a folder, and the evaluator made of them as they are now.

The one place where a `Policy` is made: the daemon, ``explain``, ``check`` and the inbox ask here,
so that all of them judge alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from devplane.config import CONFIG_NAME
from devplane.core.permission import Call, Judge, Ruling
from devplane.core.policy import Policy, parse
from devplane.files import Unreadable, read_text
from devplane.paths import Home
from devplane.policies.disk import RealDisk
from devplane.policies.text import Document, read_document, unreadable
from devplane.worktrees.checkout import root_of, worktree_of


def nobody_trusts(root: str) -> bool:
    """For a place where trust cannot be told: nothing is allowed by a repository's own file."""
    return False


@dataclass(frozen=True, slots=True)
class Place:
    """Where calls come from, found out once: links and owners do not move under a run."""

    root: Path
    """The folder of the ``devplane.toml`` that governs, whether it is there or not."""
    checkout: Path
    """The root itself, or its linked worktree that the calls come from."""

    @classmethod
    def of(cls, cwd: str) -> Place:
        root = root_of(Path(cwd))
        return cls(root, worktree_of(root, Path(cwd)) or root)

    @property
    def config(self) -> Path:
        return self.root / CONFIG_NAME


class Policies:
    """The policies of one home."""

    def __init__(
        self,
        home: Home,
        *,
        person_home: str | None = None,
        is_trusted: Callable[[str], bool] = nobody_trusts,
    ) -> None:
        """`is_trusted` says of a root whether a person trusts it, asked at every call."""
        self._home = home
        self._person_home = person_home or os.path.expanduser("~")
        self._is_trusted = is_trusted

    def judge_in(self, cwd: str, *, writes: bool = True) -> Judge:
        """Return what judges the calls that come from `cwd`, by the files as they are at each call."""
        live = _Live(self, Place.of(cwd), writes)
        return live.judge

    def policy(self, place: Place, *, writes: bool = True) -> Policy:
        """Return the evaluator of a place as its files are now."""
        return self.made(place, self.documents(place), writes=writes)

    def with_rule(self, place: Place, text: str, *, is_for_machine: bool = False) -> Policy:
        """Return the evaluator of a place as if a file allowed one thing more: its own, or the machine's.

        Raises:
            RuleBroken: `text` is no rule.
        """
        documents = list(self.documents(place))
        at = 1 if is_for_machine else 0
        rules = documents[at].rules
        added = parse(text, rules.file, 0, folder=rules.folder)
        documents[at] = replace(documents[at], rules=replace(rules, auto_allow=(*rules.auto_allow, added)))
        return self.made(place, tuple(documents))

    def documents(self, place: Place) -> tuple[Document, ...]:
        """Return the governing files, the project's first, read now."""
        is_trusted = self._is_trusted(str(place.root))
        texts = self.texts(place)
        return tuple(
            unreadable(file, said.reason)
            if isinstance(said, _NoText)
            else read_document(said, file, is_project=is_project, is_trusted=is_trusted or not is_project)
            for file, is_project, said in texts
        )

    def made(self, place: Place, documents: tuple[Document, ...], *, writes: bool = True) -> Policy:
        return Policy(
            [each.rules for each in documents],
            home=self._person_home,
            devplane_home=str(self._home.root),
            disk=RealDisk(),
            root=str(place.root),
            checkout=str(place.checkout),
            writes=writes,
        )

    def texts(self, place: Place) -> tuple[tuple[Path, bool, str | _NoText | None], ...]:
        return (
            (place.config, True, _text(place.config)),
            (self._home.policy_file, False, _text(self._home.policy_file)),
        )

    def state(self, place: Place) -> object:
        """Return a value that changes with anything that the rules of `place` depend on."""
        return self.texts(place), self._is_trusted(str(place.root))


class _Live:
    """One place's evaluator, made anew when a file's text or the trust changed.

    The texts are compared, not their times: two saves within one tick of a file system's clock
    must both count.
    """

    def __init__(self, policies: Policies, place: Place, writes: bool) -> None:
        self._policies = policies
        self._place = place
        self._writes = writes
        self._state: object = None
        self._policy: Policy | None = None

    def judge(self, call: Call) -> Ruling:
        state = self._policies.state(self._place)
        if self._policy is None or state != self._state:
            self._policy = self._policies.policy(self._place, writes=self._writes)
            self._state = state
        return self._policy.judge(call)


def document_of(file: Path, *, is_project: bool, is_trusted: bool = True) -> Document:
    """Return the policy in one file as it is now, and everything that is wrong with it."""
    said = _text(file)
    if isinstance(said, _NoText):
        return unreadable(file, said.reason)
    return read_document(said, file, is_project=is_project, is_trusted=is_trusted)


@dataclass(frozen=True, slots=True)
class _NoText:
    reason: str


def _text(file: Path) -> str | _NoText | None:
    try:
        return read_text(file)
    except Unreadable as error:
        return _NoText(str(error))
