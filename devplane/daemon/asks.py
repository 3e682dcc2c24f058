"""What waits for an answer in one run: the requests themselves, who may answer them and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.core.permission import Call, Option, Ruling, Verdict, pick_option
from devplane.daemon.forms import fitted
from devplane.errors import Refused, UsageError
from devplane.store.rows import AskRow, DecisionRow


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
    told: anyio.Event = field(default_factory=anyio.Event)
    """Set when the answer is about to be written to the agent, or when nobody waits for it any more."""
    pending: dict[str, Any] | None = None
    """The answer that is recorded and waits for its commit."""
    calls: tuple[Call, ...] = ()
    """What a permission request was judged as."""
    decision: DecisionRow | None = None
    """How it was answered, once it is."""

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


def ruled(ruling: Ruling, options: tuple[Option, ...]) -> Chosen | None:
    """The answer that a ruling gives by itself, or ``None`` when a person must."""
    if ruling.verdict is Verdict.ALLOW:
        option = pick_option(Verdict.ALLOW, options)
        return _selected(option) if option is not None else None
    return denied(options) if ruling.verdict is Verdict.DENY else None


def denied(options: tuple[Option, ...]) -> Chosen:
    """The agent's own no, narrowest first; where it offers none, the protocol's ``cancelled``."""
    option = pick_option(Verdict.DENY, options)
    return _selected(option) if option is not None else Chosen("deny", "", acp.permission_cancelled())


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
        return denied(ask.options)
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


def _selected(option: Option) -> Chosen:
    return Chosen(OUTCOMES.get(option.kind, "chosen"), option.id, acp.permission_selected(option.id))


def _offered(ask: Ask) -> str:
    return ", ".join(f"{each.id!r} ({each.kind or 'no kind'})" for each in ask.options) or "none"
