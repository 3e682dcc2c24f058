"""What one agent asks: permission requests and questions, from the wire to the recorded answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.agents.translate import ToolBook, calls_of, options_of
from devplane.core import events as e
from devplane.core import ids
from devplane.core.permission import Authority, Call, Ruling, Verdict, pick_option
from devplane.core.run import Phase
from devplane.core.text import clipped, one_line
from devplane.daemon.asks import Ask, Chosen, cancelled, choose, ruled
from devplane.daemon.grants import Grants
from devplane.daemon.ledger import Ledger
from devplane.daemon.rulings import SUBJECT_LIMIT_CHARS, Rules, kept, told
from devplane.store.codec import SUBJECT_LIMIT
from devplane.store.log import Commit
from devplane.store.rows import DecisionRow
from devplane.transport import CallContext

CLOSED_KEPT = 256
"""Closed requests whose end is remembered until the store has it."""


GRANTS = ((Authority.PERSON, "allow"), (Authority.PERSON, "allow_always"))
"""Answers that also hold for the deed, when the agent then has Devplane do it."""


class Asking:
    """The open requests of one run. A rule may answer one at once; else it waits for a person."""

    def __init__(
        self, ledger: Ledger, book: ToolBook, rules: Rules, on_wait: Callable[[], None] = lambda: None
    ) -> None:
        """`on_wait` is called whenever something begins to wait for a person."""
        self._ledger = ledger
        self._book = book
        self._rules = rules
        self._on_wait = on_wait
        self.open: dict[str, Ask] = {}
        self.closed: dict[str, DecisionRow] = {}
        """How requests ended, the last of them: by their ids."""
        self.grants = Grants()
        self.late = Grants()
        """What a person allowed while the agent was gone, and it asks for again."""

    async def on_permission(self, params: dict[str, Any], call: CallContext) -> dict[str, Any]:
        """Serve ``session/request_permission``: by a rule at once, else when a person answers."""
        request = acp.PermissionRequest.model_validate(params)
        options = options_of(request)
        if self.answers_nothing_more:
            return cancelled("permission").result
        call_id = request.call.id
        changed = self._book.merge(call_id, params["toolCall"], is_asked=True)
        if changed is not None:
            self._ledger.record(changed)
        record = self._book.get(call_id)
        calls = calls_of(record, self._ledger.agent, self._ledger.run.cwd, options=options)
        ask = Ask(
            id=ids.make("a", os.urandom(ids.ID_BYTES)),
            run=self._ledger.id,
            kind="permission",
            title=one_line(record.title or calls[0].subject or call_id, 500),
            asked_ms=self._ledger.now_ms(),
            tool=calls[0].tool,
            subject=calls[0].subject,
            options=options,
            calls=calls,
            payload={
                "call": call_id,
                "tool": calls[0].tool,
                "tool_kind": record.kind,
                "subject": calls[0].subject,
                "content": record.content,
                "options": [{"id": each.id, "name": each.name, "kind": each.kind} for each in options],
            },
        )
        granted = self.late.take_all(calls) if pick_option(Verdict.ALLOW, options) else None
        commit = self.put(ask, call_id, *self.rule_on(calls), granted)
        answer = await self.answer_to(ask, call, commit)
        decision = ask.decision
        if decision is not None and (decision.authority, decision.verdict) in GRANTS:
            self.grants.add(calls, decision)
        return answer

    def rule_on(self, calls: Sequence[Call]) -> tuple[Ruling, Call]:
        """Return the ruling that holds for the calls of one request, and the call that it is about."""
        return self._rules.on(calls)

    def put(
        self, ask: Ask, call_id: str, ruling: Ruling, about: Call, granted: DecisionRow | None = None
    ) -> Commit:
        """Record a request, and with it the answer that a rule gives, if one does.

        Where none does, `granted` is a person's yes to the same thing a moment ago.
        """
        subject = clipped(ask.subject, SUBJECT_LIMIT_CHARS)
        asked = e.PermissionAsked(ask.id, call_id, ask.title, ask.tool, subject, ask.options, kept(ask.calls))
        chosen = ruled(ruling, ask.options)
        if chosen is not None:
            decision = self._ruled(ask, chosen, ruling, about)
            by = ruling.rule
        elif granted is not None:
            chosen = choose(ask, "allow", None)
            decision = self._decision(ask, chosen, Authority.PERSON, f"allowed with {granted.ask}")
            by = Authority.PERSON
        else:
            if ruling.verdict is Verdict.ALLOW:
                ruling = replace(ruling, reason="a rule allows it once, and the agent offers no such option")
            ask.payload["ruling"] = told(ruling)
            commit = self._ledger.record(asked, asks=(ask.row(),))
            self.open[ask.id] = ask
            self._on_wait()
            return commit
        answered = e.AskAnswered(ask.id, chosen.outcome, chosen.option, decision.authority, by)
        commit = self._ledger.record(asked, answered, decisions=(decision,))
        self.open[ask.id] = ask
        self._settled(ask, chosen, decision)
        return commit

    async def on_question(self, params: dict[str, Any], call: CallContext) -> dict[str, Any]:
        """Serve ``elicitation/create`` in form mode."""
        request = acp.FormRequest.model_validate(params)
        if self.answers_nothing_more:
            return cancelled("question").result
        ask = Ask(
            id=ids.make("a", os.urandom(ids.ID_BYTES)),
            run=self._ledger.id,
            kind="question",
            title=one_line(request.message or "a question", 500),
            asked_ms=self._ledger.now_ms(),
            payload={"message": request.message, "form": request.form},
        )
        commit = self._ledger.record(e.QuestionAsked(ask.id, ask.title, request.form), asks=(ask.row(),))
        self.open[ask.id] = ask
        self._on_wait()
        return await self.answer_to(ask, call, commit)

    @property
    def answers_nothing_more(self) -> bool:
        """Whether what is asked now can only be answered with ``cancelled``."""
        turn = self._ledger.run.turn
        is_ending = self._ledger.is_shutdown or self._ledger.run.phase in (Phase.CLOSING, Phase.ENDED)
        return is_ending or (turn is not None and turn.is_cancelling)

    async def answer_to(self, ask: Ask, call: CallContext, commit: Commit) -> dict[str, Any]:
        """Wait for the answer; whatever ends the wait from the agent's side withdraws the ask."""
        try:
            await commit
            await ask.answered.wait()
        except anyio.get_cancelled_exc_class():
            if not self._ledger.is_shutdown and self._ledger.run.has_ask(ask.id):
                why = "the agent took the request back" if call.withdrawn else "the agent ended"
                self.withdraw(ask.id, why)
            raise
        finally:
            ask.told.set()
        assert ask.answer is not None
        return ask.answer

    def withdraw(self, ask_id: str, why: str) -> None:
        """Record that nobody waits for an ask any more."""
        ask = self.open.pop(ask_id, None)
        if ask is None:
            self._ledger.record(e.AskWithdrawn(ask_id, why))
            return
        chosen = Chosen("withdrawn", "", {})
        decision = self._decision(ask, chosen, Authority.NOBODY, why)
        closed = ask.row("withdrawn", self._ledger.now_ms(), "nobody")
        self._ledger.record(e.AskWithdrawn(ask_id, why), asks=(closed,), decisions=(decision,))
        self._settled(ask, chosen, decision)

    def answer(self, ask: Ask, chosen: Chosen, authority: str, by: str, reason: str = "") -> Commit:
        """Record an answer; the agent hears of it when the record is committed (invariant 2).

        Raises:
            ImpossibleFact: It is no longer open.
        """
        decision = self._decision(ask, chosen, authority, reason or (f"answered by {by}" if by else ""))
        commit = self._ledger.record(
            e.AskAnswered(ask.id, chosen.outcome, chosen.option, authority, by),
            asks=(ask.row("answered", self._ledger.now_ms(), by),),
            decisions=(decision,),
        )
        # Only now: an answer that came too late must not replace the one that is being stored.
        self._settled(ask, chosen, decision)
        return commit

    def _decision(self, ask: Ask, chosen: Chosen, authority: str, reason: str) -> DecisionRow:
        return DecisionRow(
            at_ms=self._ledger.now_ms(),
            run=self._ledger.id,
            tool=ask.tool or ask.kind,
            subject=_bounded(ask.subject or ask.title),
            verdict=chosen.outcome,
            authority=str(authority),
            ask=ask.id,
            option_id=chosen.option or None,
            reason=reason or None,
        )

    def _ruled(self, ask: Ask, chosen: Chosen, ruling: Ruling, about: Call) -> DecisionRow:
        """The decision that a rule made, on the one of several readings of the request that it is about."""
        return replace(
            self._decision(ask, chosen, ruling.authority, ruling.reason),
            tool=about.tool or ask.tool or ask.kind,
            subject=_bounded(about.subject or ask.subject or ask.title),
            rule=ruling.rule or None,
            file=ruling.file or None,
            line=ruling.line or None,
        )

    def _settled(self, ask: Ask, chosen: Chosen, decision: DecisionRow) -> None:
        ask.pending, ask.decision = chosen.result, decision
        while len(self.closed) >= CLOSED_KEPT:
            del self.closed[next(iter(self.closed))]
        self.closed[ask.id] = decision


def _bounded(subject: str) -> str:
    """As much as the store keeps, and a character more, so that it marks the cut."""
    return subject[: SUBJECT_LIMIT + 1]
