"""A session's mode, model and options: what the agent says of them, and what it is asked to be in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from devplane.acp.jsonrpc import PeerError
from devplane.agents.link import Link, SessionRefused, said
from devplane.agents.translate import settings_of
from devplane.core import events as e
from devplane.core.run import Phase, Run
from devplane.daemon.ledger import Ledger

HARMLESS = ("model", "thought_level")
"""Categories of options that give an agent no rights: set again with a session without a question."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a session is to be in: what a person named, and for one that goes on what it was in."""

    model: str | None = None
    mode: str | None = None
    former_mode: str = ""
    former_options: tuple[tuple[str, str, str], ...] = ()
    is_same_rights: bool = False
    """Whether a person said that it may do without asking what it could before."""

    @classmethod
    def again(cls, run: Run, *, mode: str | None, is_same_rights: bool) -> Wanted:
        """What the session of `run` is to be in when it is taken up again: as it was, but no freer (G-15)."""
        # A mode of which nobody knows whether it asks counts as one that does not.
        may_restore = is_same_rights or run.asks_first is True
        return cls(
            mode=mode or (run.mode if may_restore and run.mode else None),
            former_mode=run.mode,
            former_options=run.options,
            is_same_rights=is_same_rights,
        )


class Settings:
    """Keeps the record of one session's settings true, and sets those that were wanted."""

    def __init__(self, ledger: Ledger, wanted: Wanted) -> None:
        self._ledger = ledger
        self._wanted = wanted
        self._is_mode_known = not wanted.former_mode
        """Whether the record's mode is what this process said, and not what an earlier one did."""

    def told(self, result: Any) -> list[e.Fact]:
        """Record what an answer or an update says of mode and options; return it.

        Called in wire order: an update that comes after an answer is newer.
        """
        facts = settings_of(result, self._ledger.agent.asking) if isinstance(result, dict) else []
        for fact in facts:
            self._is_mode_known = self._is_mode_known or isinstance(fact, e.ModeSeen)
            self.changed(fact)
        return facts

    def changed(self, fact: e.Fact) -> None:
        """Record one setting, if it is news."""
        if self.is_known(fact):
            return
        self._ledger.record(fact)
        # While starting the mode is still being set; what it ends in is said then.
        is_loose = isinstance(fact, e.ModeSeen) and fact.asks_first is False
        if is_loose and self._ledger.run.phase is not Phase.STARTING:
            self._ledger.record(
                e.Noted("warning", f"now decides without asking (mode {self._ledger.run.mode})")
            )

    def is_known(self, fact: e.Fact) -> bool:
        """Whether the run says as much already: agents repeat their settings with every turn."""
        run = self._ledger.run
        match fact:
            case e.ModeSeen():
                return fact.mode == run.mode
            case e.OptionSeen():
                return (fact.option, fact.category, fact.value) in run.options
            case e.CommandsSeen():
                return fact.names == run.commands
            case e.TitleGiven():
                return fact.title == run.title
            case e.PlanChanged():
                return fact.entries == run.plan
            case _:
                return False

    async def settle(self, link: Link, session: str, result: dict[str, Any]) -> None:
        """Put the session in the mode, model and options that were wanted, and say what cannot be had."""
        mode = self._wanted.mode or self._ledger.agent.asking.set_mode
        if mode is not None and (self._ledger.run.mode != mode or not self._is_mode_known):
            await self._set_mode(link, session, result, mode)
        if self._wanted.model is not None:
            await self._set_model(link, session, result, self._wanted.model)
        for option in self._wanted.former_options:
            await self._set_again(link, session, result, *option)
        run, former = self._ledger.run, self._wanted.former_mode
        shown = run.mode_name or run.mode
        if former and former != run.mode:
            self._ledger.record(e.Noted("info", f"it was in mode {former}, and is in {shown}"))
        if run.asks_first is False:
            self._ledger.record(e.Noted("warning", f"decides without asking (mode {shown})"))

    async def _set_again(
        self, link: Link, session: str, result: dict[str, Any], option: str, category: str, value: str
    ) -> None:
        """Put one option back to what it was; one that may give rights only when a person said so."""
        current = _current(result, option)
        if current is None or current == value or (category == "model" and self._wanted.model is not None):
            return
        if category not in HARMLESS and not self._wanted.is_same_rights:
            self._ledger.record(
                e.Noted(
                    "info", f"the option {option} was {value}, and is {current}: devplane resume --as-before"
                )
            )
            return

        def told(answer: Any) -> None:
            if not self.told(answer):
                self.changed(e.OptionSeen(option, category, value))

        try:
            await link.set_option(session, option, value, told)
        except PeerError as error:
            text = f"the option {option} was {value}, and cannot be set to it: {said(error)}"
            self._ledger.record(e.Noted("warning", text))

    async def _set_mode(self, link: Link, session: str, result: dict[str, Any], mode: str) -> None:
        modes = result.get("modes")
        has_modes = isinstance(modes, dict) and bool(modes.get("availableModes"))
        option = _option(result, "mode")
        if not has_modes and option is None:
            if self._wanted.mode is not None:
                raise SessionRefused(
                    f"{self._ledger.agent.name} has no modes; {mode!r} cannot be set",
                    hint="Leave out --mode.",
                )
            return

        def told(answer: Any) -> None:
            if not any(isinstance(fact, e.ModeSeen) for fact in self.told(answer)):
                # An answer that says nothing means that the mode is as asked.
                self.told({"modes": _with_current(modes, mode)})

        try:
            if has_modes:
                await link.set_mode(session, mode, told)
            else:
                assert option is not None
                await link.set_option(session, option, mode, told)
        except PeerError as error:
            known = ", ".join(_mode_names(result))
            raise SessionRefused(
                f"{self._ledger.agent.name} refused mode {mode!r}: {said(error)}", hint=f"Its modes: {known}."
            ) from None

    async def _set_model(self, link: Link, session: str, result: dict[str, Any], model: str) -> None:
        option = _option(result, "model")
        if option is None:
            raise SessionRefused(
                f"{self._ledger.agent.name} offers no choice of model; {model!r} cannot be set",
                hint="Leave out --model.",
            )

        def told(answer: Any) -> None:
            if not self.told(answer):
                self.changed(e.OptionSeen(option, "model", model))

        try:
            await link.set_option(session, option, model, told)
        except PeerError as error:
            raise SessionRefused(
                f"{self._ledger.agent.name} refused model {model!r}: {said(error)}"
            ) from None


def _option(result: dict[str, Any], category: str) -> str | None:
    """The id of the config option of `category`, if the session offers one."""
    options = result.get("configOptions")
    for each in options if isinstance(options, list) else ():
        if isinstance(each, dict) and category in (each.get("category"), each.get("id")):
            option = each.get("id")
            return option if isinstance(option, str) else None
    return None


def _current(result: dict[str, Any], option: str) -> str | None:
    """The value of a config option as a session's answer has it; ``None`` when it has no such option."""
    for each in result.get("configOptions") or ():
        if isinstance(each, dict) and each.get("id") == option:
            value = each.get("currentValue")
            return value if isinstance(value, str) else json.dumps(value)
    return None


def _mode_names(result: dict[str, Any]) -> list[str]:
    modes = result.get("modes")
    available = modes.get("availableModes") if isinstance(modes, dict) else None
    listed = available if isinstance(available, list) else ()
    found = [each.get("id") for each in listed if isinstance(each, dict)]
    return [each for each in found if isinstance(each, str)]


def _with_current(modes: Any, mode: str) -> dict[str, Any]:
    return {**(modes if isinstance(modes, dict) else {}), "currentModeId": mode}
