from __future__ import annotations

import pytest

from devplane.core import work as w
from devplane.store.facts import WORK_KINDS, decode_work_fact, encode_fact


@pytest.mark.parametrize(
    "fact",
    [
        w.Unchecked(),
        w.WorktreeMade((".env",), ("a: a symbolic link",)),
        w.RunJoined("r-1"),
        w.CheckBegan("c0ffee", 2, ("make test",)),
        w.FedBack("t-1"),
        w.WorkStopped(w.Why.OVER_BUDGET, "5 of 5 (max_turns)", "Raise it."),
        w.WorkTakenUp("resume", "person"),
        w.WorkFinished(w.Basis.CHECKED, "c0ffee", 0, "person"),
        w.WorktreeRemoved(True),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_a_fact_comes_back_as_it_was(fact: w.WorkFact) -> None:
    kind, payload = encode_fact(fact)
    assert isinstance(payload, dict)
    assert decode_work_fact(kind, payload) == fact
    assert kind in WORK_KINDS
