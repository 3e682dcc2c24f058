"""What becomes of a request that cannot be recorded, and of a method nobody reads from any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from pydantic import TypeAdapter, ValidationError

import devplane
from devplane.agents.agent import Agent
from devplane.agents.translate import ToolBook
from devplane.control import requests as r
from devplane.core import events as e
from devplane.core.permission import Authority, Ruling, Verdict
from devplane.daemon.asking import Asking
from devplane.daemon.board import Board
from devplane.daemon.ledger import Ledger
from devplane.daemon.rulings import Rules
from devplane.store.failure import StoreFailed
from devplane.store.log import Commit
from devplane.store.rows import Batch
from devplane.transport import CallContext

SOURCE = Path(devplane.__file__).parent
REQUEST = {
    "toolCall": {"toolCallId": "t1", "kind": "execute", "title": "ls", "rawInput": {"command": "ls"}},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}


class BrokenLog:
    """A store that takes the first batch, which makes the run, and fails every other."""

    backlog_bytes = 0

    def __init__(self) -> None:
        self.batches = 0

    def submit(self, batch: Batch) -> Commit:
        self.batches += 1
        commit = Commit(0)
        commit.settle(None if self.batches == 1 else StoreFailed("cannot write", reason="the disk is full"))
        return commit


@pytest.mark.parametrize("verdict", [Verdict.UNDECIDED, Verdict.ALLOW])
async def test_l69_a_request_that_cannot_be_recorded_is_refused_at_once(verdict: Verdict) -> None:
    log: Any = BrokenLog()
    board = Board(log)
    created = e.RunCreated("demo", "Demo", ("demo",), "/w", "/w", "", None, True, "person")
    board.create("r-1", created)
    ledger = Ledger(board, "r-1", Agent("demo", "Demo", ("demo",), "built in"))
    rules = Rules(lambda cwd: lambda call: Ruling(verdict), "/w", "r-1")
    asking = Asking(ledger, ToolBook(), rules)
    with anyio.fail_after(5), pytest.raises(StoreFailed, match="cannot write"):
        await asking.on_permission(REQUEST, CallContext(1, "session/request_permission"))


def test_l74_an_answer_with_a_key_that_nobody_knows_is_refused() -> None:
    decide: TypeAdapter[r.Decide] = TypeAdapter(r.Decide)
    assert decide.validate_python({"ask": "a-1", "decision": "allow"}) == r.Decide("a-1", "allow")
    with pytest.raises(ValidationError):
        decide.validate_python({"ask": "a-1", "outcome": "allow"})


def trees(*folders: str) -> Iterator[ast.AST]:
    for folder in folders:
        for file in (SOURCE / folder).rglob("*.py"):
            yield from ast.walk(ast.parse(file.read_text("utf-8")))


def test_l61_no_fact_is_left_that_nothing_makes() -> None:
    facts = {each.__name__ for each in get_args(e.Fact)}
    calls = (node.func for node in trees("daemon", "agents", "core") if isinstance(node, ast.Call))
    assert facts <= {each.attr for each in calls if isinstance(each, ast.Attribute)}


def test_l79_every_authority_is_given_somewhere() -> None:
    named = (node for node in trees("daemon", "core") if isinstance(node, ast.Attribute))
    assert {each.name for each in Authority} <= {each.attr for each in named}
