"""``devplane check``: what a ``devplane.toml`` and this machine's rules will do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import render
from devplane.cli.common import home, json_option, policies, print_json, verb
from devplane.core.text import visible
from devplane.errors import DevplaneError, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devplane.policies.check import Entry, Remark
    from devplane.policies.text import Document

app = verb("devplane check .")

COLOURS = {"deny": "red", "ask": "yellow", "allow": "green", "except": "dim"}
UNTIL_THEN = "Each is named above; until they are gone, every call that no rule denies is asked about."


class NotInForce(DevplaneError):
    """A file cannot be taken at its word; the report says why."""


@app.command()
def check(
    path: Path | None = typer.Argument(
        None, help="A directory, or a file; without one, the file that governs the current directory."
    ),
    as_json: bool = json_option(),
) -> None:
    """Say what the rules will do, in the order in which they are asked, and what is wrong with them.

    Exit status 1 when a file is not in force, 3 when there is no such path.
    """
    report = _report(path)
    if as_json:
        print_json(report)
    else:
        for line in _lines(report):
            print(line)
    if report["problems"]:
        count = render.count(len(report["problems"]), "problem")
        raise NotInForce(f"{count} found", hint=UNTIL_THEN)


def _report(path: Path | None) -> dict[str, Any]:
    from devplane.policies import check as checked
    from devplane.policies.live import Place, document_of

    governing = policies()
    if path is not None and not os.path.lexists(path):
        raise NotFound(f"there is no {path}", hint="Name a directory, or a devplane.toml.")
    folder = path if path is not None and path.is_dir() else (path.parent if path is not None else Path.cwd())
    place = Place.of(os.path.abspath(folder))
    documents = list(governing.documents(place))
    is_trusted = documents[0].rules.is_trusted
    machine = home().policy_file
    named = None if path is None or path.is_dir() else Path(os.path.realpath(path))
    is_other = named is not None and named not in (place.config, Path(os.path.realpath(machine)))
    if named is not None and is_other:
        documents[0] = document_of(named, is_project=True, is_trusted=is_trusted)
    root = named.parent if named is not None and is_other else place.root
    files = [each.rules for each in documents]
    config = checked.settings(root) if not documents[0].problems else None
    return {
        "root": str(root),
        "trusted": is_trusted,
        "governed_by": str(place.config) if is_other else None,
        "files": [_file(each) for each in documents],
        "rules": [_rule(each) for each in checked.entries(files)],
        "settings": {
            "deadline": config.deadline if config is not None else None,
            "keep_transcripts": config.keep_transcripts if config is not None else None,
        },
        "problems": _remarks(checked.problems(documents)),
        "warnings": _remarks(checked.warnings(files)),
        "notes": _remarks(checked.notes(files)),
    }


def _file(document: Document) -> dict[str, Any]:
    file = document.rules.file
    return {"file": file, "exists": os.path.lexists(file), "in_force": not document.problems}


def _rule(entry: Entry) -> dict[str, Any]:
    rule = entry.rule
    return {
        "list": entry.list_name,
        "verdict": str(entry.verdict),
        "exception": rule.is_exception,
        "rule": rule.text,
        "file": rule.file,
        "line": rule.line,
    }


def _remarks(remarks: Sequence[Remark]) -> list[dict[str, Any]]:
    return [{"file": each.file, "line": each.line or None, "reason": each.reason} for each in remarks]


def _lines(report: dict[str, Any]) -> Iterator[str]:
    if not any(each["exists"] for each in report["files"]):
        named = " and no ".join(render.home_path(each["file"]) for each in report["files"])
        yield f"there is no {named}: every call is asked about"
    for each in report["files"]:
        if each["exists"]:
            state = "" if each["in_force"] else render.paint("  NOT IN FORCE", "red")
            yield render.home_path(each["file"]) + state
    if report["governed_by"]:
        yield f"  this is not the file that governs here: {render.home_path(report['governed_by'])} does"
    for each in report["rules"]:
        yield _rule_line(each)
    own, settings = report["files"][0], report["settings"]
    if own["exists"] and not report["trusted"]:
        allows = any(each["list"] == "auto_allow" and each["file"] == own["file"] for each in report["rules"])
        what = "what its file allows does not count yet" if allows else "no agent starts there"
        yield f"{render.home_path(report['root'])} is not trusted: {what} (devplane trust)"
    if own["exists"] and own["in_force"]:
        yield f"requests wait for you: {_deadline(settings['deadline'])}"
        yield "transcripts are " + ("kept" if settings["keep_transcripts"] else "not kept")
    for kind, colour in (("problem", "red"), ("warning", "yellow"), ("note", "dim")):
        for each in report[f"{kind}s"]:
            yield f"{render.paint(kind, colour)}  {_where(each)}: {visible(each['reason'])}"


def _rule_line(rule: dict[str, Any]) -> str:
    word = "except" if rule["exception"] else rule["verdict"]
    text = rule["rule"].removeprefix("!").strip() if rule["exception"] else rule["rule"]
    return f"  {render.column(word, 7, COLOURS[word])} {visible(text)}  {render.paint(_where(rule), 'dim')}"


def _deadline(deadline: str) -> str:
    return "for ever" if deadline == "never" else f"at most {deadline}, then the agent's own no is given"


def _where(each: dict[str, Any]) -> str:
    return render.home_path(each["file"]) + (f":{each['line']}" if each["line"] else "")
