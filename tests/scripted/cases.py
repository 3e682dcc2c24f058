"""The list of cases, and what they share: an honest agent that records what it hears."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from devplane.testing.scripted_agent import Behaviour, ScriptedAgent
from devplane.testing.turn import Turn
from tests.scripted import log

Case = Callable[[list[str]], object]

CASES: dict[str, Case] = {}

MODULES = ("framing", "startup", "sessions", "turns", "permissions", "ends", "content", "clients")


def case(function: Case) -> Case:
    """Register `function` under its name, hyphens for underscores; it is given the arguments."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


class Recorded(ScriptedAgent):
    """An honest agent that records what it hears and what ended it; a case then bends it."""

    def __init__(self, behave: Behaviour) -> None:
        super().__init__(behave)
        self.wire.on_line = log.heard

    def end(self, status: int) -> NoReturn:
        log.record(**({"signal": status - 128} if status > 128 else {"eof": True}))
        super().end(status)


def agent(behave: Behaviour | None = None) -> Recorded:
    return Recorded(behave or hello)


def hello(turn: Turn) -> None:
    """Answer in one sentence."""
    turn.say("Hello.")


def load_all() -> dict[str, Case]:
    for name in MODULES:
        import_module(f"tests.scripted.{name}")
    return CASES


def main(arguments: list[str]) -> None:
    """Run the case that the first argument names; the others are its own."""
    known = load_all()
    if not arguments or arguments[0] not in known:
        for name, function in sorted(known.items()):
            print(f"{name:24} {(function.__doc__ or '').splitlines()[0]}")
        sys.exit(2)
    known[arguments[0]](arguments[1:])
