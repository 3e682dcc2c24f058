"""One request as a person sees it: what is wanted, whole, and the commands that answer it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devplane.cli.render import home_path, paint
from devplane.core.text import one_line, visible

CONTENT_LINES = 60
"""Lines of a proposed change that are shown with the request to make it."""
FACT_SUBJECT_CHARS = 2000
"""As much of a subject as a live fact carries; the store has it whole."""


@dataclass(frozen=True, slots=True)
class Request:
    """A permission request or a question that waits."""

    id: str
    is_question: bool
    title: str
    tool: str = ""
    subject: str = ""
    content: str = ""
    options: list[dict[str, str]] = field(default_factory=list)
    form: dict[str, Any] = field(default_factory=dict)
    ruling: Mapping[str, Any] = field(default_factory=dict)
    """What the rules said when it was asked; {} where nobody put it to them."""
    calls: Sequence[Mapping[str, Any]] = ()
    """What it was judged as, where the fact itself tells it."""
    is_cut: bool = False
    """Whether there is more to it than this tells: then it must not be answered from here."""

    @property
    def allows_by(self) -> dict[str, str] | None:
        """The option that ``--decision allow`` takes; ``None`` when none is offered."""
        return self._first("allow_once")

    @property
    def others(self) -> list[dict[str, str]]:
        """The options that only ``--option`` takes."""
        plain = (self.allows_by, self._first("reject_once"))
        return [each for each in self.options if each not in plain]

    def _first(self, kind: str) -> dict[str, str] | None:
        return next((each for each in self.options if each["kind"] == kind), None)


def of_row(row: Mapping[str, Any]) -> Request:
    """Return the request that an ask's row tells of."""
    payload = row["payload"]
    return Request(
        id=row["id"],
        is_question=row["kind"] == "question",
        title=payload.get("message") or row["title"],
        tool=payload.get("tool") or "",
        subject=payload.get("subject") or "",
        content=payload.get("content") or "",
        options=payload.get("options") or [],
        form=payload.get("form") or {},
        ruling=payload.get("ruling") or {},
    )


def of_fact(name: str, fact: Mapping[str, Any], content: str = "") -> Request:
    """Return the request that a live or stored fact tells of; `content` is its tool call's."""
    if name == "QuestionAsked":
        return Request(fact["ask"], True, fact["message"], form=fact.get("form") or {})
    subject = fact["subject"]
    return Request(
        id=fact["ask"],
        is_question=False,
        title=fact["title"],
        tool=fact["tool"],
        subject=subject,
        content=content,
        options=fact["options"],
        calls=fact.get("calls") or (),
        is_cut=len(subject) >= FACT_SUBJECT_CHARS,
    )


def headline(request: Request) -> str:
    if request.is_question:
        return f"asks: {one_line(request.title, 1000)}"
    return f"asks to use {one_line(request.tool, 60) or 'a tool'}:"


def wanted(request: Request) -> Iterator[str]:
    """Yield what the request is about, whole, line by line; marks stand where it could deceive (G-49)."""
    if request.is_question:
        yield from _fields(request.form)
        return
    yield from visible(request.subject or request.title).split("\n")
    if request.is_cut:
        yield paint("… and more: read all of it with devplane inbox", "yellow")
    lines = visible(request.content).rstrip().splitlines()
    for each in lines[:CONTENT_LINES]:
        yield paint(each, {"+": "green", "-": "red"}.get(each[:1], "dim"))
    if len(lines) > CONTENT_LINES:
        yield paint(f"… {len(lines) - CONTENT_LINES} more lines", "yellow")


def why_asked(request: Request) -> str:
    """Return why no rule answered it, on one line; "" where that is not on record."""
    ruling = request.ruling
    if not ruling.get("reason"):
        return ""
    where = f"  {home_path(ruling['file'])}:{ruling['line']}" if ruling.get("line") else ""
    return f"why you: {one_line(ruling['reason'], 500)}{where}"


def commands(request: Request) -> Iterator[str]:
    """Yield the commands that answer it, each as it can be typed."""
    answer = f"devplane decide {request.id}"
    if request.is_question:
        yield f"{answer} {_answers(request.form)}"
        yield f"{answer} --decision deny"
        return
    yield f"{answer} --decision {'allow|deny' if request.allows_by else 'deny'}"
    for option in request.others:
        yield f"{answer} --option {visible(shlex.quote(option['id']))}   {one_line(option['name'], 200)}"


def _fields(form: Mapping[str, Any]) -> Iterator[str]:
    required = form.get("required") or ()
    for name, schema in (form.get("properties") or {}).items():
        given = schema if isinstance(schema, dict) else {}
        about = given.get("title") or given.get("description") or given.get("type") or ""
        choices = ", ".join(_choices(given) or _choices(given.get("items") or {}))
        shown = f"{about} ({choices})" if choices else str(about)
        optional = "" if name in required else paint("  optional", "dim")
        yield f"{one_line(str(name), 60)}: {one_line(shown, 300)}{optional}"


def _choices(schema: Mapping[str, Any]) -> list[str]:
    named = [each.get("const") for key in ("oneOf", "anyOf") for each in schema.get(key) or ()]
    return [str(each) for each in (*(schema.get("enum") or ()), *named) if each is not None]


def _answers(form: Mapping[str, Any]) -> str:
    names = form.get("required") or list(form.get("properties") or {})[:1] or ["FIELD"]
    return " ".join(f"--answer {visible(shlex.quote(str(name)))}=VALUE" for name in names)
