"""The rule that would have answered a request, for the person who is asked instead. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from devplane.cli import asking, render
from devplane.cli.common import home, policies, reader
from devplane.core.text import one_line
from devplane.errors import DevplaneError

if TYPE_CHECKING:
    from devplane.core.permission import Call
    from devplane.policies.offering import Families, Offer, Origin
    from devplane.store.answers import AskRow
    from devplane.store.queries import Reader

REQUESTS_LOOKED_AT = 500
"""The newest ones on record: among them a family must have been seen."""


def offers_for(store: Reader, asks: Iterable[AskRow]) -> dict[str, Offer]:
    """Return, by the ask, the narrowest rule that would have answered each permission request."""
    wanted = {ask["id"] for ask in asks if ask["kind"] == "permission"}
    if not wanted:
        return {}
    from devplane.policies.offering import Offering

    families, waiting = _seen(store, wanted)
    offering = Offering(policies(), home().policy_file)
    found = {ask: offering.offer(*each, families) for ask, each in waiting.items()}
    return {ask: offer for ask, offer in found.items() if offer is not None}


def _seen(store: Reader, wanted: set[str]) -> tuple[Families, dict[str, tuple[tuple[Call, ...], Origin]]]:
    """Return the families on record, and what the `wanted` requests ask for."""
    from devplane.core.permission import Authority
    from devplane.policies.offering import Families, calls_from

    families = Families()
    origins: dict[str, Origin] = {}
    waiting = {}
    for asked in store.calls(REQUESTS_LOOKED_AT):
        calls = calls_from(asked["calls"])
        if not calls:
            continue
        run = asked["run"]
        if run not in origins:
            origins[run] = _origin(store, run, calls)
        is_refused = asked["authority"] == Authority.PERSON and asked["verdict"] in ("deny", "reject_always")
        families.note(calls, origins[run], was_refused=is_refused)
        if asked["ask"] in wanted:
            waiting[asked["ask"]] = (calls, origins[run])
    return families, waiting


def _origin(store: Reader, run: str, calls: Sequence[Call]) -> Origin:
    from devplane.policies.offering import origin_of

    row = store.run(run)
    cwd = row["snapshot"].get("cwd") if row is not None else None
    return origin_of(cwd or calls[0].cwd)


def as_object(offer: Offer | None) -> dict[str, Any] | None:
    """Return an offer as scripts read it."""
    return {"rule": offer.rule, "list": "auto_allow", "file": offer.file} if offer is not None else None


def line(offer: Mapping[str, Any]) -> str:
    """Return an offer as a person reads it, with the place to put it."""
    where = f"{render.home_path(offer['file'])} [policy] {offer['list']}"
    return f"a rule for this: {one_line(offer['rule'], 400)} in {where}"


def said_of(run: str, request: asking.Request) -> list[str]:
    """Return why an open request of a run waits for a person, and the rule that would have answered it.

    [] where the store does not say: whoever watches an agent must not be stopped by that.
    """
    if request.is_question:
        return []
    try:
        with reader() as store:
            row = store.ask(request.id)
            told, offer = _of_watched(store, run, request)
    except DevplaneError:
        return []
    # The frame can be here before the row is, and before a rule's answer: then the rules are asked again.
    why = asking.why_asked(asking.of_row(row) if row is not None else told)
    return [*([why] if why else []), *([line(offer)] if offer is not None else [])]


def _of_watched(
    store: Reader, run: str, request: asking.Request
) -> tuple[asking.Request, dict[str, Any] | None]:
    """Return a request with what the rules say of it now, and its offer."""
    from devplane.core.permission import Verdict, strictest
    from devplane.policies.offering import Offering, calls_from

    families, waiting = _seen(store, {request.id})
    if request.id in waiting:
        calls, origin = waiting[request.id]
    elif calls := calls_from(request.calls):
        origin = _origin(store, run, calls)
        families.note(calls, origin, was_refused=False)
    else:
        return request, None
    offering = Offering(policies(), home().policy_file)
    ruling = strictest([offering.policy(origin).judge(call) for call in calls])
    if ruling.verdict not in (Verdict.ALLOW, Verdict.DENY):
        told = {"reason": ruling.reason, "file": ruling.file, "line": ruling.line}
        request = replace(request, ruling=told)
    return request, as_object(offering.offer(calls, origin, families))
