"""``devplane inbox``: what waits for a person, oldest first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from devplane.cli import asking, render
from devplane.cli.common import has_daemon, json_option, print_json, reader, verb
from devplane.core.text import one_line

if TYPE_CHECKING:
    from devplane.store.answers import AskRow, RunRow

app = verb("devplane inbox")

RECENT_MS = 24 * 3600 * 1000
"""Failed and interrupted runs stay in the inbox for a day."""


@app.command()
def inbox(as_json: bool = json_option()) -> None:
    """List the requests that wait for your answer, then runs that failed or were interrupted today."""
    now_ms = time.time_ns() // 1_000_000
    with reader() as store:
        rows = {row["id"]: row for row in store.runs(all=True)}
        asks = sorted(store.asks(), key=lambda each: each["asked_ms"])
    is_served = bool(asks) and has_daemon()
    items = [_ask(ask, rows.get(ask["run"]), is_served) for ask in asks]
    items += [
        _ended(row)
        for row in sorted(rows.values(), key=lambda each: each["updated_ms"])
        if row["state"] in ("failed", "interrupted")
    ]
    # What nobody can answer any more is news for a day, and comes after what waits.
    items = [each for each in items if each["answerable"] or now_ms - each["since_ms"] < RECENT_MS]
    items.sort(key=lambda each: not each["answerable"])
    if as_json:
        for item in items:
            print_json(item)
        return
    if not items:
        print("nothing waits for you")
    by_id = {ask["id"]: ask for ask in asks}
    for item in items:
        _print(item, by_id, now_ms)


def _ask(ask: AskRow, row: RunRow | None, is_served: bool) -> dict[str, Any]:
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
    for line in asking.commands(request):
        print(f"     {line}")
