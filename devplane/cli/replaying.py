"""``devplane explain --replay``: what today's rules make of everything that was ever asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from devplane.cli import render
from devplane.cli.common import home, policies, print_json, reader
from devplane.core.text import one_line

if TYPE_CHECKING:
    from devplane.policies.replay import Replayed, Then

RUNS_KEPT = 1024
GONE_SHOWN = 3

WOULD = {"allow": "be allowed without asking you", "deny": "be denied", "ask": "reach you"}
DID = {"allow": "allowed", "deny": "denied"}


def replay(*, limit: int | None, as_json: bool) -> None:
    """Put the record to today's rules and print what comes of it."""
    from devplane.policies.offering import Offering
    from devplane.policies.replay import Replay

    with reader() as store:

        @lru_cache(maxsize=RUNS_KEPT)
        def cwd_of(run: str) -> str | None:
            row = store.run(run)
            cwd: str | None = row["snapshot"].get("cwd") if row is not None else None
            return cwd

        offering = Offering(policies(), home().policy_file)
        result = Replay(offering, cwd_of).over(lambda: store.calls(limit))
    if as_json:
        print_json(as_object(result))
        return
    for line in _lines(result):
        print(line)


def as_object(result: Replayed) -> dict[str, Any]:
    """Return it as scripts read it."""
    return {
        "requests": result.requests,
        "verdicts": {
            each: result.verdicts[each] for each in ("allow", "deny", "ask", "unresolved", "undecided")
        },
        "reach_you": result.reach_you,
        "differ": result.changes.total(),
        "changes": [
            {"by": by, "then": then, "now": now, "count": count}
            for ((by, then), now), count in result.changes.most_common()
        ],
        "offers": [
            {"rule": offer.rule, "list": "auto_allow", "file": offer.file, "spares": count}
            for offer, count in result.offers
        ],
        "without_calls": result.without_calls,
        "gone": list(result.gone),
    }


def _lines(result: Replayed) -> Iterator[str]:
    if not result.requests and not result.without_calls:
        yield "nothing is on record yet: no agent has asked for anything"
        return
    counts = result.verdicts
    yield f"{render.count(result.requests, 'request')} put to today's rules:"
    yield f"  {render.paint('allow', 'green'):<6} {counts['allow']}"
    yield f"  {render.paint('deny', 'red'):<6} {counts['deny']}"
    yield f"  {render.paint('ask', 'yellow'):<6} {counts['ask']}"
    why = f"no rule answers {counts['undecided']}, {counts['unresolved']} cannot be read"
    yield f"  would reach you: {result.reach_you}" + (f" ({why})" if result.reach_you else "")
    yield f"{result.changes.total()} would go otherwise than they did" + (":" if result.changes else "")
    for (then, now), count in result.changes.most_common():
        yield f"  {_change(then, now, count)}"
    if result.offers:
        yield "rules that would have spared the most questions (for auto_allow in [policy]):"
    for offer, count in result.offers:
        yield f"  {count:>4}  {one_line(offer.rule, 400)}  in {render.home_path(offer.file)}"
    if result.without_calls:
        older = render.count(result.without_calls, "older request")
        yield f"{older} cannot be replayed: the whole of what was asked is not on record"
    if result.gone:
        shown = ", ".join(render.home_path(each) for each in list(result.gone)[:GONE_SHOWN])
        more = f" and {len(result.gone) - GONE_SHOWN} more" if len(result.gone) > GONE_SHOWN else ""
        yield f"no longer there, so only the machine's rules were asked: {shown}{more}"


def _change(then: Then, now: str, count: int) -> str:
    by, did = then
    return f"{count} that {by} {DID[did]} would now {WOULD[now]}"
