"""What each prompt word does, as a client sees it."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from devplane.demo import words
from tests.wire import ALWAYS, REJECT, Refused, WireClient, choose, leave_open


@pytest.mark.parametrize(
    ("text", "word", "rest"),
    [
        ("quick", "quick", ""),
        ("  Quick  ", "quick", ""),
        ("/run ls -l", "run", "ls -l"),
        ("run: echo a: b", "run", "echo a: b"),
        ("run:ls", "run", "ls"),
        ("many 12", "many", "12"),
        ("quick, please", "", "quick, please"),
        ("quickly now", "quickly", "now"),
        ("/usr/bin/env", "", "/usr/bin/env"),
        ("", "", ""),
    ],
)
def test_a_word_counts_when_it_stands_whole_at_the_start(text: str, word: str, rest: str) -> None:
    assert words.split(text) == (word, rest)


def test_every_word_is_described_where_people_look() -> None:
    import devplane.demo

    assert all(f"``{word}" in (devplane.demo.__doc__ or "") for word in words.WORDS)


def test_quick_says_one_sentence_and_asks_nothing(demo: WireClient, session: str) -> None:
    assert demo.prompt(session, "quick")["stopReason"] == "end_turn"
    assert demo.said() == "This is turn 1, and that is all I have to say."
    assert demo.asked == []


def test_run_asks_for_exactly_that_command_and_shows_its_real_output(
    demo: WireClient, session: str, project: Path
) -> None:
    demo.prompt(session, "run: pwd; echo oops >&2; exit 3")
    assert demo.asked[0]["params"]["toolCall"]["rawInput"] == {"command": "pwd; echo oops >&2; exit 3"}
    ended = [u for u in demo.updates if u.get("status") == "failed"]
    assert ended[0]["rawOutput"] == {"exitCode": 3, "output": f"{project}\noops\n"}
    assert ended[0]["content"][0]["content"]["text"] == f"{project}\noops\n\n(exit status 3)"


def test_a_command_that_leaves_a_child_behind_is_not_waited_for(demo: WireClient, session: str) -> None:
    demo.prompt(session, "run: sleep 600 & echo started")
    assert demo.updates[-3]["rawOutput"] == {"exitCode": 0, "output": "started\n"}


def test_the_end_of_a_large_output_is_what_is_shown(demo: WireClient, session: str) -> None:
    demo.prompt(session, "run: head -c 300000 /dev/zero | tr '\\0' x; echo END")
    shown = next(u for u in demo.updates if u.get("status") == "completed")["content"][0]["content"]["text"]
    assert shown.startswith("[37860 bytes cut]\n")
    assert shown.endswith("xEND\n")


def test_a_rejected_command_does_not_run(demo: WireClient, session: str, project: Path) -> None:
    demo.answering = choose(REJECT)
    assert demo.prompt(session, "run: touch made.txt")["stopReason"] == "end_turn"
    assert not (project / "made.txt").exists()
    assert [u.get("status") for u in demo.updates if "status" in u] == ["pending", "failed"]


def test_allow_always_covers_that_command_and_no_other(demo: WireClient, session: str) -> None:
    demo.answering = choose(ALWAYS)
    for text in ("run: true", "run: true", "run: echo other"):
        demo.prompt(session, text)
    assert [r["params"]["toolCall"]["title"] for r in demo.asked] == ["true", "echo other"]


def test_an_edit_shows_the_diff_before_it_writes(demo: WireClient, session: str, project: Path) -> None:
    path = project / "devplane-demo.txt"
    for _ in range(2):
        demo.prompt(session, "edit")
    first, second = (r["params"]["toolCall"]["content"][0] for r in demo.asked)
    assert first == {
        "type": "diff",
        "path": str(path),
        "oldText": None,
        "newText": "Written by devplane-demo in turn 1.\n",
    }
    assert second["oldText"] == first["newText"]
    assert path.read_text() == second["newText"]


def test_an_edit_does_not_follow_a_symlink_out_of_the_folder(
    demo: WireClient, session: str, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (project / "devplane-demo.txt").symlink_to(outside)
    assert demo.prompt(session, "edit")["stopReason"] == "end_turn"
    assert outside.read_text() == "mine"
    assert "symbolic link" in demo.said()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"action": "accept", "content": {"name": "Ada", "tests": True}},
            "You said: name = Ada, tests = True.",
        ),
        ({"action": "decline"}, "You would rather not say."),
        ({"action": "cancel"}, "The question was put away."),
    ],
)
def test_a_question_takes_every_answer(demo: WireClient, session: str, answer: dict, said: str) -> None:
    demo.answering = lambda _: answer
    demo.prompt(session, "question")
    kinds = {n: p["type"] for n, p in demo.asked[0]["params"]["requestedSchema"]["properties"].items()}
    assert kinds == {"name": "string", "lines": "number", "colour": "string", "tests": "boolean"}
    assert demo.said() == said


def test_permissions_are_asked_one_after_the_other_with_ids_from_0(demo: WireClient, session: str) -> None:
    demo.prompt(session, "permissions 5")
    assert [r["id"] for r in demo.asked] == [0, 1, 2, 3, 4]
    assert demo.said() == "5 of 5 were allowed."


def test_hold_waits_until_it_is_answered(demo: WireClient, session: str) -> None:
    demo.answering = leave_open
    turn = demo.start_prompt(session, "hold")
    request = demo.until_request("session/request_permission")
    demo.answer(request, {"outcome": {"outcome": "selected", "optionId": "allow"}})
    assert demo.response(turn)["stopReason"] == "end_turn"


def test_many_writes_every_chunk_once_and_in_order(demo: WireClient, session: str) -> None:
    demo.prompt(session, "many 5000")
    chunks = [u["content"]["text"] for u in demo.updates if u["sessionUpdate"] == "agent_message_chunk"]
    assert chunks[:-1] == [f"chunk {n:>12}\n" for n in range(5000)]


def test_long_is_one_line_of_one_and_a_half_megabytes(demo: WireClient, session: str) -> None:
    demo.prompt(session, "long")
    assert max(len(json.dumps(update)) for update in demo.updates) > 1_500_000


def test_fail_is_a_refusal_that_explains_itself(demo: WireClient, session: str) -> None:
    assert demo.prompt(session, "fail") == {"stopReason": "refusal"}
    assert "will not" in demo.said()


def test_an_error_leaves_the_session_usable(demo: WireClient, session: str) -> None:
    with pytest.raises(Refused) as refused:
        demo.prompt(session, "error")
    assert refused.value.code == -32603
    assert demo.prompt(session, "quick")["stopReason"] == "end_turn"


def test_a_crash_says_so_on_stderr(demo: WireClient, session: str) -> None:
    demo.start_prompt(session, "crash")
    demo.until_eof()
    assert demo.exit_status() == 1
    assert demo.ended_stderr() == "devplane-demo: crashing, as the prompt asked\n"


@pytest.mark.parametrize(
    "word", ["slow", "sleep 600", "hold", "run: sleep 600", "question", "many 100000000"]
)
def test_a_cancel_ends_whatever_the_turn_is_doing(demo: WireClient, session: str, word: str) -> None:
    demo.answering = choose("allow_once") if word.startswith("run") else leave_open
    turn = demo.start_prompt(session, word)
    if word.startswith("run"):
        demo.until(lambda m: m.get("params", {}).get("update", {}).get("status") == "in_progress")
    elif word.startswith("sleep"):
        demo.until_update("session_info_update")
    elif word in ("hold", "question"):
        demo.until(lambda m: "method" in m and "id" in m)
    else:
        demo.until_update("agent_message_chunk")
    demo.cancel(session)
    assert demo.response(turn) == {"stopReason": "cancelled"}


def test_a_permission_answered_with_cancelled_ends_the_turn_as_cancelled(
    demo: WireClient, session: str
) -> None:
    demo.answering = lambda _: {"outcome": {"outcome": "cancelled"}}
    assert demo.prompt(session, "edit") == {"stopReason": "cancelled"}
    assert demo.updates[-1]["status"] == "failed"


@pytest.mark.parametrize("how", ["eof", "term"])
@pytest.mark.parametrize("word", ["slow", "sleep 600", "hold", "many 100000000", "run"])
def test_it_ends_in_mid_turn_and_leaves_no_child(
    demo: WireClient, project: Path, word: str, how: str
) -> None:
    session = demo.new_session(project)
    demo.answering = choose("allow_once") if word == "run" else leave_open
    alive = project / "alive"
    os.mkfifo(alive)
    demo.start_prompt(session, "run: exec sleep 600 > alive" if word == "run" else word)
    demo.until_update("session_info_update")
    with ExitStack() as stack:
        child = None
        if word == "run":
            demo.until(lambda m: m.get("params", {}).get("update", {}).get("status") == "in_progress")
            child = stack.enter_context(alive.open("rb"))  # opens once the child has it open
        if how == "eof":
            assert demo.end_input() == 0
        else:
            demo.process.send_signal(signal.SIGTERM)
            assert demo.exit_status() == 128 + signal.SIGTERM
        assert child is None or child.read() == b""  # ends once the child is gone
