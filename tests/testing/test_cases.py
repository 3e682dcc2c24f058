"""The scripted agents do what their cases say: a test that relies on one may believe it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.scripted import command, content, framing, log, permissions
from tests.scripted.cases import load_all
from tests.wire import REJECT, Hung, Refused, WireClient, choose, leave_open

Start = Callable[..., WireClient]

ALONE = {
    "noise-only",
    "silent",
    "silent-method",
    "exits-at-once",
    "exits-in",
    "error-in",
    "wrapper",
    "version",
    "reads-decisions",
    "ticker",
    "stops-reading",
    "client-calls",
}
"""Cases that never get as far as a session, or that a test of their own ends."""
NEVER_END = {"exit-mid-turn", "ignores-cancel", "interleaved", "stalls", "no-last-newline", "slow-cancel"}
NEVER_END |= {"asks-when-cancelled"}
REFUSE = {"auth", "auth-at-prompt"}
LEAVE_SOMETHING = {"deaf", "setsid-child"}
BEHAVED = sorted(set(load_all()) - ALONE - NEVER_END - REFUSE - LEAVE_SOMETHING - {"slow-start"})


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    return tmp_path / "heard.jsonl"


@pytest.fixture
def start(heard: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a case, without a word said to it."""
    env = {**os.environ, "SCRIPTED_LOG": str(heard)}
    with ExitStack() as stack:
        yield lambda case, *args: stack.enter_context(WireClient(command(case, *args), cwd=tmp_path, env=env))


def begin(agent: WireClient, folder: Path) -> str:
    agent.initialize()
    return agent.new_session(folder)


@pytest.mark.parametrize("case", BEHAVED)
def test_a_turn_with_it_comes_to_an_end_and_it_leaves_on_eof(start: Start, tmp_path: Path, case: str) -> None:
    agent = start(case, *(["1"] if case in ("images", "tool-flood") else []))
    session = begin(agent, tmp_path)
    try:
        agent.prompt(session, "hello")
    except Refused:
        pytest.fail("the turn was refused")
    agent.end_input()


def test_the_log_holds_what_was_heard_and_what_ended_it(start: Start, tmp_path: Path, heard: Path) -> None:
    agent = start("echo")
    begin(agent, tmp_path)
    agent.send_bytes(b"no json\n")
    agent.end_input()
    assert [m["method"] for m in log.messages(heard)] == ["initialize", "session/new"]
    assert log.read(heard)[-2:] == [{"heard": "no json\n"}, {"eof": True}]


def test_the_log_tells_a_signal_from_an_end_of_input(start: Start, heard: Path) -> None:
    agent = start("echo")
    agent.initialize()
    agent.process.send_signal(signal.SIGTERM)
    assert agent.exit_status() == 128 + signal.SIGTERM
    assert log.read(heard)[-1] == {"signal": signal.SIGTERM}


def test_g01_the_noise_is_on_stdout_around_good_frames(start: Start, tmp_path: Path) -> None:
    agent = start("banner")
    agent.prompt(begin(agent, tmp_path), "go")
    assert agent.noise == [b"[agent] adapter ready\n", b"\n", b"\x1b[?25l\x1b[2J\n", b"warn: slow disk\n"]
    assert agent.said() == "before after"


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
def test_g02_the_line_is_as_long_as_was_asked_for(start: Start, tmp_path: Path, size: int) -> None:
    agent = start("long-line", f"line:{size}")
    agent.prompt(begin(agent, tmp_path), "go")
    sizes = [len(json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode()) + 1 for m in agent.heard]
    assert size in sizes


@pytest.mark.parametrize("how", [[], ["cut"]])
def test_g03_the_pieces_make_the_whole(start: Start, tmp_path: Path, how: list[str]) -> None:
    agent = start("byte-by-byte", *how)
    agent.prompt(begin(agent, tmp_path), "go")
    assert agent.said() == framing.TRICKY


def test_g04_the_last_frame_is_whole_but_for_its_newline(start: Start, tmp_path: Path) -> None:
    agent = start("no-last-newline")
    turn = agent.start_prompt(begin(agent, tmp_path), "go")
    assert agent.response(turn) == {"stopReason": "end_turn"}
    assert agent.exit_status() == 0


def test_g04_the_cut_variant_is_no_json(start: Start, tmp_path: Path) -> None:
    agent = start("no-last-newline", "cut")
    turn = agent.start_prompt(begin(agent, tmp_path), "go")
    with pytest.raises(Hung):
        agent.response(turn)
    assert agent.noise[-1].startswith(b'{"jsonrpc"')


def test_g07_it_waits_for_the_answer_to_request_7(start: Start, tmp_path: Path) -> None:
    agent = start("unknown-method")
    agent.answering = leave_open
    turn = agent.start_prompt(begin(agent, tmp_path), "go")
    request = agent.until_request("vendor/drain_messages")
    agent.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
    agent.response(turn)
    assert (request["id"], agent.said()) == (7, "It was refused: -32601")


def test_g08_silence_lasts_until_the_end_of_input(start: Start, heard: Path) -> None:
    agent = start("silent")
    agent.request("initialize", {})
    assert agent.end_input() == 0
    assert agent.heard == []
    assert log.messages(heard, "initialize")


def test_g08_progress_is_on_stderr(start: Start) -> None:
    agent = start("slow-start", 3, 0)
    agent.initialize()
    agent.end_input()
    assert agent.ended_stderr() == "downloading 1/3\ndownloading 2/3\ndownloading 3/3\n"


@pytest.mark.parametrize("version", ["2", "0", '"1"', "1.0", "null"])
def test_g10_the_version_is_what_was_asked_for(start: Start, version: str) -> None:
    assert json.dumps(start("version", version).initialize()["protocolVersion"]) == version


def test_g10_the_version_can_be_missing(start: Start) -> None:
    assert "protocolVersion" not in start("version", "missing").initialize()


def test_g11_a_session_needs_the_cached_token(start: Start, tmp_path: Path) -> None:
    agent = start("auth")
    assert [m["id"] for m in agent.initialize()["authMethods"]] == ["cached_token", "browser"]
    with pytest.raises(Refused) as refused:
        agent.new_session(tmp_path)
    assert refused.value.code == -32000
    agent.call("authenticate", {"methodId": "cached_token"})
    agent.prompt(agent.new_session(tmp_path), "go")


@pytest.mark.parametrize("how", [[], ["late"]])
def test_g12_the_past_is_replayed(start: Start, tmp_path: Path, how: list[str]) -> None:
    agent = start("replay", *how)
    agent.initialize()
    agent.call("session/load", {"sessionId": "s", "cwd": str(tmp_path), "mcpServers": []})
    agent.prompt("s", "go")
    assert agent.said("user_message_chunk") == "an old question"
    assert agent.said() == "an old answera live answer"


def test_g13_the_lie_shows_at_the_prompt(start: Start, tmp_path: Path) -> None:
    agent = start("load-lies")
    session = begin(agent, tmp_path)
    assert agent.prompt(session, "go") == {"stopReason": "end_turn"}
    assert agent.call("session/load", {"sessionId": "gone", "cwd": str(tmp_path), "mcpServers": []}) == {}
    assert agent.prompt("gone", "go") == {"stopReason": "refusal"}


def test_g14_texts_come_before_and_after_the_turn(start: Start, tmp_path: Path) -> None:
    agent = start("outside-turns", 0)
    session = begin(agent, tmp_path)
    agent.until_update("agent_message_chunk")
    agent.prompt(session, "go")
    agent.until_update("agent_message_chunk")
    assert agent.said() == "background job finishedanswer 1later background job finished"


def test_g15_the_mode_is_lost_and_the_session_is_not(start: Start, tmp_path: Path, heard: Path) -> None:
    agent = start("modes", tmp_path / "kept")
    session = begin(agent, tmp_path)
    agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    agent.prompt(session, "go")
    agent.end_input()
    again = start("modes", tmp_path / "kept")
    again.initialize()
    loaded = again.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
    assert loaded["modes"]["currentModeId"] == "default"
    again.prompt(session, "go")
    assert again.said() == "mode: planmode: default"
    assert len(log.messages(heard, "session/set_mode")) == 1


def test_g16_a_cancel_of_one_ends_both_each_in_its_way(start: Start, tmp_path: Path) -> None:
    agent = start("interleaved")
    one = begin(agent, tmp_path)
    two = agent.new_session(tmp_path)
    turns = [agent.start_prompt(one, "A"), agent.start_prompt(two, "B")]
    agent.until_update("agent_message_chunk")
    agent.until_update("agent_message_chunk")
    agent.cancel(one)
    assert [agent.response(t)["stopReason"] for t in turns] == ["cancelled", "end_turn"]
    said = [m["params"]["sessionId"] for m in agent.heard if m.get("method") == "session/update"]
    assert set(said) == {one, two, "ghost"}


@pytest.mark.parametrize("delay", [0, 0.01])
def test_g17_the_tail_comes_after_the_response(start: Start, tmp_path: Path, delay: float) -> None:
    agent = start("tail", delay)
    agent.prompt(begin(agent, tmp_path), "go")
    assert agent.said() == "The answer is "
    agent.until_update("tool_call_update")
    assert agent.said() == "The answer is 42."


@pytest.mark.parametrize(("how", "status"), [("0", 0), ("1", 1), ("kill", -signal.SIGKILL)])
def test_g18_it_leaves_in_mid_turn(start: Start, tmp_path: Path, how: str, status: int) -> None:
    agent = start("exit-mid-turn", how)
    agent.answering = leave_open
    agent.start_prompt(begin(agent, tmp_path), "go")
    agent.until_eof()
    assert [m["method"] for m in agent.asked] == ["session/request_permission"]
    assert agent.exit_status() == status
    assert agent.ended_stderr() == "agent: something broke\n"


def test_g18_stdout_ends_while_the_process_lives(start: Start, tmp_path: Path) -> None:
    agent = start("exit-mid-turn", "stdout")
    agent.answering = leave_open
    agent.start_prompt(begin(agent, tmp_path), "go")
    agent.until_eof()
    assert agent.process.poll() is None
    assert agent.end_input() == 0


@pytest.mark.parametrize("late", [False, True])
def test_g19_the_first_answer_never_comes_or_comes_late(start: Start, tmp_path: Path, late: bool) -> None:
    agent = start("ignores-cancel", *(["late"] if late else []))
    session = begin(agent, tmp_path)
    first = agent.start_prompt(session, "one")
    agent.until_update("agent_message_chunk")
    agent.cancel(session)
    assert agent.prompt(session, "two") == {"stopReason": "end_turn"}
    answered = [m["id"] for m in agent.heard if "result" in m]
    assert (first in answered) is late


def test_g20_it_asks_twice_and_waits_for_both(start: Start, tmp_path: Path, heard: Path) -> None:
    agent = start("two-permissions")
    agent.answering = leave_open
    session = begin(agent, tmp_path)
    turn = agent.start_prompt(session, "go")
    asked = [agent.until_request("session/request_permission") for _ in range(2)]
    agent.cancel(session)
    for request in asked:
        agent.answer(request, {"outcome": {"outcome": "cancelled"}})
    assert agent.response(turn) == {"stopReason": "cancelled"}
    notes = [entry["note"] for entry in log.read(heard) if "note" in entry]
    assert [note["answer"] for note in notes] == [11, 12]


def test_g21_a_second_prompt_is_refused(start: Start, tmp_path: Path) -> None:
    agent = start("rejects-second", tmp_path / "gate")
    session = begin(agent, tmp_path)
    turn = agent.start_prompt(session, "one")
    with pytest.raises(Refused) as refused:
        agent.prompt(session, "two")
    (tmp_path / "gate").touch()
    agent.response(turn)
    assert (refused.value.code, agent.said()) == (-32600, "heard: one")


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "banana", None])
def test_g22_the_reason_is_what_was_asked_for(start: Start, tmp_path: Path, reason: str | None) -> None:
    agent = start("stop-reason", json.dumps(reason))
    assert agent.prompt(begin(agent, tmp_path), "go") == {"stopReason": reason}


def test_g24_the_ids_are_offered_as_they_are_and_the_choice_is_told(
    start: Start, tmp_path: Path, heard: Path
) -> None:
    agent = start("odd-option-ids")
    session = begin(agent, tmp_path)
    for option_id in permissions.ODD_IDS:
        outcome = {"outcome": {"outcome": "selected", "optionId": option_id}}
        agent.answering = lambda _, outcome=outcome: outcome
        agent.prompt(session, "go")
    assert [e["note"]["chosen"] for e in log.read(heard) if "note" in e] == list(permissions.ODD_IDS)


@pytest.mark.parametrize(("kind", "times"), [("allow_once", 2), ("allow_always", 1), ("reject_once", 1)])
def test_g25_it_asks_again_only_when_allowed_once(
    start: Start, tmp_path: Path, kind: str, times: int
) -> None:
    agent = start("always-first")
    agent.answering = choose(kind)
    agent.prompt(begin(agent, tmp_path), "go")
    assert len(agent.asked) == times


@pytest.mark.parametrize(("how", "announced"), [([], 0), (["late"], 1), (["update-first"], 1), (["bare"], 1)])
def test_g26_the_request_can_be_the_first_sight(
    start: Start, tmp_path: Path, how: list[str], announced: int
) -> None:
    agent = start("unannounced", *how)
    agent.prompt(begin(agent, tmp_path), "go")
    assert [u["sessionUpdate"] for u in agent.updates].count("tool_call") == announced


def test_g32_the_whole_tree_is_deaf_to_sigterm_and_eof(start: Start, tmp_path: Path, heard: Path) -> None:
    agent = start("wrapper")
    begin(agent, tmp_path)
    os.killpg(agent.process.pid, signal.SIGTERM)
    agent.call("session/list", {})
    notes = [entry["note"] for entry in log.read(heard) if "note" in entry]
    assert [note["is"] for note in notes] == ["outer", "inner", "agent"]
    assert len({note["pid"] for note in notes}) == 3
    os.killpg(agent.process.pid, signal.SIGKILL)


def test_a_child_can_leave_the_group(start: Start, tmp_path: Path, heard: Path) -> None:
    agent = start("setsid-child")
    agent.prompt(begin(agent, tmp_path), "go")
    child = next(entry["note"]["pid"] for entry in log.read(heard) if "note" in entry)
    try:
        assert os.getsid(child) == child
        os.kill(child, signal.SIGTERM)
        assert os.getsid(child) == child
    finally:
        os.kill(child, signal.SIGKILL)


def test_g38_an_image_is_a_megabyte_and_a_half(start: Start, tmp_path: Path) -> None:
    agent = start("images", 2)
    agent.prompt(begin(agent, tmp_path), "go")
    assert sum(len(json.dumps(u)) > content.IMAGE_BYTES for u in agent.updates) == 4


def test_g40_the_totals_are_running_ones(start: Start, tmp_path: Path) -> None:
    agent = start("costs")
    session = begin(agent, tmp_path)
    for n in range(4):
        agent.prompt(session, f"turn {n}")
    assert [u["cost"]["amount"] for u in agent.updates if "cost" in u] == [0.10, 0.25, 0.25, 0.40, 0.60]


def test_g49_the_escape_bytes_are_really_sent(start: Start, tmp_path: Path) -> None:
    agent = start("escapes")
    agent.prompt(begin(agent, tmp_path), "go")
    assert all(text in agent.said() for text in content.HOSTILE_TEXTS)
    assert agent.asked[0]["params"]["toolCall"]["title"] == content.PERMISSION_TITLE


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_g51_the_form_s_answer_is_told(start: Start, tmp_path: Path, heard: Path, action: str) -> None:
    agent = start("form")
    agent.answering = lambda _: {"action": action}
    agent.prompt(begin(agent, tmp_path), "go")
    assert log.read(heard)[-1] == {"note": {"action": action, "content": {}}}


def test_exits_and_errors_name_their_step(start: Start, tmp_path: Path) -> None:
    early = start("exits-at-once")
    early.until_eof()
    assert early.exit_status() == 1
    assert "no provider" in early.ended_stderr()
    later = start("exits-in", "session/new")
    with pytest.raises(Hung):
        begin(later, tmp_path)
    assert later.exit_status() == 3
    wrong = start("error-in", "session/new")
    with pytest.raises(Refused, match="on fire"):
        begin(wrong, tmp_path)


def test_rejecting_leaves_every_permission_case_able_to_end(start: Start, tmp_path: Path) -> None:
    for case in ("ask", "option-ids", "always-first", "unannounced", "escapes"):
        agent = start(case)
        agent.answering = choose(REJECT)
        agent.prompt(begin(agent, tmp_path), "go")
