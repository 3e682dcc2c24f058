"""What one agent asks: permission requests and questions, from the wire to the recorded answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import anyio

from devplane.acp import messages as acp
from devplane.agents.translate import ToolBook, call_of, options_of
from devplane.core import events as e
from devplane.core import ids
from devplane.core.permission import Authority, Call, Option, Ruling, Verdict, pick_option
from devplane.core.run import Phase
from devplane.core.text import clipped, one_line
from devplane.daemon.asks import OUTCOMES, Ask, Chosen, cancelled
from devplane.daemon.ledger import Ledger
from devplane.store.log import Commit
from devplane.store.rows import DecisionRow
from devplane.transport import CallContext

Policy = Callable[[Call], Ruling]

SUBJECT_LIMIT_CHARS = 64 * 1024
"""Longest command that a fact carries; a cut is marked, and the ask's own row has it whole."""


class Asking:
    """The open requests of one run. A rule may answer one at once; else it waits for a person."""

    def __init__(self, ledger: Ledger, book: ToolBook, policy: Policy) -> None:
        self._ledger = ledger
        self._book = book
        self._policy = policy
        self.open: dict[str, Ask] = {}

    async def on_permission(self, params: dict[str, Any], call: CallContext) -> dict[str, Any]:
        """Serve ``session/request_permission``: by a rule at once, else when a person answers."""
        request = acp.PermissionRequest.model_validate(params)
        options = options_of(request)
        if self._answers_nothing_more():
            return cancelled("permission").result
        call_id = request.call.id
        changed = self._book.merge(call_id, params["toolCall"], is_asked=True)
        if changed is not None:
            self._ledger.record(changed)
        record = self._book.get(call_id)
        wanted = call_of(record, self._ledger.agent, self._ledger.run.cwd)
        ask = Ask(
            id=ids.make("a", os.urandom(ids.ID_BYTES)),
            run=self._ledger.id,
            kind="permission",
            title=one_line(record.title or wanted.subject or call_id, 500),
            asked_ms=self._ledger.now_ms(),
            tool=wanted.tool,
            subject=wanted.subject,
            options=options,
            payload={
                "call": call_id,
                "tool": wanted.tool,
                "tool_kind": record.kind,
                "subject": wanted.subject,
                "content": record.content,
                "options": [{"id": each.id, "name": each.name, "kind": each.kind} for each in options],
            },
        )
        asked = e.PermissionAsked(
            ask.id, call_id, ask.title, ask.tool, clipped(ask.subject, SUBJECT_LIMIT_CHARS), options
        )
        ruling = self._policy(wanted)
        ruled = _ruled(ruling, options)
        self.open[ask.id] = ask
        if ruled is None:
            commit = self._ledger.record(asked, asks=(ask.row(),))
        else:
            ask.pending = ruled.result
            commit = self._ledger.record(
                asked,
                e.AskAnswered(ask.id, ruled.outcome, ruled.option, Authority.RULE, ruling.rule),
                decisions=(self._decision(ask, ruled, Authority.RULE, ruling.rule, ruling.reason, ruling),),
            )
        return await self._answer_to(ask, call, commit)

    async def on_question(self, params: dict[str, Any], call: CallContext) -> dict[str, Any]:
        """Serve ``elicitation/create`` in form mode."""
        request = acp.FormRequest.model_validate(params)
        if self._answers_nothing_more():
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
        return await self._answer_to(ask, call, commit)

    def _answers_nothing_more(self) -> bool:
        turn = self._ledger.run.turn
        is_ending = self._ledger.is_shutdown or self._ledger.run.phase in (Phase.CLOSING, Phase.ENDED)
        return is_ending or (turn is not None and turn.is_cancelling)

    async def _answer_to(self, ask: Ask, call: CallContext, commit: Commit) -> dict[str, Any]:
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
        self._ledger.record(
            e.AskWithdrawn(ask_id, why),
            asks=(ask.row("withdrawn", self._ledger.now_ms(), "nobody"),),
            decisions=(self._decision(ask, chosen, Authority.NOBODY, "nobody", why),),
        )

    def _decision(
        self, ask: Ask, chosen: Chosen, authority: str, by: str, reason: str, ruling: Ruling | None = None
    ) -> DecisionRow:
        return DecisionRow(
            at_ms=self._ledger.now_ms(),
            run=self._ledger.id,
            tool=ask.tool or ask.kind,
            subject=ask.subject or ask.title,
            verdict=chosen.outcome,
            authority=str(authority),
            ask=ask.id,
            rule=(ruling.rule or None) if ruling is not None else None,
            file=(ruling.file or None) if ruling is not None else None,
            option_id=chosen.option or None,
            reason=reason or (f"answered by {by}" if by else None),
        )

    def answer(self, ask: Ask, chosen: Chosen, authority: str, by: str, reason: str = "") -> Commit:
        """Record an answer; the agent hears of it when the record is committed (invariant 2).

        Raises:
            ImpossibleFact: It is no longer open.
        """
        commit = self._ledger.record(
            e.AskAnswered(ask.id, chosen.outcome, chosen.option, authority, by),
            asks=(ask.row("answered", self._ledger.now_ms(), by),),
            decisions=(self._decision(ask, chosen, authority, by, reason),),
        )
        # Only now: an answer that came too late must not replace the one that is being stored.
        ask.pending = chosen.result
        return commit


def _ruled(ruling: Ruling, options: tuple[Option, ...]) -> Chosen | None:
    """The answer that a ruling gives, or ``None`` when a person must."""
    if ruling.verdict is Verdict.ALLOW:
        option = pick_option(Verdict.ALLOW, options)
        if option is None:
            return None
        return Chosen(OUTCOMES[option.kind], option.id, acp.permission_selected(option.id))
    if ruling.verdict is Verdict.DENY:
        option = pick_option(Verdict.DENY, options)
        if option is None:
            return Chosen("deny", "", acp.permission_cancelled())
        return Chosen(OUTCOMES[option.kind], option.id, acp.permission_selected(option.id))
    return None
