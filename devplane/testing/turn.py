"""One prompt as a behaviour sees it: what it may say, show and ask.

A behaviour is a function of one `Turn`, run in a thread of its own while the agent
goes on reading. It returns the stop reason, or a whole result for odd ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from devplane.testing.shelf import Entry, Session, Shelf, text_block
from devplane.testing.wire import Message, Waiting, Wire, Withdrawn

ALLOW_ONCE: Entry = {"optionId": "allow", "name": "Allow", "kind": "allow_once"}
ALLOW_ALWAYS: Entry = {"optionId": "allow-always", "name": "Always allow", "kind": "allow_always"}
REJECT_ONCE: Entry = {"optionId": "reject", "name": "Reject", "kind": "reject_once"}
OPTIONS = (ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE)

CHUNKS = ("agent_message_chunk", "agent_thought_chunk")


class TurnCancelled(Exception):
    """The client cancelled the turn; raised out of whatever the behaviour was waiting in."""


class Turn:
    """One ``session/prompt``, from its arrival to its response."""

    def __init__(self, wire: Wire, shelf: Shelf, session: Session, request_id: object, text: str) -> None:
        self.wire = wire
        self.shelf = shelf
        self.session = session
        self.text = text
        self.number = len(session.prompts)
        """1 for the first prompt of the session, counted over every process that held it."""
        self.has_ended = False
        self.before_end: Callable[[], object] | None = None
        """Called when the response is about to be sent, by the behaviour or after it."""
        self._request_id = request_id
        self._cancelled = threading.Event()
        self._waiting: list[Waiting] = []
        self._on_cancel: list[Callable[[], object]] = []
        self._count = 0
        self._open: Entry | None = None
        self._open_parts: list[str] = []

    # What the agent says

    def say(self, text: str, *, message_id: str | None = None) -> None:
        """Send one chunk of the answer; chunks in a row are one message."""
        self._chunk("agent_message_chunk", text, message_id)

    def think(self, text: str, *, message_id: str | None = None) -> None:
        self._chunk("agent_thought_chunk", text, message_id)

    def _chunk(self, kind: str, text: str, message_id: str | None) -> None:
        if message_id is None:
            same = self._open is not None and self._open["sessionUpdate"] == kind
            message_id = self._open["messageId"] if same and self._open else self._new_id("msg")
        self.update({"sessionUpdate": kind, "content": text_block(text), "messageId": message_id})

    def plan(self, entries: Iterable[tuple[str, str]]) -> None:
        """Show the whole plan: pairs of what to do and ``pending``, ``in_progress`` or ``completed``."""
        shown = [{"content": content, "priority": "medium", "status": status} for content, status in entries]
        self.update({"sessionUpdate": "plan", "entries": shown})

    def tool(
        self,
        title: str,
        kind: str = "other",
        *,
        tool_id: str | None = None,
        status: str = "pending",
        **fields: Any,
    ) -> Tool:
        """Announce a tool call; `fields` in the protocol's spelling (``rawInput``, ``locations``, …)."""
        call = {"toolCallId": tool_id or self._new_id("call"), "title": title, "kind": kind, "status": status}
        call.update(fields)
        self.update({"sessionUpdate": "tool_call", **call})
        return Tool(self, call)

    def usage(self, used: int, size: int, cost_usd: float | None = None) -> None:
        """Report the context and, where given, the session's cost so far."""
        update: Message = {"sessionUpdate": "usage_update", "used": used, "size": size}
        if cost_usd is not None:
            update["cost"] = {"amount": cost_usd, "currency": "USD"}
        self.update(update)

    def update(self, update: Message, *, session_id: str | None = None, keep: bool = True) -> None:
        """Send any ``session/update``. `keep` is whether a later load replays it."""
        self.wire.notify("session/update", {"sessionId": session_id or self.session.id, "update": update})
        if keep:
            self._remember(update)

    def raw(self, data: bytes) -> None:
        """Write bytes that need not be a message at all."""
        self.wire.send_bytes(data)

    # What the agent asks

    def ask_permission(
        self, call: Tool | Mapping[str, Any], options: Iterable[Mapping[str, Any]] = OPTIONS
    ) -> str | None:
        """Ask and wait; return the chosen ``optionId``, ``None`` for an answer that names none.

        Raises:
            TurnCancelled: The turn was cancelled, or the client said so in its answer.
            RpcError: The client refused the request itself.
        """
        outcome = self.wait_for(self.start_permission(call, options)).get("outcome", {})
        if outcome.get("outcome") == "cancelled":
            raise TurnCancelled
        chosen = outcome.get("optionId")
        return chosen if isinstance(chosen, str) else None

    def start_permission(
        self,
        call: Tool | Mapping[str, Any],
        options: Iterable[Mapping[str, Any]] = OPTIONS,
        *,
        request_id: int | str | None = None,
    ) -> Waiting:
        """Ask without waiting, so that several can be open at once."""
        shown = call.call if isinstance(call, Tool) else call
        params = {
            "sessionId": self.session.id,
            "toolCall": dict(shown),
            "options": [dict(o) for o in options],
        }
        return self.call("session/request_permission", params, request_id=request_id)

    def ask_form(
        self, message: str, properties: Mapping[str, Message], required: Iterable[str] = ()
    ) -> tuple[str, Message]:
        """Ask the person to fill in a form; return ``accept``, ``decline`` or ``cancel`` and the content."""
        schema = {"type": "object", "properties": dict(properties), "required": list(required)}
        params = {"sessionId": self.session.id, "mode": "form", "message": message, "requestedSchema": schema}
        answer = self.wait_for(self.call("elicitation/create", params))
        return answer.get("action", "cancel"), answer.get("content") or {}

    def call(self, method: str, params: Message, *, request_id: int | str | None = None) -> Waiting:
        """Send the client any request; `wait_for` its answer, or do not."""
        waiting = self.wire.call(method, params, request_id=request_id)
        self._waiting.append(waiting)
        if self._cancelled.is_set():
            waiting.withdraw()
        return waiting

    def wait_for(self, waiting: Waiting) -> Any:
        """Return the answer, or raise `TurnCancelled` when the turn is cancelled first."""
        try:
            answer = waiting.result()
        except Withdrawn:
            raise TurnCancelled from None
        return answer if isinstance(answer, dict) else {}

    # How it ends

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def wait(self, seconds: float | None) -> None:
        """Do nothing for `seconds`, or for ever, and raise `TurnCancelled` the moment a cancel comes."""
        if self._cancelled.wait(seconds):
            raise TurnCancelled

    def on_cancel(self, what: Callable[[], object]) -> None:
        """Have `what` called, from another thread, when the turn is cancelled."""
        self._on_cancel.append(what)
        if self._cancelled.is_set():
            what()

    def cancel(self) -> None:
        """What the agent does when ``session/cancel`` comes."""
        self._cancelled.set()
        for waiting in self._waiting:
            waiting.withdraw()
        for what in self._on_cancel:
            what()

    def end(self, result: Message | str | None = None) -> None:
        """Send the response now; what the behaviour says afterwards comes after it."""
        message = self.response(result)
        self.wire.send(message)

    def response(self, result: Message | str | None = None) -> Message:
        """Return the response unsent, for a behaviour that writes it itself."""
        self._mark_ended()
        body = result if isinstance(result, dict) else {"stopReason": result or "end_turn"}
        return {"jsonrpc": "2.0", "id": self._request_id, "result": body}

    def refuse(self, code: int, message: str, data: object = None) -> None:
        """End the turn with an error reply."""
        self._mark_ended()
        self.wire.refuse(self._request_id, code, message, data)

    def _mark_ended(self) -> None:
        self._close_chunk()
        self.has_ended = True
        if self.before_end:
            self.before_end()

    # What a later load replays: chunks in a row as one

    def _remember(self, update: Message) -> None:
        if update.get("sessionUpdate") in CHUNKS and update.get("content", {}).get("type") == "text":
            if self._open is None or any(
                self._open[k] != update.get(k) for k in ("sessionUpdate", "messageId")
            ):
                self._close_chunk()
                self._open = {"messageId": None, **update}
            self._open_parts.append(update["content"]["text"])
        else:
            self._close_chunk()
            self.shelf.keep(self.session, {"update": update})

    def _close_chunk(self) -> None:
        if self._open is not None:
            joined = {**self._open, "content": text_block("".join(self._open_parts))}
            self._open, self._open_parts = None, []
            self.shelf.keep(self.session, {"update": joined})

    def _new_id(self, what: str) -> str:
        self._count += 1
        return f"{what}-{self.number}-{self._count}"


class Tool:
    """A tool call that was announced and can change."""

    def __init__(self, turn: Turn, call: Message) -> None:
        self.call = call
        self._turn = turn

    def update(self, **fields: Any) -> None:
        """Send what changed, in the protocol's spelling."""
        self.call.update(fields)
        self._turn.update(
            {"sessionUpdate": "tool_call_update", "toolCallId": self.call["toolCallId"], **fields}
        )

    def finish(self, text: str | None = None, *, status: str = "completed", **fields: Any) -> None:
        """End the call, showing `text` as what came of it."""
        if text is not None:
            fields["content"] = [content(text)]
        self.update(status=status, **fields)


def content(text: str) -> Entry:
    """Return `text` as one element of a tool call's ``content``."""
    return {"type": "content", "content": text_block(text)}


def diff(path: str, old: str | None, new: str) -> Entry:
    """Return an edit as one element of a tool call's ``content``; `old` is ``None`` for a new file."""
    return {"type": "diff", "path": path, "oldText": old, "newText": new}
