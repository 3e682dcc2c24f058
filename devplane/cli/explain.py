"""``devplane explain``: what the rules say of a call, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import render
from devplane.cli.common import folder, home, json_option, policies, print_json, verb
from devplane.core.text import visible
from devplane.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devplane.core.permission import Call, Ruling
    from devplane.policies.live import Place

app = verb("devplane explain 'git push --force'")

COLOURS = {"allow": "green", "deny": "red", "ask": "yellow", "unresolved": "yellow", "undecided": "yellow"}
FOLLOWS = {
    "allow": "it is allowed once, and nobody is asked",
    "deny": "it is refused, and the agent goes on",
}
IS_ASKED = "a person is asked"
WAYS = "For example: devplane explain 'npm test', or: devplane explain --tool Read .env"
AN_INPUT = """For example: --input '{"command": "ls"}'"""


@app.command()
def explain(
    subject: str = typer.Argument(
        "", metavar="COMMAND", help="A command line; with --tool a path or a URL.", show_default=False
    ),
    tool: str = typer.Option("", "--tool", help="Instead of Bash: Read, Edit, WebFetch, mcp__SERVER__TOOL …"),
    arguments: str = typer.Option(
        "", "--input", metavar="JSON", help="The call's arguments, as an agent sends them."
    ),
    cwd: Path | None = typer.Option(None, "--cwd", help="Where the call comes from; here, when not given."),
    replay: bool = typer.Option(False, "--replay", help="Put every call on record to today's rules."),
    limit: int | None = typer.Option(None, "--limit", "-n", min=1, help="With --replay: only the last N."),
    as_json: bool = json_option(),
) -> None:
    """Say what the rules decide about a call, which rule it is, and why. Runs nothing, asks nobody."""
    if replay:
        if subject or tool or arguments or cwd is not None:
            raise UsageError("--replay takes the calls from the record, and none beside it", hint=WAYS)
        from devplane.cli import replaying

        replaying.replay(limit=limit, as_json=as_json)
        return
    if limit is not None:
        raise UsageError("--limit belongs to --replay", hint=WAYS)
    where = folder(cwd)
    calls = _calls(subject, tool, arguments, where)

    from devplane.core.permission import strictest
    from devplane.policies.live import Place

    place = Place.of(where)
    governing = policies()
    policy = governing.policy(place)
    ruling = strictest([policy.judge(call) for call in calls])
    if as_json:
        print_json(as_object(ruling))
        return
    for line in _lines(ruling, place):
        print(line)


def _calls(subject: str, tool: str, arguments: str, cwd: str) -> tuple[Call, ...]:
    from devplane.policies import spoken

    if arguments:
        if subject:
            raise UsageError("a COMMAND and --input contradict each other", hint=WAYS)
        return spoken.calls_with(tool, _object(arguments), cwd)
    if not subject.strip() and tool.casefold() in ("", "bash", "read", "edit", "webfetch"):
        raise UsageError("say which call: a COMMAND, or --input JSON", hint=WAYS)
    return (spoken.call_on(tool or "Bash", subject, cwd),)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except RecursionError:
        raise UsageError("--input is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"--input is no JSON: {error}", hint=AN_INPUT) from None
    if not isinstance(value, dict):
        raise UsageError("--input is no JSON object", hint=AN_INPUT)
    return value


def as_object(ruling: Ruling) -> dict[str, Any]:
    """Return a ruling as scripts read it; what there is none of is null."""
    return {
        "verdict": str(ruling.verdict),
        "tool": ruling.tool or None,
        "subject": ruling.subject or None,
        "rule": ruling.rule or None,
        "file": ruling.file or None,
        "line": ruling.line or None,
        "builtin": ruling.builtin,
        "reason": ruling.reason or None,
        "others": [{"rule": each.rule, "file": each.file, "line": each.line} for each in ruling.others],
    }


def _lines(ruling: Ruling, place: Place) -> Iterator[str]:
    verdict = str(ruling.verdict)
    first, *more = visible(ruling.subject).split("\n")
    asked_of = f"{visible(ruling.tool)} {first}".strip() or "a call that names no tool"
    yield f"{render.paint(verdict.upper(), COLOURS[verdict])}  {asked_of}"
    yield from (f"    {each}" for each in more)
    if ruling.rule:
        yield _field("rule", f"{visible(ruling.rule)}  {_where(ruling.file, ruling.line)}")
    elif ruling.file:
        yield _field("file", _where(ruling.file, ruling.line))
    elif ruling.builtin:
        yield _field("rule", "built in: no file can change it")
    for other in ruling.others:
        yield _field("and", f"{visible(other.rule)}  {_where(other.file, other.line)}")
    yield _field("why", visible(ruling.reason))
    yield _field("so", FOLLOWS.get(verdict, IS_ASKED))
    if not ruling.rule and not ruling.builtin:
        yield _field("looked at", f"{_seen(place.config)}, {_seen(home().policy_file)}")


def _field(label: str, value: str) -> str:
    return f"  {label:<9} " + value.replace("\n", "\n            ")


def _where(file: str, line: int) -> str:
    return render.home_path(file) + (f":{line}" if line else "")


def _seen(file: Path) -> str:
    return render.home_path(str(file)) + ("" if file.exists() else " (not there)")
