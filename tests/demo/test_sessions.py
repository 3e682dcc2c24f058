"""Sessions of the demo: kept on disk, found again by another process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import devplane
from devplane.demo.disk import state_folder
from tests.demo.conftest import Start
from tests.demo.schema import check_messages
from tests.wire import Refused, WireClient, leave_open


def by_id(demo: WireClient, session: str, project: Path, method: str) -> dict:
    return dict(demo.call(method, {"sessionId": session, "cwd": str(project), "mcpServers": []}))


def test_it_says_who_it_is_and_what_it_can(start: Start) -> None:
    result = start().heard[0]["result"]
    assert result["protocolVersion"] == 1
    assert result["agentInfo"] == {
        "name": "devplane-demo",
        "title": "Devplane demo",
        "version": devplane.__version__,
    }
    assert result["agentCapabilities"]["loadSession"] is True
    assert result["agentCapabilities"]["sessionCapabilities"] == {"resume": {}, "close": {}, "list": {}}


def test_a_resumed_session_remembers_and_replays_nothing(start: Start, project: Path) -> None:
    first = start()
    session = first.new_session(project)
    first.prompt(session, "quick please: the word is heron")
    first.process.send_signal(signal.SIGKILL)
    first.exit_status()

    second = start()
    second.forget()
    by_id(second, session, project, "session/resume")
    assert second.updates == []
    second.prompt(session, "remember")
    assert second.said() == "This is turn 2. The prompt before it was: quick please: the word is heron"


def test_a_loaded_session_replays_what_was_said_before_it_answers(start: Start, project: Path) -> None:
    first = start()
    session = first.new_session(project)
    first.prompt(session, "edit")
    first.end_input()

    second = start()
    second.forget()
    by_id(second, session, project, "session/load")
    kinds = [u["sessionUpdate"] for u in second.updates]
    assert kinds[0] == "user_message_chunk"
    assert second.said("user_message_chunk") == "edit"
    assert second.said() == first.said() == "Written."
    assert kinds.count("tool_call") == 1
    assert "result" in second.heard[-1]


def test_cost_goes_on_from_where_it_was(start: Start, project: Path) -> None:
    costs = []
    session = ""
    for _ in range(2):
        demo = start()
        if session:
            by_id(demo, session, project, "session/resume")
        else:
            session = demo.new_session(project)
        demo.prompt(session, "quick")
        costs.append([u["cost"]["amount"] for u in demo.updates if "cost" in u][-1])
        demo.end_input()
    assert 0 < costs[0] < costs[1]


def test_the_mode_starts_over_in_another_process(start: Start, project: Path) -> None:
    first = start()
    session = first.new_session(project)
    first.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
    first.end_input()
    assert by_id(start(), session, project, "session/resume")["modes"]["currentModeId"] == "ask"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.parametrize("unknown", ["2f0c4b5e-0000-4000-8000-000000000000", "../../etc/passwd", ""])
def test_an_unknown_session_is_refused(demo: WireClient, project: Path, method: str, unknown: str) -> None:
    with pytest.raises(Refused) as refused:
        by_id(demo, unknown, project, method)
    assert refused.value.code == -32002


def test_sessions_are_listed_with_title_and_folder(demo: WireClient, project: Path, tmp_path: Path) -> None:
    here, there = demo.new_session(project), demo.new_session(tmp_path)
    demo.prompt(here, "quick and\nthen some")
    everywhere = demo.call("session/list", {})["sessions"]
    assert {s["sessionId"] for s in everywhere} == {here, there}
    (listed,) = demo.call("session/list", {"cwd": str(project)})["sessions"]
    assert (listed["title"], listed["cwd"]) == ("quick and", str(project))


def test_a_cut_last_line_costs_that_line_only(start: Start, project: Path, tmp_path: Path) -> None:
    demo = start()
    session = demo.new_session(project)
    demo.prompt(session, "quick")
    (file,) = (tmp_path / "state").iterdir()
    with file.open("ab") as lines:
        lines.write(b'{"update": {"sessionUpd')
    by_id(demo, session, project, "session/load")
    assert demo.prompt(session, "remember")["stopReason"] == "end_turn"
    assert demo.said().endswith("This is turn 2. The prompt before it was: quick")


def test_sessions_are_private_files(demo: WireClient, session: str, tmp_path: Path) -> None:
    (file,) = (tmp_path / "state").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0


def test_mode_by_option_and_option_by_mode_agree(demo: WireClient, session: str) -> None:
    demo.call("session/set_config_option", {"sessionId": session, "configId": "mode", "value": "plan"})
    assert demo.until_update("current_mode_update")["params"]["update"]["currentModeId"] == "plan"
    demo.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
    options = demo.until_update("config_option_update")["params"]["update"]["configOptions"]
    assert {o["id"]: o["currentValue"] for o in options} == {"mode": "auto", "model": "demo-small"}


def test_the_large_model_costs_more(demo: WireClient, project: Path) -> None:
    costs = []
    for model in ("demo-small", "demo-large"):
        session = demo.new_session(project)
        demo.call("session/set_config_option", {"sessionId": session, "configId": "model", "value": model})
        demo.prompt(session, "quick")
        costs.append([u["cost"]["amount"] for u in demo.updates if "cost" in u][-1])
    assert costs[1] == pytest.approx(10 * costs[0])


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "yolo"}),
        ("session/set_config_option", {"configId": "model", "value": "demo-huge"}),
        ("session/set_config_option", {"configId": "colour", "value": "red"}),
        ("session/prompt", {}),
    ],
)
def test_what_it_does_not_know_is_refused(demo: WireClient, session: str, method: str, params: dict) -> None:
    with pytest.raises(Refused) as refused:
        demo.call(method, {"sessionId": session, **params})
    assert refused.value.code == -32602


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder", None])
def test_a_session_needs_a_folder_that_exists(demo: WireClient, cwd: str | None) -> None:
    with pytest.raises(Refused) as refused:
        demo.call("session/new", {"cwd": cwd, "mcpServers": []})
    assert refused.value.code == -32602


def test_close_ends_the_turn_and_the_session(demo: WireClient, session: str) -> None:
    demo.answering = leave_open
    turn = demo.start_prompt(session, "hold")
    demo.until_request("session/request_permission")
    assert demo.call("session/close", {"sessionId": session}) == {}
    assert demo.response(turn) == {"stopReason": "cancelled"}
    with pytest.raises(Refused):
        demo.prompt(session, "quick")


def test_a_second_prompt_is_refused_while_one_runs_and_the_first_goes_on(
    demo: WireClient, session: str
) -> None:
    turn = demo.start_prompt(session, "slow")
    with pytest.raises(Refused) as refused:
        demo.prompt(session, "quick")
    assert refused.value.code == -32600
    demo.cancel(session)
    assert demo.response(turn)["stopReason"] == "cancelled"


def test_two_sessions_have_turns_at_the_same_time(demo: WireClient, session: str, project: Path) -> None:
    other = demo.new_session(project)
    turn = demo.start_prompt(session, "slow")
    assert demo.prompt(other, "quick")["stopReason"] == "end_turn"
    demo.cancel(session)
    assert demo.response(turn)["stopReason"] == "cancelled"


def test_every_message_fits_the_published_schema(demo: WireClient, project: Path) -> None:
    methods = {0: "initialize"}

    def call(method: str, params: dict) -> dict:
        methods[demo._next_id] = method
        return dict(demo.call(method, params))

    session = call("session/new", {"cwd": str(project), "mcpServers": []})["sessionId"]
    demo.answering = lambda request: (
        {"action": "accept", "content": {"name": "Ada"}}
        if request["method"] == "elicitation/create"
        else {"outcome": {"outcome": "selected", "optionId": "allow"}}
    )
    for text in (
        "tour",
        "quick",
        "think",
        "plan",
        "edit",
        "shell",
        "run: exit 3",
        "question",
        "permissions 2",
    ):
        call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
    for text in ("hold", "remember", "sleep 0", "many 20", "long", "fail"):
        call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
    with pytest.raises(Refused):
        call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "error"}]})
    call("session/set_mode", {"sessionId": session, "modeId": "auto"})
    call("session/set_config_option", {"sessionId": session, "configId": "mode", "value": "ask"})
    call("session/list", {})
    call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
    call("session/resume", {"sessionId": session, "cwd": str(project), "mcpServers": []})
    call("session/close", {"sessionId": session})
    check_messages(demo.heard, methods)
    assert demo.noise == []


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"DEVPLANE_DEMO_STATE": "/a/b"}, "/a/b"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/devplane-demo"),
        ({"XDG_STATE_HOME": "not/absolute", "HOME": "/h"}, "/h/.local/state/devplane-demo"),
        ({"HOME": "/h"}, "/h/.local/state/devplane-demo"),
    ],
)
def test_the_state_folder_is_where_the_environment_says(environ: dict, folder: str) -> None:
    assert state_folder(environ) == Path(os.path.abspath(folder))
