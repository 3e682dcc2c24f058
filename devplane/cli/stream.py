"""Shows what a run says and does: one renderer for history and for live frames."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from devplane.cli.render import PLAN_GLYPHS, TOOL_GLYPHS, paint
from devplane.core.text import one_line, visible

Frame = dict[str, Any]

CONTENT_LINES = 12
"""Lines of a tool's output that are shown."""
PROPOSAL_LINES = 60
"""Lines of a proposed change that are shown with the request to make it."""


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


class JsonPrinter:
    """One frame a line, as it came."""

    def show(self, frame: Frame) -> None:
        print(json.dumps(frame), flush=True)


class Printer:
    """Frames as a person reads them. Nothing is redrawn: what is printed stays."""

    def __init__(self, *, thinking: bool = False, prompts: bool = True) -> None:
        self._thinking = thinking
        self._prompts = prompts
        self._role = ""
        self._pos = -1
        self._ends_line = True
        self._tools: dict[str, dict[str, str]] = {}
        self._plan: list[dict[str, str]] = []

    def show(self, frame: Frame) -> None:
        match frame["kind"]:
            case "text":
                self._text(frame)
            case "fact":
                self._fact(frame["name"], frame["fact"])
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

    def _fact(self, name: str, fact: dict[str, Any]) -> None:
        match name:
            case "ToolChanged":
                self._tool(fact)
            case "PlanChanged":
                self._show_plan(fact["entries"])
            case "PermissionAsked":
                self._asked(fact)
            case "QuestionAsked":
                self._question(fact)
            case "AskAnswered":
                self.line(
                    paint(f"  {fact['outcome']} by {one_line(fact['by'] or fact['authority'], 60)}", "dim")
                )
            case "AskWithdrawn":
                self.line(paint(f"  withdrawn: {one_line(fact['why'])}", "dim"))
            case "Noted":
                colour = "yellow" if fact["level"] == "warning" else "dim"
                self.line(paint(f"! {one_line(fact['text'], 500)}", colour))
            case "TurnEnded":
                reason = fact["stop_reason"] or "no reason given"
                if reason != "end_turn":
                    self.line(paint(f"turn ended: {one_line(reason)}", "yellow"))
            case "TurnFailed":
                self.line(paint(f"turn failed: {one_line(fact['error'], 1000)}", "red"))
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

    def _asked(self, fact: dict[str, Any]) -> None:
        what = fact["subject"] or fact["title"]
        tool = fact["tool"] or "a tool"
        self.line(paint(f"◆ asks to use {tool}:", "yellow"))
        # What is to be approved is shown whole, whatever it holds.
        for each in visible(what).split("\n"):
            self.line(f"    {each}")
        known = self._tools.setdefault(fact["call"], {})
        proposed = known["asked"] = known.get("content", "")
        self._content(proposed, PROPOSAL_LINES)
        self.line(f"  devplane decide {fact['ask']} --decision allow|deny")
        for option in fact["options"]:
            if option["kind"] not in ("allow_once", "reject_once"):
                self.line(paint(f"    --option {option['id']!r}: {one_line(option['name'], 200)}", "dim"))

    def _question(self, fact: dict[str, Any]) -> None:
        self.line(paint(f"◆ asks: {one_line(fact['message'], 1000)}", "yellow"))
        fields = (fact.get("form") or {}).get("properties") or {}
        for name, schema in fields.items():
            about = schema.get("title") or schema.get("description") or schema.get("type") or ""
            self.line(f"    --answer {one_line(name, 60)}=…   {one_line(str(about), 200)}")
        self.line(f"  devplane decide {fact['ask']} --answer FIELD=VALUE, or --decision deny")


def printer(*, as_json: bool, thinking: bool, prompts: bool = True) -> Printer | JsonPrinter:
    return JsonPrinter() if as_json else Printer(thinking=thinking, prompts=prompts)


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
