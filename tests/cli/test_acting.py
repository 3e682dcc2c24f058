"""What a person does: each verb through the whole program, its daemon and the demo agent."""

from __future__ import annotations

import signal

import pytest

from tests.cli.program import Program


def test_nothing_starts_before_somebody_trusts(devplane: Program) -> None:
    done = devplane("dispatch", "--agent", "demo", "quick")
    assert done.status == 4
    assert done.err.splitlines()[1].strip().endswith(f"devplane trust {devplane.project}")
    assert devplane("ls", "--all", "--json").objects == []


def test_trust_without_a_terminal_needs_a_yes(devplane: Program) -> None:
    done = devplane("trust", ".")
    assert done.status == 2
    assert "--yes" in done.err
    (devplane.project / ".mcp.json").write_text(
        '{"mcpServers": {"x": {"command": "npx", "args": ["-y", "srv"]}}}'
    )
    shown = devplane.ok("trust", ".", "--dry-run")
    assert "mcp" in shown
    assert "is trusted" not in shown
    assert devplane("dispatch", "--agent", "demo", "quick").status == 4
    assert "is trusted" in devplane.ok("trust", ".", "--yes")
    assert devplane("trust", ".", "--json").objects[0]["trusted"] is True
    devplane.ok("trust", ".", "--forget")
    assert devplane("dispatch", "--agent", "demo", "quick").status == 4


def test_wait_prints_the_answer_and_its_status_says_how_the_turn_ended(trusted: Program) -> None:
    assert trusted.ok("dispatch", "--agent", "demo", "--wait", "quick").strip() != ""
    answer = trusted("dispatch", "--agent", "demo", "--wait", "--json", "quick").objects[-1]
    assert answer["stop_reason"] == "end_turn"
    assert answer["text"] != ""
    for prompt, status in (("fail", 5), ("error", 5), ("crash", 5)):
        done = trusted("dispatch", "--agent", "demo", "--wait", prompt)
        assert done.status == status, prompt
        assert "Traceback" not in done.err


def test_a_prompt_comes_from_stdin(trusted: Program) -> None:
    assert trusted("dispatch", "--agent", "demo", "--wait", "-", stdin="quick\n").status == 0
    assert trusted("dispatch", "--agent", "demo", "-", stdin="  \n").status == 2


def test_follow_shows_text_tools_plan_asks_and_cost(trusted: Program) -> None:
    following = trusted.start("dispatch", "--agent", "demo", "--follow", "--thinking", "hello")
    answered = 0
    while answered < 2 and following.poll() is None:
        for item in trusted("inbox", "--json").objects:
            trusted.ok("decide", item["ask"], "--decision", "allow")
            answered += 1
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    for words in (
        "thinking ▸",
        "● ls",
        "✓ ls",
        "▸ Look at the folder",
        "asks to use Bash",
        "allow by person",
        "cost $",
    ):
        assert words in out, words
    assert "\x1b" not in out


def test_ctrl_c_ends_the_watching_and_not_the_run(trusted: Program) -> None:
    following = trusted.start("dispatch", "--agent", "demo", "--follow", "slow")
    assert following.stdout is not None
    following.stdout.read(1)
    while not (runs := trusted("ls", "--json").objects) or runs[0]["state"] != "working":
        pass
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=30)
    assert following.returncode == 130
    assert f"devplane stop {runs[0]['id']}" in err
    assert "Traceback" not in err
    assert trusted("ls", "--json").objects[0]["state"] == "working"
    trusted.ok("cancel", runs[0]["id"])
    assert trusted.ok("stop", runs[0]["id"]) == f"{runs[0]['id']} stopped\n"
    assert "had ended already" in trusted.ok("stop", runs[0]["id"])


def test_say_goes_on_with_the_same_conversation(trusted: Program) -> None:
    run = trusted.dispatch("--wait", "quick")
    assert trusted.ok("say", run, "remember") == f"sent to {run}\n"
    trusted.ok("stop", run)
    assert trusted("say", run, "more").status == 4


def test_decide_says_no_by_default_to_saying_nothing(trusted: Program) -> None:
    run = trusted.dispatch("run: touch never.txt")
    while not (items := trusted("inbox", "--json").objects):
        pass
    ask = items[0]["ask"]
    for words in ([], ["--decision", "allow", "--option", "x"], ["--decision", "perhaps"]):
        assert trusted("decide", ask, *words).status == 2
    assert trusted("decide", ask, "--option", "made-up").status == 4
    assert trusted("decide", "a-nope", "--decision", "allow").status == 3
    assert not (trusted.project / "never.txt").exists()
    assert trusted.ok("decide", run, "--request", ask, "--decision", "deny") == f"{ask} answered: deny\n"
    done = trusted("decide", ask, "--decision", "allow")
    assert done.status == 4
    assert "answered already by a person" in done.err
    assert not (trusted.project / "never.txt").exists()


def test_agents_are_listed_added_pinned_and_removed(devplane: Program) -> None:
    listed = {each["id"]: each for each in devplane("agents", "--json").objects}
    assert set(listed) == {"claude", "codex", "copilot", "demo", "gemini", "opencode"}
    assert all(each["pinned"] and each["seen"] is None for each in listed.values())
    assert "not probed" in devplane.ok("agents")
    devplane.ok("agents", "add", "mine", "/opt/mine --acp", "--name", "Mine")
    devplane.ok("agents", "pin", "codex", "9.9.9")
    listed = {each["id"]: each for each in devplane("agents", "--json").objects}
    assert "not pinned" in listed["mine"]["warnings"][0]
    assert listed["codex"]["version"] == "9.9.9"
    devplane.ok("agents", "remove", "mine")
    assert devplane("agents", "remove", "mine").status == 3
    assert devplane("agents", "pin", "codex", "latest").status == 2
    (devplane.home / "agents.toml").write_text("[agents.x\n")
    assert "agents.toml" in devplane.ok("agents")
    assert devplane("agents", "add", "y", "/y").status != 0


def test_a_probe_records_what_an_agent_advertises(devplane: Program) -> None:
    assert devplane.ok("agents", "probe", "demo").startswith("demo: devplane-demo ")
    seen = next(each for each in devplane("agents", "--json").objects if each["id"] == "demo")["seen"]
    assert seen["advertised"][:2] == ["load", "resume"]
    assert devplane("agents", "probe", "claud").status == 3


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("dispatch", "--agent", "claud", "x"), 3, "Did you mean claude?"),
        (("dispatch", "--agent", "demo", "--cwd", "/nope", "x"), 2, "/nope does not exist"),
        (("dispatch", "--agent", "demo", "--cwd", "/etc/hostname", "x"), 2, "is not a directory"),
        (("dispatch", "--agent", "/nonexistent/agent", "x"), 5, "was not found"),
        (("dispatch", "--agent", "/bin/false", "x"), 5, "exit status 1"),
        (("dispatch", "--agent", "/bin/echo hello", "x"), 5, "not an ACP agent"),
        (("dispatch", "--agent", "demo", "--model", "no-such-model", "x"), 5, "no-such-model"),
        (("dispatch", "--agent", "demo", "--mode", "no-such-mode", "x"), 5, "no-such-mode"),
        (("nonsense",), 2, "nonsense"),
        (("dispatch",), 2, "prompt"),
    ],
)
def test_bad_input_is_one_clear_line(
    trusted: Program, words: tuple[str, ...], status: int, said: str
) -> None:
    done = trusted(*words)
    assert (done.status, said in done.err, "Traceback" in done.err) == (status, True, False), done


def test_a_home_that_cannot_be_used_is_named(devplane: Program) -> None:
    done = devplane("trust", ".", "--yes", DEVPLANE_HOME="/proc/nope")
    assert done.status == 1
    assert "/proc/nope" in done.err
    assert "Traceback" not in done.err


def test_a_second_daemon_is_refused(trusted: Program) -> None:
    done = trusted("serve")
    assert done.status == 1
    assert "another daemon serves" in done.err
