"""``devplane decide``: answer what an agent asks."""

from __future__ import annotations

from typing import Any

import typer

from devplane.cli.common import ask_daemon, complete_ask, json_option, print_json, reader, verb
from devplane.errors import UsageError

app = verb("devplane decide a-7qk --decision allow")


@app.command()
def decide(
    ask: str = typer.Argument(
        ..., metavar="RUN|ASK", help="An ask's id, or a run with one open ask.", autocompletion=complete_ask
    ),
    request: str = typer.Option("", "--request", help="The ask's id, when RUN names a run."),
    decision: str = typer.Option("", "--decision", help="allow (once) or deny."),
    option: str = typer.Option("", "--option", help="The id of the option to choose, exactly as offered."),
    answer: list[str] = typer.Option(
        [], "--answer", metavar="FIELD=VALUE", help="For a question: one field."
    ),
    custom: str = typer.Option("", "--custom", help="For a question with one text field: the text."),
    as_json: bool = json_option(),
) -> None:
    """Answer a permission request or a question. Saying nothing is an error, never an allow."""
    from devplane.control import requests as r

    name = request or ask
    ways = [bool(decision), bool(option), bool(answer or custom)]
    if sum(ways) != 1:
        what = "say how to answer" if sum(ways) == 0 else "these contradict each other"
        raise UsageError(what, hint="One of: --decision allow|deny, --option ID, --answer FIELD=VALUE.")
    if decision and decision not in ("allow", "deny"):
        raise UsageError(f"--decision is allow or deny, not {decision!r}")
    message: Any
    kind, form = _kind_of(name)
    if answer or custom:
        message = r.Reply(name, "accept", _content(answer, custom, form))
    elif kind == "question" and decision == "deny":
        message = r.Reply(name, "decline")
    else:
        message = r.Decide(name, decision or None, option or None)
    result = ask_daemon(message, start=False)
    if as_json:
        print_json(result)
    else:
        print(f"{result['ask']} answered: {result['outcome']}")


def _kind_of(name: str) -> tuple[str, dict[str, Any]]:
    """The kind and form of the ask that `name` means, as the store has it; the daemon has the last word."""
    with reader() as store:
        if name.startswith("a-"):
            row = store.ask(store.resolve_ask(name))
            rows = [row] if row is not None else []
        else:
            rows = store.asks("open", store.resolve(name))
    if len(rows) != 1:
        return "", {}
    return rows[0]["kind"], rows[0]["payload"].get("form") or {}


def _content(answers: list[str], custom: str, form: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for each in answers:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise UsageError(f"--answer {each!r} is not FIELD=VALUE")
        content[name] = value
    if custom:
        fields = [
            name
            for name, schema in (form.get("properties") or {}).items()
            if isinstance(schema, dict)
            and schema.get("type", "string") == "string"
            and not schema.get("enum")
        ]
        if len(fields) != 1:
            raise UsageError(
                f"the form has {len(fields)} text fields, so --custom cannot tell which",
                hint="Name each: --answer FIELD=VALUE.",
            )
        content[fields[0]] = custom
    return content
