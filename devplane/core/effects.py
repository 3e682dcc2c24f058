"""Wishes: what should be done because of a fact. The daemon carries them out after the fact is recorded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StartTurn:
    """Send the prompt of `turn` to the agent."""

    turn: str


@dataclass(frozen=True, slots=True)
class SendCancel:
    """Tell the agent to end the running turn, once."""

    turn: str


@dataclass(frozen=True, slots=True)
class CancelAsk:
    """Answer an open ask with the outcome ``cancelled``; `authority` says on whose account."""

    ask: str
    authority: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Write the recorded answer of an ask to the agent."""

    ask: str


@dataclass(frozen=True, slots=True)
class EndAgent:
    """Close the session and end the agent's processes."""


Wish = StartTurn | SendCancel | CancelAsk | Reply | EndAgent
