"""The tour: what a newcomer sees first."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.wire import REJECT, WireClient, choose

STEPS = 3


def test_the_tour_thinks_plans_asks_twice_writes_a_file_and_reports_cost(
    demo: WireClient, session: str, project: Path
) -> None:
    result = demo.prompt(session, "please show me what you can do")
    assert result["stopReason"] == "end_turn"
    assert demo.said("agent_thought_chunk").startswith("This is the demo agent")
    assert [r["params"]["toolCall"]["kind"] for r in demo.asked] == ["execute", "edit"]
    assert (project / "devplane-demo.txt").exists()
    usage = [u for u in demo.updates if u["sessionUpdate"] == "usage_update"][-1]
    assert usage["cost"]["amount"] > 0
    assert 0 < usage["used"] < usage["size"]
    assert "Done: I ran a command and wrote a file." in demo.said()


def test_the_plan_moves_one_step_at_a_time_and_is_completed(demo: WireClient, session: str) -> None:
    demo.prompt(session, "")
    plans = [[e["status"] for e in u["entries"]] for u in demo.updates if u["sessionUpdate"] == "plan"]
    assert plans == [
        ["completed"] * n + ["in_progress", "pending", "pending"][: STEPS - n] for n in range(STEPS + 1)
    ]


def test_a_no_is_heard_and_the_tour_goes_on(demo: WireClient, session: str, project: Path) -> None:
    demo.answering = choose(REJECT)
    assert demo.prompt(session, "go")["stopReason"] == "end_turn"
    assert len(demo.asked) == 2
    assert list(project.iterdir()) == []
    assert "Done: I changed nothing." in demo.said()


def test_in_a_repository_the_tour_asks_for_its_status(demo: WireClient, project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "sub").mkdir()
    session = demo.new_session(project / "sub")
    demo.prompt(session, "go")
    assert demo.asked[0]["params"]["toolCall"]["title"] == "git status --short"


def test_elsewhere_it_asks_to_list_the_folder_and_shows_the_listing(
    demo: WireClient, session: str, project: Path
) -> None:
    (project / "notes.md").touch()
    demo.prompt(session, "go")
    assert demo.asked[0]["params"]["toolCall"]["title"] == "ls"
    assert "notes.md\n" in [u["rawOutput"]["output"] for u in demo.updates if "rawOutput" in u]


def test_auto_mode_does_both_without_asking(demo: WireClient, session: str, project: Path) -> None:
    demo.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
    demo.prompt(session, "go")
    assert demo.asked == []
    assert (project / "devplane-demo.txt").exists()


def test_plan_mode_does_neither_and_asks_neither(demo: WireClient, session: str, project: Path) -> None:
    demo.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    demo.prompt(session, "go")
    assert demo.asked == []
    assert list(project.iterdir()) == []


def test_chunks_in_a_row_share_a_message_id_and_later_ones_do_not(demo: WireClient, session: str) -> None:
    demo.prompt(session, "go")
    spoken = [
        (u["sessionUpdate"], u.get("messageId")) for u in demo.updates if "content" in u or "entries" in u
    ]
    ids = [message_id for kind, message_id in spoken if kind.endswith("_chunk")]
    assert len(set(ids)) >= 4
    assert ids == sorted(ids, key=lambda i: int(i.rsplit("-", 1)[1]))
