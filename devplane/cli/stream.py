"""Shows what a run says and does: one renderer for history and for live frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from devplane.cli import asking, offered
from devplane.cli.asking import Request
from devplane.cli.render import PLAN_GLYPHS, TOOL_GLYPHS, paint
from devplane.core.budget import duration
from devplane.core.text import one_line, visible

Frame = dict[str, Any]

CONTENT_LINES = 12
"""Lines of a tool's output that are shown."""


def frame_of(entry: Mapping[str, Any]) -> Frame:
    """Return a transcript entry of the store as the frame that it once was."""
    if entry["type"] == "event":
        return {
            "kind": "fact",
            "pos": entry["pos"],
            "at_ms": entry["at_ms"],
            "name": entry["kind"],
            "fact": entry["payload"],
        }
    return {
        "kind": "text",
        "pos": entry["pos"],
        "role": entry["role"],
        "continues": entry["continues"],
        "text": entry["text"],
    }


SHOWN_FACTS = frozenset(
    {
        "ToolChanged",
        "PlanChanged",
        "PermissionAsked",
        "QuestionAsked",
        "AskAnswered",
        "AskWithdrawn",
        "Noted",
        "TurnFailed",
        "RunEnded",
        "RunResumed",
        "Stalled",
        "Stirred",
        "Slept",
        "BudgetReached",
        "HandedOver",
    }
)
"""Facts that a person sees; a turn's end is seen when it is not the ordinary one."""


class JsonPrinter:
    """One frame a line, as it came."""

    def shows(self, frame: Frame) -> bool:
        """Whether `frame` is printed."""
        return True

    def show(self, frame: Frame) -> None:
        print(json.dumps(frame), flush=True)

    def caught_up(self, open_asks: Iterable[Mapping[str, Any]] = ()) -> None:
        """History is over. What is open is among what was shown, or in ``show --json``."""


class Printer:
    """Frames as a person reads them. Nothing is redrawn: what is printed stays.

    Until `caught_up` they are history, in which a request may have its answer further down;
    how to answer is said of those that are open.
    """

    def __init__(
        self,
        *,
        thinking: bool = False,
        prompts: bool = True,
        told_of: Callable[[Request], Iterable[str]] = lambda request: (),
    ) -> None:
        """`told_of` gives more lines about an open request."""
        self._told_of = told_of
        self._thinking = thinking
        self._prompts = prompts
        self._role = ""
        self._pos = -1
        self._ends_line = True
        self._tools: dict[str, dict[str, str]] = {}
        self._plan: list[dict[str, str]] = []
        self._open: dict[str, Request] = {}
        self._last_shown: Request | None = None
        self._is_history = True
        self._forget_keys: Callable[[], None] | None = None
        self.offered: Request | None = None
        """The request that a key answers now."""

    def shows(self, frame: Frame) -> bool:
        """Whether anything is printed for `frame`."""
        if frame["kind"] == "text":
            return (frame["role"] != "thought" or self._thinking) and (
                frame["role"] != "user" or self._prompts
            )
        if frame["kind"] == "fact" and frame["name"] == "TurnEnded":
            return bool(frame["fact"]["stop_reason"] != "end_turn")
        return frame["kind"] != "fact" or frame["name"] in SHOWN_FACTS

    def show(self, frame: Frame) -> None:
        match frame["kind"]:
            case "text":
                self._text(frame)
            case "fact":
                self._fact(frame["name"], frame["fact"], frame.get("waits", True))
            case "skipped":
                self.line(paint(f"… {frame['count']} frames skipped, see devplane show", "yellow"))
            case _:
                pass

    def line(self, text: str = "") -> None:
        """Print a whole line, on a line of its own."""
        if not self._ends_line:
            print()
        print(text, flush=True)
        self._ends_line = True
        self._role = ""

    def finish(self) -> None:
        """End the last line, if it was not."""
        if not self._ends_line:
            print(flush=True)
            self._ends_line, self._role = True, ""

    def _text(self, frame: Frame) -> None:
        role, text = frame["role"], frame["text"]
        if (role == "thought" and not self._thinking) or (role == "user" and not self._prompts):
            return
        is_new = role != self._role or (frame["pos"] != self._pos and not frame["continues"])
        if is_new:
            if not self._ends_line:
                print()
            text = text.lstrip("\n")
            if role == "user":
                print(paint("you ▸ ", "bold"), end="")
            elif role == "thought":
                print(paint("thinking ▸ ", "dim"), end="")
        self._role, self._pos = role, frame["pos"]
        shown = visible(text)
        print(paint(shown, "dim") if role == "thought" else shown, end="", flush=True)
        if text:
            self._ends_line = text.endswith("\n")

    def _fact(self, name: str, fact: dict[str, Any], waits: bool = True) -> None:
        match name:
            case "ToolChanged":
                self._tool(fact)
            case "PlanChanged":
                self._show_plan(fact["entries"])
            case "PermissionAsked":
                known = self._tools.setdefault(fact["call"], {})
                proposed = known["asked"] = known.get("content", "")
                request = asking.of_fact(name, fact, proposed)
                if waits:
                    self._asked(request)
                else:
                    self._ask_shown(request)
            case "QuestionAsked":
                self._asked(asking.of_fact(name, fact))
            case "AskAnswered":
                by = one_line(fact["by"] or fact["authority"], 60)
                how = f"{fact['outcome']} by {by}" if by != "nobody" else f"{fact['outcome']} with its turn"
                self._closed(fact["ask"], how)
            case "AskWithdrawn":
                self._closed(fact["ask"], f"withdrawn: {one_line(fact['why'])}")
            case "Noted":
                colour = "yellow" if fact["level"] == "warning" else "dim"
                self.line(paint(f"! {one_line(fact['text'], 500)}", colour))
            case "TurnEnded":
                reason = fact["stop_reason"] or "no reason given"
                if reason != "end_turn":
                    self.line(paint(f"turn ended: {one_line(reason)}", "yellow"))
            case "TurnFailed":
                self.line(paint(f"turn failed: {one_line(fact['error'], 1000)}", "red"))
            case "RunResumed":
                self._open.clear()
                self.line(paint("resumed", "dim"))
            case "Stalled":
                self.line(paint(f"! nothing heard for {duration(fact['quiet_s'])}", "yellow"))
            case "Stirred":
                self.line(paint("heard of again", "dim"))
            case "Slept":
                self.line(paint(f"everything stood still for {duration(fact['gap_ms'] // 1000)}", "dim"))
            case "BudgetReached":
                said = f"over budget: {fact['spent']} of {fact['limit']} ({fact['bound']})"
                self.line(paint(f"! {said}", "red"))
            case "HandedOver":
                self.line(paint(f"handed over to {one_line(fact['program'], 60)}", "dim"))
            case "RunEnded":
                colour = "red" if fact["ending"] == "failed" else "dim"
                self.line(paint(f"{fact['ending']}: {one_line(fact['reason'], 1000)}", colour))
            case _:
                pass

    def _tool(self, fact: dict[str, Any]) -> None:
        known = self._tools.setdefault(fact["call"], {})
        before = known.get("status", "")
        for key in ("title", "subject", "status", "content"):
            if fact.get(key):
                known[key] = fact[key]
        subject = known.get("subject", "")
        title = known.get("title") or subject or fact["call"]
        label = title if not subject or subject in title else f"{title}: {subject}"
        status = known.get("status") or "pending"
        is_open = status in ("pending", "in_progress")
        # A call's title often comes in pieces: it is shown when it says something new, and when it ends.
        if is_open and label == known.get("shown"):
            return
        if not is_open and status == before:
            return
        known["shown"] = label
        sign, colour = TOOL_GLYPHS.get(status, ("·", "dim"))
        self.line(f"{paint(sign, colour)} {one_line(label, 400)}")
        if not is_open:
            content = fact.get("content") or ""
            # What was asked about was shown whole then, and is not shown again.
            self._content("" if content == known.get("asked") else content, CONTENT_LINES)

    def _content(self, content: str, limit: int) -> None:
        lines = visible(content).rstrip().splitlines()
        for each in lines[:limit]:
            colour = {"+": "green", "-": "red"}.get(each[:1], "dim")
            self.line(paint(f"    {each}", colour))
        if len(lines) > limit:
            self.line(paint(f"    … {len(lines) - limit} more lines", "dim"))

    def _show_plan(self, entries: list[dict[str, str]]) -> None:
        changed = [each for each in entries if each not in self._plan]
        is_first = not self._plan
        self._plan = entries
        for each in entries if is_first else changed:
            sign, colour = PLAN_GLYPHS.get(each["status"], ("·", "dim"))
            self.line(f"  {paint(sign, colour)} {one_line(each['content'], 300)}")

    def caught_up(self, open_asks: Iterable[Mapping[str, Any]] = ()) -> None:
        """History is over: say how to answer what is open; `open_asks` are rows of what it left out."""
        self._is_history = False
        for row in open_asks:
            if row["id"] not in self._open:
                self._ask_shown(asking.of_row(row))
        for request in self._open.values():
            self._say_how(request)

    def offer_keys(self, forget_keys: Callable[[], None]) -> None:
        """Let keys answer from now on; `forget_keys` throws away those that were typed before an offer."""
        self._forget_keys = forget_keys
        self._offer_next()

    def explain_keys(self) -> None:
        """Say which key means what."""
        request = self.offered
        if request is None:
            return
        plain = ["[a] allow once"] if request.allows_by else []
        numbered = [
            f"[{number}] {one_line(option['name'] or option['id'], 60)}"
            for number, option in enumerate(request.options[:9], start=1)
            if option in request.others
        ]
        self.line("  " + "   ".join([*plain, "[d] deny", *numbered]))

    def _asked(self, request: Request) -> None:
        if request.id in self._open:
            return
        self._ask_shown(request)
        if not self._is_history:
            self._say_how(request)
            self._offer_next()

    def _ask_shown(self, request: Request) -> None:
        self._open[request.id] = self._last_shown = request
        self.line(paint(f"◆ {asking.headline(request)}", "yellow"))
        for each in asking.wanted(request):
            self.line(f"    {each}")

    def _say_how(self, request: Request) -> None:
        for each in self._told_of(request):
            self.line(paint(f"  {each}", "dim"))
        for each in asking.commands(request):
            self.line(paint(f"  {each}", "dim"))

    def _closed(self, ask: str, how: str) -> None:
        self.line(paint(f"  {how}", "dim"))
        self._open.pop(ask, None)
        if self.offered is not None and self.offered.id == ask:
            self.offered = None
            self._offer_next()

    def _offer_next(self) -> None:
        """Offer the oldest open request to the keys, unless one is on offer: never one that was not seen."""
        if self._forget_keys is None or self.offered is not None:
            return
        self.offered = next((each for each in self._open.values() if _fits_a_key(each)), None)
        if self.offered is not None:
            if self.offered is not self._last_shown:
                # Something else was printed since: what the keys answer now is named again.
                self._last_shown = self.offered
                subject = self.offered.subject or self.offered.title
                self.line(paint(f"◆ {self.offered.id}: {one_line(subject, 2000)}", "yellow"))
            self._forget_keys()
            self.explain_keys()


def _fits_a_key(request: Request) -> bool:
    return not request.is_question and not request.is_cut


def printer(run: str, *, as_json: bool, thinking: bool, prompts: bool = True) -> Printer | JsonPrinter:
    """Return what prints the frames of `run`."""
    if as_json:
        return JsonPrinter()
    return Printer(thinking=thinking, prompts=prompts, told_of=partial(offered.said_of, run))
