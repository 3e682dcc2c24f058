"""Which one rule would have answered a request: put to the rules in force before anybody sees it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devplane.core.permission import Call, Verdict
from devplane.core.policy import Policy
from devplane.core.policy.offer import offers
from devplane.policies.live import Place, Policies

DISTINCT_CALLS = 3
"""A family is offered when so many different calls of it were seen; before that, the very call."""
FAMILIES_LIMIT = 4096
"""Families that are remembered; the ones seen longest ago go first."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A rule that nobody wrote yet, and the file that it would go into, in the list ``auto_allow``."""

    rule: str
    file: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where requests come from."""

    place: Place
    is_gone: bool
    """Whether the folder is no more: then only the machine's rules speak of what came from it."""


def origin_of(cwd: str) -> Origin:
    if os.path.isdir(cwd):
        return Origin(Place.of(cwd), False)
    return Origin(Place(Path(cwd), Path(cwd)), True)


def calls_from(recorded: Iterable[Mapping[str, Any]]) -> tuple[Call, ...]:
    """Return the calls of one request as the store has them."""
    return tuple(
        Call(each["tool"], each["subject"], each["cwd"], tuple(each["paths"]), each["input"])
        for each in recorded
    )


def rules_for(call: Call, origin: Origin) -> tuple[str | None, str | None]:
    """Return the rule for this very call and the one for its family, spelt for the folder it came from."""
    here = os.path.realpath(call.cwd)
    paths = tuple(
        os.path.relpath(path, call.cwd) if path.startswith(call.cwd.rstrip("/") + "/") else path
        for path in call.paths
    )
    return offers(replace(call, cwd=here, paths=paths), "" if origin.is_gone else str(origin.place.checkout))


class Families:
    """How many different calls of each family were seen, and in which somebody said no."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, str], set[int]] = {}
        self._refused: set[tuple[Path, str]] = set()

    def note(self, calls: Sequence[Call], origin: Origin, *, was_refused: bool) -> None:
        """Take in one request; `was_refused`: a person said no to it."""
        for call in calls:
            rule = rules_for(call, origin)[1]
            if rule is None:
                continue
            key = (origin.place.root, rule)
            seen = self._seen.pop(key, set())
            self._seen[key] = seen
            if len(seen) < DISTINCT_CALLS:
                seen.add(hash((call.subject, call.paths)))
            if was_refused:
                self._refused.add(key)
            while len(self._seen) > FAMILIES_LIMIT:
                oldest = next(iter(self._seen))
                del self._seen[oldest]
                self._refused.discard(oldest)

    def is_common(self, rule: str, origin: Origin) -> bool:
        """Whether the family is one to offer: seen often enough, and never refused."""
        key = (origin.place.root, rule)
        return len(self._seen.get(key, ())) >= DISTINCT_CALLS and key not in self._refused


class Offering:
    """Finds offers under the policies of one home, read once for each place."""

    def __init__(self, policies: Policies, machine_file: Path) -> None:
        self._policies = policies
        self._machine_file = machine_file
        self._made: dict[Place, Policy] = {}

    def policy(self, origin: Origin) -> Policy:
        """Return the rules in force for what comes from there."""
        found = self._made.get(origin.place)
        if found is None:
            found = self._made[origin.place] = self._policies.policy(origin.place)
        return found

    def trying(self, rule: str, origin: Origin) -> Policy:
        """Return the same with one rule more, where `file` says."""
        return self._policies.with_rule(origin.place, rule, is_for_machine=origin.is_gone)

    def file(self, origin: Origin) -> str:
        """Return the file that a rule for what comes from there belongs into."""
        return str(self._machine_file if origin.is_gone else origin.place.config)

    def offer(self, calls: Sequence[Call], origin: Origin, families: Families) -> Offer | None:
        """Return the narrowest rule that would have answered the request; ``None`` where no rule would."""
        policy = self.policy(origin)
        waiting = [call for call in calls if policy.judge(call).verdict is not Verdict.ALLOW]
        if not waiting:
            return None
        exact, family = rules_for(waiting[0], origin)
        wanted = [exact]
        if family is not None and families.is_common(family, origin):
            wanted.insert(0, family)
        for rule in dict.fromkeys(wanted):
            if rule is not None and answers(self.trying(rule, origin), calls):
                return Offer(rule, self.file(origin))
        return None


def answers(policy: Policy, calls: Sequence[Call]) -> bool:
    """Whether `policy` allows a request, however it is read."""
    return bool(calls) and all(policy.judge(call).verdict is Verdict.ALLOW for call in calls)
