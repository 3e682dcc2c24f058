"""``devplane decide``: answer what an agent asks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli.common import ask_daemon, json_option, print_json, reader, verb
from devplane.cli.complete import complete_ask
from devplane.core.text import one_line
from devplane.errors import NotFound, UsageError

if TYPE_CHECKING:
    from devplane.store.answers import AskRow
    from devplane.store.queries import Reader

app = verb("devplane decide a-7qk --decision allow")

WAYS = "One of: --decision allow|deny, --option ID, --answer FIELD=VALUE."


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

    ways = [bool(decision), bool(option), bool(answer or custom)]
    if sum(ways) != 1:
        what = "say how to answer" if sum(ways) == 0 else "these contradict each other"
        raise UsageError(what, hint=WAYS)
    if decision and decision not in ("allow", "deny"):
        raise UsageError(f"--decision is allow or deny, not {decision!r}", hint=WAYS)
    row = _meant(ask, request)
    message: Any
    if answer or custom:
        message = r.Reply(row["id"], "accept", _content(answer, custom, row["payload"].get("form") or {}))
    elif row["kind"] == "question" and decision == "deny":
        message = r.Reply(row["id"], "decline")
    else:
        message = r.Decide(row["id"], decision or None, option or None)
    result = ask_daemon(message)
    if as_json:
        print_json(result)
    else:
        print(f"{result['ask']} answered: {result['outcome']}")


def _meant(name: str, request: str) -> AskRow:
    """Return the ask that a person means by an ask's name, or a run's and, if need be, `request`.

    Raises:
        NotFound: None is meant, or several are; then the hint lists them.
        UsageError: `request` is another run's.
    """
    with reader() as store:
        if request:
            row = store.ask(store.resolve_ask(request))
            if row is not None and name != request and row["run"] != store.resolve(name):
                raise UsageError(
                    f"{row['id']} is asked by {row['run']}, not by {name}", hint="See: devplane inbox."
                )
        else:
            row = _named(store, name)
    if row is None:
        raise NotFound(f"no ask {request or name!r}", hint="What waits: devplane inbox.")
    return row


def _named(store: Reader, name: str) -> AskRow | None:
    if name.startswith("a-"):
        # A run may be named so too, after a prompt that begins with "a".
        try:
            return store.ask(store.resolve_ask(name))
        except NotFound as no_ask:
            with suppress(NotFound):
                return _of_run(store, store.resolve(name))
            raise no_ask from None
    return _of_run(store, store.resolve(name))


def _of_run(store: Reader, run: str) -> AskRow:
    rows = store.asks("open", run)
    if len(rows) > 1:
        listed = ", ".join(f"{row['id']} ({one_line(row['title'], 60)})" for row in rows)
        raise NotFound(f"{run} asks {len(rows)} things", hint=f"Name one with --request: {listed}.")
    if not rows:
        raise NotFound(f"{run} asks nothing", hint="What waits: devplane inbox.")
    return rows[0]


def _content(answers: list[str], custom: str, form: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for each in answers:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise UsageError(f"--answer {each!r} is not FIELD=VALUE", hint=WAYS)
        # A field that is named again is a list of choices.
        content[name] = [*_list(content[name]), value] if name in content else value
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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
