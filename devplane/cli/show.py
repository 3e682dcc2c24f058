"""``devplane show``: everything about one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import asking, render
from devplane.cli.common import json_option, print_json, reader, verb
from devplane.cli.complete import run_argument
from devplane.core.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devplane.store.answers import AskRow, DecisionRow, RunRow

app = verb("devplane show r-4k2")

FRAGMENTS = 6
TOOLS = 10
DECISIONS = 10


@app.command()
def show(
    run: str = run_argument(),
    thinking: bool = typer.Option(False, "--thinking", help="Its last thoughts too."),
    as_json: bool = json_option(),
) -> None:
    """Show one run: state, mode, what it asks, plan, tools, cost, and what it said last."""
    with reader() as store:
        run_id = store.resolve(run)
        row = store.run(run_id)
        asks = store.asks("open", run_id)
        queued = store.queued(run_id)
        decisions = store.decisions(run_id, DECISIONS)[::-1]
        said = [
            entry
            for entry in store.transcript(run_id, last=200)
            if entry["type"] == "fragment" and (thinking or entry["role"] != "thought")
        ][-FRAGMENTS:]
    assert row is not None
    if as_json:
        answer = {**row["snapshot"], "state": row["state"], "live": row["live"]}
        answer["asks"] = [dict(each) for each in asks]
        answer["decisions"] = [dict(each) for each in decisions]
        answer["queued"] = [dict(each) for each in queued]
        answer["said"] = [dict(each) for each in said]
        print_json(answer)
        return
    for line in _head(row, row["snapshot"]):
        print(line)
    for ask in asks:
        for line in _ask(ask, row["live"]):
            print(line)
    for line in _work(row["snapshot"]):
        print(line)
    for decision in decisions:
        print(_decision(decision))
    for each in queued:
        print(f"  not sent  {one_line(each['text'], 200)}")
    if said:
        print()
    for entry in said:
        who = {"user": "you ▸ ", "thought": "thinking ▸ "}.get(entry["role"], "")
        text = visible(entry["text"].strip())
        print(render.paint(who, "bold") + (render.paint(text, "dim") if entry["role"] == "thought" else text))


def _head(row: RunRow, run: dict[str, Any]) -> list[str]:
    name = one_line(run["name"] or run["agent"], 80)
    lines = [f"{render.glyph(row['state'])} {render.paint(name, 'bold')}  {row['id']}"]

    def add(label: str, value: str) -> None:
        lines.append(f"  {label:<9} {value}")

    reason = f": {one_line(run['reason'], 2000)}" if run["reason"] else ""
    add("state", row["state"] + reason)
    if run["hint"]:
        add("", one_line(run["hint"], 1000))
    if run["last_error"]:
        add("error", render.paint(one_line(run["last_error"], 2000), "red"))
    agent = f"{one_line(run['agent_name'], 60)} ({run['agent']})"
    add("agent", f"{agent} {one_line(run['reported_version'] or 'version not reported', 60)}")
    for warning in dict.fromkeys(run["warnings"]):
        add("warning", render.paint(one_line(warning, 500), "yellow"))
    add("where", render.home_path(run["cwd"]))
    mode = one_line(run["mode_name"] or run["mode"] or "not reported by this agent", 80)
    asking = {True: "asks first", False: "DECIDES WITHOUT ASKING", None: "whether it asks first is not known"}
    asks_first = asking[run["asks_first"]]
    add("mode", f"{mode}, {render.paint(asks_first, 'red') if run['asks_first'] is False else asks_first}")
    for _, category, value in run["options"]:
        if category == "model":
            add("model", one_line(value, 80))
    if run["session"]:
        add("session", one_line(run["session"], 200))
    add("cost", render.cost(run["spending"]))
    add("context", render.context(run["context_used"], run["context_size"]))
    add("turns", f"{run['turns']}, {run['tool_calls']} tool calls, {run['errors']} errors")
    if run["last_stop_reason"] not in ("", "end_turn"):
        add("last turn", f"ended: {one_line(run['last_stop_reason'])}")
    return lines


def _ask(ask: AskRow, is_live: bool) -> Iterator[str]:
    request = asking.of_row(ask)
    since = render.age(ask["asked_ms"])
    yield render.paint(f"  ◆ {asking.headline(request)}", "yellow") + f"  {since}"
    yield from (f"      {line}" for line in asking.wanted(request))
    if is_live:
        yield from (f"    {line}" for line in asking.commands(request))
    else:
        yield "    its agent is gone"


def _decision(row: DecisionRow) -> str:
    verdict = render.paint(one_line(row["verdict"], 20), render.OUTCOMES.get(row["verdict"], "yellow"))
    what = f"{one_line(row['tool'], 60)} {one_line(row['subject'], 200)}".strip()
    return f"  {verdict} {what}  {render.paint(render.authority(row), 'dim')}"


def _work(run: dict[str, Any]) -> list[str]:
    lines = []
    for entry in run["plan"]:
        sign, colour = render.PLAN_GLYPHS.get(entry["status"], ("·", "dim"))
        lines.append(f"  {render.paint(sign, colour)} {one_line(entry['content'], 200)}")
    for tool in run["tools"][-TOOLS:]:
        sign, colour = render.TOOL_GLYPHS.get(tool["status"], ("·", "dim"))
        title = tool["title"] or tool["call"]
        label = title if not tool["subject"] or tool["subject"] in title else f"{title}: {tool['subject']}"
        lines.append(f"  {render.paint(sign, colour)} {one_line(label, 200)}  {tool['status']}")
    return lines
