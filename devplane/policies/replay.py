"""Every request on record, put to today's rules: what would be different, and which rules are missing.

Two passes over the record and a bounded memory of families: nothing is kept of a single request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from devplane.core.permission import Authority, Call, Verdict, strictest
from devplane.policies.live import Place
from devplane.policies.offering import (
    DISTINCT_CALLS,
    Offer,
    Offering,
    Origin,
    answers,
    calls_from,
    origin_of,
    rules_for,
)
from devplane.store.answers import AskedCalls

OCCURRENCES = 3
"""A rule is offered when it would have answered so many requests."""
OFFERS_LIMIT = 10
TRIED_LIMIT = 40
"""Rules that are put to the record."""
KEPT_LIMIT = 4096
"""Families, folders and verdicts that are remembered at a time."""
KEY_LIMIT_CHARS = 1000

NO_RULE = "#"
"""Begins the name of a call that no exact rule can be written for."""

Then: TypeAlias = tuple[str, str]
"""Who answered ("you", "a rule", "nobody") and what: allow, deny, or "" by nobody."""
UNANSWERED: Then = ("nobody", "")
OUTCOMES = {"allow": "allow", "allow_always": "allow", "deny": "deny", "reject_always": "deny"}
NOW = {
    Verdict.ALLOW: "allow",
    Verdict.DENY: "deny",
    Verdict.ASK: "ask",
    Verdict.UNRESOLVED: "ask",
    Verdict.UNDECIDED: "ask",
}


@dataclass(slots=True)
class Replayed:
    """What came of it."""

    requests: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    """Requests by today's verdict."""
    changes: Counter[tuple[Then, str]] = field(default_factory=Counter)
    """Requests that would end otherwise, by how they ended and what would come of them now."""
    without_calls: int = 0
    """Requests that were recorded before calls were kept: they cannot be replayed."""
    gone: dict[str, None] = field(default_factory=dict)
    """Folders that are no more."""
    offers: list[tuple[Offer, int]] = field(default_factory=list)
    """Rules with the number of questions that each would have spared, the best first."""

    @property
    def reach_you(self) -> int:
        """Requests that a person would be asked about since nothing answers them."""
        return self.verdicts[Verdict.UNRESOLVED] + self.verdicts[Verdict.UNDECIDED]


@dataclass(slots=True)
class _Family:
    """Requests that a person was asked about, and still would be, and that one rule might answer."""

    origin: Origin
    count: int = 0
    each: Counter[str] = field(default_factory=Counter)
    """How often which call came, by its exact rule, for the first few of them."""
    is_common: bool = False
    """Whether so many different requests were seen that the family's rule is the one to offer."""

    def frequent(self) -> list[str]:
        """The exact rules that would have answered often enough."""
        return [
            rule for rule, count in self.each.items() if count >= OCCURRENCES and not rule.startswith(NO_RULE)
        ]


_Key: TypeAlias = tuple[str, str]
"""The file, and the family's rule, or the exact one where there is no family."""


class Replay:
    """One look at the record under the rules as they are now."""

    def __init__(self, offering: Offering, cwd_of: Callable[[str], str | None]) -> None:
        """`cwd_of` gives the folder that a run works in, ``None`` when the run is not on record."""
        self._offering = offering
        self._cwd_of = cwd_of
        self._origins: dict[str, Origin] = {}
        self._verdicts: dict[tuple[Place, str], Verdict] = {}
        self._families: dict[_Key, _Family] = {}
        self._result = Replayed()

    def over(self, record: Callable[[], Iterable[AskedCalls]]) -> Replayed:
        """Read the record, once to count and once to try rules, and return what came of it."""
        for asked in record():
            self._count(asked)
        tried = self._candidates()
        if tried:
            self._result.offers = self._tried(record(), tried)
        return self._result

    def _count(self, asked: AskedCalls) -> None:
        result = self._result
        calls = calls_from(asked["calls"])
        if not calls:
            result.without_calls += 1
            return
        origin = self._origin(asked, calls)
        verdict = self._verdict(calls, origin)
        result.requests += 1
        result.verdicts[verdict] += 1
        then, now = _then(asked), NOW[verdict]
        if then != UNANSWERED and not _is_same(then, now):
            result.changes[then, now] += 1
        if _was_interruption(asked) and verdict in (Verdict.UNDECIDED, Verdict.UNRESOLVED):
            self._remember(calls, origin)

    def _origin(self, asked: AskedCalls, calls: tuple[Call, ...]) -> Origin:
        cwd = self._cwd_of(asked["run"]) or calls[0].cwd
        found = self._origins.get(cwd)
        if found is None:
            if len(self._origins) >= KEPT_LIMIT:
                self._origins.clear()
            found = self._origins[cwd] = origin_of(cwd)
            if found.is_gone:
                self._result.gone[cwd] = None
        return found

    def _verdict(self, calls: tuple[Call, ...], origin: Origin) -> Verdict:
        """What today's rules say; agents ask for the same things again and again."""
        key = (origin.place, repr(calls))
        found = self._verdicts.get(key)
        if found is None:
            policy = self._offering.policy(origin)
            found = strictest([policy.judge(call) for call in calls]).verdict
            if len(self._verdicts) >= KEPT_LIMIT:
                self._verdicts.clear()
            if len(key[1]) <= KEY_LIMIT_CHARS:
                self._verdicts[key] = found
        return found

    def _remember(self, calls: tuple[Call, ...], origin: Origin) -> None:
        exact, family = rules_for(calls[0], origin)
        rule = family or exact
        if rule is None:
            return
        key = (self._offering.file(origin), rule)
        found = self._families.get(key)
        if found is None:
            if len(self._families) >= KEPT_LIMIT:
                self._forget()
            found = self._families[key] = _Family(origin)
        found.count += 1
        which = exact or f"{NO_RULE}{hash((calls[0].subject, calls[0].paths))}"
        if which in found.each or len(found.each) < DISTINCT_CALLS:
            found.each[which] += 1
        found.is_common = found.is_common or len(found.each) >= DISTINCT_CALLS

    def _forget(self) -> None:
        """Drop the rarer half."""
        kept = sorted(self._families.items(), key=lambda each: -each[1].count)[: KEPT_LIMIT // 2]
        self._families = dict(kept)

    def _candidates(self) -> dict[_Key, tuple[Origin, list[str]]]:
        """The rules to try, for each family the wide one or the exact ones, of the most frequent families."""
        ordered = sorted(self._families.items(), key=lambda each: -each[1].count)
        found: dict[_Key, tuple[Origin, list[str]]] = {}
        for (file, rule), family in ordered[:TRIED_LIMIT]:
            if family.count < OCCURRENCES:
                break
            found[file, rule] = (family.origin, [rule] if family.is_common else family.frequent())
        return found

    def _tried(
        self, record: Iterable[AskedCalls], tried: dict[_Key, tuple[Origin, list[str]]]
    ) -> list[tuple[Offer, int]]:
        policies = {
            (file, rule): self._offering.trying(rule, origin)
            for (file, _), (origin, rules) in tried.items()
            for rule in rules
        }
        spared: Counter[_Key] = Counter()
        refused: set[_Key] = set()
        for asked, calls, origin in self._interruptions(record):
            exact, family = rules_for(calls[0], origin)
            file = self._offering.file(origin)
            rules = tried.get((file, family or exact or ""), (origin, []))[1]
            if not rules or self._verdict(calls, origin) is Verdict.ALLOW:
                continue
            for rule in rules:
                if not answers(policies[file, rule], calls):
                    continue
                spared[file, rule] += 1
                if _then(asked) == ("you", "deny"):
                    # A rule must not allow what a person refused.
                    refused.add((file, rule))
        best = [(key, count) for key, count in spared.most_common() if count >= OCCURRENCES]
        offers = [(Offer(rule, file), count) for (file, rule), count in best if (file, rule) not in refused]
        return offers[:OFFERS_LIMIT]

    def _interruptions(
        self, record: Iterable[AskedCalls]
    ) -> Iterator[tuple[AskedCalls, tuple[Call, ...], Origin]]:
        for asked in record:
            calls = calls_from(asked["calls"])
            if calls and _was_interruption(asked):
                yield asked, calls, self._origin(asked, calls)


def _then(asked: AskedCalls) -> Then:
    verdict, authority = asked["verdict"] or "", asked["authority"]
    outcome = OUTCOMES.get(verdict)
    if outcome is None or authority not in (Authority.RULE, Authority.BUILTIN, Authority.PERSON):
        return UNANSWERED
    return ("you" if authority == Authority.PERSON else "a rule", outcome)


def _is_same(then: Then, now: str) -> bool:
    return now == "ask" if then[0] == "you" else then[1] == now


def _was_interruption(asked: AskedCalls) -> bool:
    """Whether a person was asked: what a rule answered interrupted nobody."""
    return asked["authority"] not in (Authority.RULE, Authority.BUILTIN)
