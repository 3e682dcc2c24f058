"""Has what Devplane is to do for an agent decided first, as if the agent had asked for permission.

Every write and every command becomes a recorded decision before it is carried out, in whichever mode
the agent is; a person is asked where no rule answers.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from devplane.acp.jsonrpc import INTERNAL_ERROR, REQUEST_CANCELLED, CallRefused
from devplane.core import ids
from devplane.core.permission import Authority, Call, Option, Ruling, Verdict
from devplane.core.text import clipped, one_line
from devplane.daemon.asking import Asking
from devplane.daemon.asks import Ask
from devplane.daemon.ledger import Ledger
from devplane.store.rows import DecisionRow
from devplane.transport import CallContext

CONTENT_LIMIT_CHARS = 64 * 1024

OPTIONS = (
    Option("allow_once", "Allow once", "allow_once"),
    Option("reject_once", "Reject", "reject_once"),
)

Describe = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that an agent wants Devplane to do for it."""

    call: Call
    title: str
    tool_kind: str
    """The protocol's word: ``edit``, ``execute``, ``read``."""
    is_free: bool = False
    """Whether it is done, and not recorded, unless a rule forbids it or wants a person."""
    barred: str = ""
    """Why it is never done, whatever the rules say; "" when it may be."""
    describe: Describe | None = None
    """Says at more length what a person is asked to allow; called when one is."""


class Permits:
    """Decides on the deeds of one run, through the same requests as everything else that it asks."""

    def __init__(self, ledger: Ledger, asking: Asking) -> None:
        self._ledger = ledger
        self._asking = asking

    async def obtain(self, deed: Deed, context: CallContext) -> None:
        """Return once `deed` may be done and that is on record.

        Raises:
            CallRefused: It may not; the message is for the agent and names the rule or who said no.
        """
        ruling, about = self._ruling_on(deed)
        if deed.is_free and ruling.verdict in (Verdict.ALLOW, Verdict.UNDECIDED, Verdict.UNRESOLVED):
            return
        if self._asking.answers_nothing_more:
            raise CallRefused(REQUEST_CANCELLED, "cancelled: the turn or the run is ending")
        granted = self._asking.grants.take(deed.call)
        needs_person = granted is None and ruling.verdict not in (Verdict.ALLOW, Verdict.DENY)
        content = await deed.describe() if needs_person and deed.describe is not None else ""
        ask_id = ids.make("a", os.urandom(ids.ID_BYTES))
        ask = Ask(
            id=ask_id,
            run=self._ledger.id,
            kind="permission",
            title=one_line(deed.title, 500),
            asked_ms=self._ledger.now_ms(),
            tool=deed.call.tool,
            subject=deed.call.subject,
            options=OPTIONS,
            calls=(deed.call,),
            payload={
                "call": ask_id,  # no tool call is named in such a request
                "tool": deed.call.tool,
                "tool_kind": deed.tool_kind,
                "subject": deed.call.subject,
                "content": clipped(content, CONTENT_LIMIT_CHARS),
                "options": [{"id": each.id, "name": each.name, "kind": each.kind} for each in OPTIONS],
            },
        )
        commit = self._asking.put(ask, ask_id, ruling, about, granted)
        await self._asking.answer_to(ask, context, commit)
        decision = ask.decision
        if decision is None or decision.verdict != "allow":
            raise _refusal(decision)

    def _ruling_on(self, deed: Deed) -> tuple[Ruling, Call]:
        if deed.barred:
            call = deed.call
            return Ruling(Verdict.DENY, call.tool, call.subject, builtin=True, reason=deed.barred), call
        return self._asking.rule_on((deed.call,))


def _refusal(decision: DecisionRow | None) -> CallRefused:
    match decision.authority if decision is not None else None:
        case Authority.RULE:
            assert decision is not None
            where = f"{decision.file}:{decision.line}" if decision.line else decision.file or "no file"
            return CallRefused(INTERNAL_ERROR, f"denied by the rule {decision.rule} ({where})")
        case Authority.BUILTIN | Authority.TIMER:
            assert decision is not None
            return CallRefused(INTERNAL_ERROR, f"denied: {decision.reason}")
        case Authority.PERSON:
            return CallRefused(INTERNAL_ERROR, "denied by a person")
        case _:
            return CallRefused(REQUEST_CANCELLED, "cancelled: the turn or the run ended")
