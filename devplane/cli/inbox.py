"""``devplane inbox``: what waits for a person: what is broken, then what is asked, the oldest first."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, Any

from devplane.cli import asking, broken, offered, render
from devplane.cli.common import has_daemon, json_option, print_json, reader, verb
from devplane.core.text import one_line, visible

if TYPE_CHECKING:
    from devplane.policies.offering import Offer
    from devplane.store.answers import AskRow, RunRow

app = verb("devplane inbox")

RECENT_MS = 24 * 3600 * 1000
"""Failed and interrupted runs stay in the inbox for a day."""


@app.command()
def inbox(as_json: bool = json_option()) -> None:
    """List what is broken, the requests that wait for your answer, and runs that failed today.

    Beside a request stands why no rule answered it, and the narrowest rule that would have.
    """
    now_ms = time.time_ns() // 1_000_000
    with reader() as store:
        rows = {row["id"]: row for row in store.runs(all=True)}
        asks = sorted(store.asks(), key=lambda each: each["asked_ms"])
        offers = offered.offers_for(store, asks)
    is_served = bool(asks) and has_daemon()
    items = [_ask(ask, rows.get(ask["run"]), offers.get(ask["id"]), is_served) for ask in asks]
    items += [
        _ended(row)
        for row in sorted(rows.values(), key=lambda each: each["updated_ms"])
        if row["state"] in ("failed", "interrupted")
    ]
    # What nobody can answer any more is news for a day, and comes after what waits.
    items = [each for each in items if each["answerable"] or now_ms - each["since_ms"] < RECENT_MS]
    items.sort(key=lambda each: not each["answerable"])
    items = [*broken.items(broken.folders_in_play(rows.values())), *items]
    if as_json:
        for item in items:
            print_json(item)
        return
    if not items:
        print("nothing waits for you")
    by_id = {ask["id"]: ask for ask in asks}
    for item in items:
        _print(item, by_id, now_ms)


def _ask(ask: AskRow, row: RunRow | None, offer: Offer | None, is_served: bool) -> dict[str, Any]:
    payload = ask["payload"]
    is_live = row is not None and row["live"] and is_served
    return {
        "kind": ask["kind"],
        "level": "high" if is_live else "normal",
        "ask": ask["id"],
        "run": ask["run"],
        "name": (row["name"] or row["agent"]) if row else "",
        "title": ask["title"],
        "tool": payload.get("tool", ""),
        "subject": payload.get("subject", ""),
        "content": payload.get("content", ""),
        "options": payload.get("options", []),
        "form": payload.get("form"),
        "ruling": payload.get("ruling"),
        "offer": offered.as_object(offer),
        "since_ms": ask["asked_ms"],
        "answerable": is_live,
    }


def _ended(row: RunRow) -> dict[str, Any]:
    return {
        "kind": f"run_{row['state']}",
        "level": "normal",
        "ask": None,
        "run": row["id"],
        "name": row["name"] or row["agent"],
        "title": row["snapshot"].get("reason") or row["state"],
        "since_ms": row["updated_ms"],
        "answerable": False,
    }


def _print(item: dict[str, Any], rows: dict[str, AskRow], now_ms: int) -> None:
    if item["kind"] == "config_broken":
        _print_broken(item)
        return
    level = render.paint(" !", "yellow") if item["level"] == "high" else "  "
    title = one_line(item["title"], 300)
    print(f"{level} {render.paint(title, 'bold')} [{item['kind']}]  {render.age(item['since_ms'], now_ms)}")
    print(f"     {one_line(item['name'], 60)} · {render.paint(item['run'], 'magenta')}")
    if item["ask"] is None:
        print(f"     devplane show {item['run']}")
        return
    request = asking.of_row(rows[item["ask"]])
    for line in asking.wanted(request):
        print(f"       {line}")
    if not item["answerable"]:
        print("     its agent is gone: nobody waits for the answer now")
        return
    if why := asking.why_asked(request):
        print(f"     {why}")
    if item.get("offer"):
        print(render.paint(f"     {offered.line(item['offer'])}", "dim"))
    for line in asking.commands(request):
        print(f"     {line}")


def _print_broken(item: dict[str, Any]) -> None:
    title = render.paint(one_line(item["title"], 300), "bold")
    print(f"{render.paint('!!', 'red')} {title} [{item['kind']}]")
    print(f"     {broken.where(item)}: {one_line(item['reason'], 500)}")
    print(f"     until it is corrected, {item['holds']}")
    print("     devplane check " + visible(shlex.quote(item["file"])))
