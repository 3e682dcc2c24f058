"""What waits for an answer in one run: the requests themselves, who may answer them and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.core.permission import Option, Verdict, pick_option
from devplane.errors import Refused, UsageError
from devplane.store.rows import AskRow


@dataclass(slots=True)
class Ask:
    """One request of an agent that waits."""

    id: str
    run: str
    kind: str
    title: str
    asked_ms: int
    tool: str = ""
    subject: str = ""
    options: tuple[Option, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] | None = None
    """The result that goes to the agent, once it may."""
    answered: anyio.Event = field(default_factory=anyio.Event)
    pending: dict[str, Any] | None = None
    """The answer that is recorded and waits for its commit."""

    def row(self, state: str = "open", closed_ms: int | None = None, closed_by: str | None = None) -> AskRow:
        return AskRow(
            self.id,
            self.run,
            self.asked_ms,
            self.kind,
            state,
            self.title,
            self.payload,
            closed_ms=closed_ms,
            closed_by=closed_by,
        )

    def release(self) -> None:
        """Let the waiting request handler write the recorded answer."""
        self.answer = self.pending
        self.answered.set()


@dataclass(frozen=True, slots=True)
class Chosen:
    """An answer: its outcome in our words, the option's id, and the result on the wire."""

    outcome: str
    option: str
    result: dict[str, Any]


OUTCOMES = {
    "allow_once": "allow",
    "allow_always": "allow_always",
    "reject_once": "deny",
    "reject_always": "reject_always",
}


def cancelled(kind: str) -> Chosen:
    """The answer that nobody gave: the protocol's own ``cancelled``."""
    result = acp.permission_cancelled() if kind == "permission" else acp.elicitation_cancel()
    return Chosen("cancelled", "", result)


def choose(ask: Ask, decision: str | None, option: str | None) -> Chosen:
    """Turn a person's words into an answer to a permission request.

    Raises:
        UsageError: Nothing was said, too much was, or it is no permission request.
        Refused: The agent offers no such option.
    """
    if ask.kind != "permission":
        raise UsageError(
            f"{ask.id} is a question, not a permission request",
            hint="Answer it with --answer FIELD=VALUE, or --decision deny to decline.",
        )
    if (decision is None) == (option is None):
        raise UsageError(
            "say either --decision allow|deny or --option ID" if decision is None else "say one, not both",
            hint=f"The options of {ask.id} are: {_offered(ask)}.",
        )
    if option is not None:
        picked = next((each for each in ask.options if each.id == option), None)
        if picked is None:
            raise Refused(f"{ask.id} has no option {option!r}", hint=f"It offers: {_offered(ask)}.")
        return _selected(picked)
    if decision == "allow":
        allowed = pick_option(Verdict.ALLOW, ask.options)
        if allowed is None:
            raise Refused(
                f"{ask.id} offers no one-time allow",
                hint=f"Pick one of its options with --option: {_offered(ask)}.",
            )
        return _selected(allowed)
    if decision == "deny":
        denied = pick_option(Verdict.DENY, ask.options)
        return _selected(denied) if denied is not None else Chosen("deny", "", acp.permission_cancelled())
    raise UsageError(f"--decision is allow or deny, not {decision!r}")


def reply(ask: Ask, action: str, content: dict[str, Any]) -> Chosen:
    """Turn a person's words into an answer to a question.

    Raises:
        UsageError: It is no question, or the content does not fit its form.
    """
    if ask.kind != "question":
        raise UsageError(
            f"{ask.id} is a permission request, not a question",
            hint="Answer it with --decision allow|deny or --option ID.",
        )
    if action == "accept":
        return Chosen("accept", "", acp.elicitation_accept(fitted(ask.payload.get("form") or {}, content)))
    if action == "decline":
        return Chosen("decline", "", acp.elicitation_decline())
    if action == "cancel":
        return cancelled(ask.kind)
    raise UsageError(f"an answer is accept, decline or cancel, not {action!r}")


def fitted(form: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Return `content` with each value in the type that its form's field wants (G-51).

    Raises:
        UsageError: An unknown field, a missing one, or a value that does not fit.
    """
    fields = form.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    known = ", ".join(fields) or "none"
    fitting: dict[str, Any] = {}
    for name, value in content.items():
        if name not in fields:
            raise UsageError(f"the form has no field {name!r}", hint=f"Its fields are: {known}.")
        schema = fields[name]
        fitting[name] = _fitted(name, schema if isinstance(schema, dict) else {}, value)
    for name in form.get("required") or ():
        if name not in fitting:
            schema = fields.get(name)
            if isinstance(schema, dict) and schema.get("default") is not None:
                fitting[name] = schema["default"]
                continue
            raise UsageError(f"the form wants a value for {name!r}", hint=f"Its fields are: {known}.")
    return fitting


def _fitted(name: str, schema: dict[str, Any], value: Any) -> Any:
    kind = schema.get("type")
    choices = _choices(schema)
    if kind == "array":
        values = value if isinstance(value, list) else [each.strip() for each in str(value).split(",")]
        items = schema.get("items")
        choices = _choices(items) if isinstance(items, dict) else []
        for each in values:
            if choices and each not in choices:
                raise UsageError(f"{name}: {each!r} is no choice", hint=f"One of: {', '.join(choices)}.")
        return values
    if choices and value not in choices:
        raise UsageError(f"{name}: {value!r} is no choice", hint=f"One of: {', '.join(choices)}.")
    if kind == "boolean":
        if isinstance(value, bool):
            return value
        words = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
        if str(value).lower() not in words:
            raise UsageError(f"{name}: {value!r} is neither yes nor no")
        return words[str(value).lower()]
    if kind in ("integer", "number"):
        try:
            return int(str(value)) if kind == "integer" else float(str(value))
        except ValueError:
            raise UsageError(f"{name}: {value!r} is no {kind}") from None
    return value


def _choices(schema: dict[str, Any]) -> list[str]:
    found = [str(each) for each in schema.get("enum") or ()]
    for key in ("oneOf", "anyOf"):
        for each in schema.get(key) or ():
            if isinstance(each, dict) and "const" in each:
                found.append(str(each["const"]))
    return found


def _selected(option: Option) -> Chosen:
    return Chosen(OUTCOMES.get(option.kind, "chosen"), option.id, acp.permission_selected(option.id))


def _offered(ask: Ask) -> str:
    return ", ".join(f"{each.id!r} ({each.kind or 'no kind'})" for each in ask.options) or "none"
