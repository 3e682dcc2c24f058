"""What a person is told beside a request, and of all requests: through the daemon and the demo agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.program import Program


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Requests to run `make check`, `npm test a` to `c`, and one with a terminal's escape; all wait."""
    program = Program(tmp_path_factory.mktemp("asked"))
    program.ok("trust", ".", "--yes")
    for line in ("make check", "npm test a", "npm test b", "npm test c", "echo \x1b[2J"):
        wait_for_ask(program, program.dispatch(f"run: {line}"))
    yield program
    program.close()


def wait_for_ask(program: Program, run: str) -> dict[str, Any]:
    while True:
        for item in program("inbox", "--json").objects:
            if item["run"] == run and item["kind"] == "permission":
                return item


def test_a_request_comes_with_the_narrowest_rule_that_would_have_answered_it(asked: Program) -> None:
    file = str(asked.project / "devplane.toml")
    offers = {each["subject"]: each["offer"] for each in asked("inbox", "--json").objects}
    assert offers["make check"] == {"rule": "Bash(make check)", "list": "auto_allow", "file": file}
    assert offers["npm test b"] == {"rule": "Bash(npm test *)", "list": "auto_allow", "file": file}
    assert offers["echo \x1b[2J"] is None
    assert not (asked.project / "devplane.toml").exists()


def test_a_person_reads_why_nothing_answered_and_what_would(asked: Program) -> None:
    out = asked.ok("inbox")
    assert "     a rule for this: Bash(make check) in ~/project/devplane.toml [policy] auto_allow\n" in out
    assert "     why you: no rule" in out
    assert out.count("     why you: ") == 5
    assert "\x1b" not in out


def test_the_rules_in_force_are_asked_before_anything_is_offered(asked: Program) -> None:
    file = asked.project / "devplane.toml"
    try:
        file.write_text('[policy]\nnever_auto = ["Bash(make *)"]\nalways_ask = ["Bash(npm test b)"]\n')
        offers = {each["subject"]: each["offer"] for each in asked("inbox", "--json").objects}
        assert offers["make check"] is None
        assert offers["npm test b"] is None
        assert offers["npm test a"]["rule"] == "Bash(npm test *)"
    finally:
        file.unlink()


def test_whoever_watches_is_told_the_same(asked: Program) -> None:
    run = next(each["run"] for each in asked("inbox", "--json").objects if each["subject"] == "make check")
    watching = asked.start("tail", run)
    assert watching.stdout is not None
    seen = []
    for line in watching.stdout:
        seen.append(line)
        if "devplane decide" in line:
            break
    watching.terminate()
    watching.communicate(timeout=30)
    assert "  a rule for this: Bash(make check) in ~/project/devplane.toml [policy] auto_allow\n" in seen
    assert any(line.startswith("  why you: no rule") for line in seen)


def test_whoever_follows_is_told_although_the_request_is_shown_before_it_is_stored(trusted: Program) -> None:
    following = trusted.start("dispatch", "--agent", "demo", "--follow", "run: make check")
    assert following.stdout is not None
    seen = []
    for line in following.stdout:
        seen.append(line)
        if "devplane decide" in line:
            break
    following.terminate()
    following.communicate(timeout=30)
    assert "  why you: no rule allows make check\n" in seen
    assert "  a rule for this: Bash(make check) in ~/project/devplane.toml [policy] auto_allow\n" in seen


def test_replay_puts_what_was_asked_to_the_rules_of_today(trusted: Program) -> None:
    for line, answer in (
        ("npm test a", "allow"),
        ("npm test b", "allow"),
        ("npm test c", "allow"),
        ("rm x", "allow"),
    ):
        item = wait_for_ask(trusted, trusted.dispatch(f"run: {line}"))
        trusted.ok("decide", item["ask"], "--decision", answer)
    run = trusted.dispatch("permissions 2")
    for _ in range(2):
        trusted.ok("decide", wait_for_ask(trusted, run)["ask"], "--decision", "deny")
    (before,) = trusted("explain", "--replay", "--json").objects
    file = trusted.project / "devplane.toml"
    assert (before["requests"], before["reach_you"], before["differ"]) == (6, 6, 0)
    assert before["offers"] == [
        {"rule": "Bash(npm test *)", "list": "auto_allow", "file": str(file), "spares": 3}
    ]
    out = trusted.ok("explain", "--replay")
    assert out.startswith("6 requests put to today's rules:\n")
    assert "     3  Bash(npm test *)  in ~/project/devplane.toml\n" in out
    file.write_text(
        '[policy]\nnever_auto = ["Bash(rm *)"]\nauto_allow = ["Bash(npm test *)", "Bash(echo 1)"]\n'
    )
    (after,) = trusted("explain", "--replay", "--json").objects
    assert after["verdicts"] == {"allow": 4, "deny": 1, "ask": 0, "unresolved": 0, "undecided": 1}
    assert (after["reach_you"], after["differ"], after["offers"]) == (1, 5, [])
    out = trusted.ok("explain", "--replay")
    assert "3 that you allowed would now be allowed without asking you" in out
    assert "1 that you allowed would now be denied" in out
    assert "1 that you denied would now be allowed without asking you" in out
    assert trusted("explain", "--replay", "--limit", "2", "--json").objects[0]["requests"] == 2


def test_rules_answer_what_they_can_and_audit_names_them(trusted: Program) -> None:
    file = trusted.project / "devplane.toml"
    file.write_text('[policy]\nnever_auto = ["Bash(echo 2)"]\nauto_allow = ["Bash(echo 1)"]\n')
    run = trusted.dispatch("permissions 3")
    item = wait_for_ask(trusted, run)
    assert (item["subject"], item["ruling"]["verdict"]) == ("echo 3", "undecided")
    trusted.ok("decide", item["ask"], "--decision", "allow")
    found = trusted("audit", run, "--json").objects
    assert [(each["subject"], each["verdict"], each["authority"]) for each in found] == [
        ("echo 1", "allow", "rule"),
        ("echo 2", "deny", "rule"),
        ("echo 3", "allow", "person"),
    ]
    assert [(each["rule"], each["line"]) for each in found] == [
        ("Bash(echo 1)", 3),
        ("Bash(echo 2)", 2),
        (None, None),
    ]
    assert "allow Bash echo 1  rule Bash(echo 1)  ~/project/devplane.toml:3" in trusted.ok("show", run)
    (replayed,) = trusted("explain", "--replay", "--json").objects
    assert (replayed["reach_you"], replayed["differ"]) == (1, 0)


def test_a_replay_of_nothing_says_so(devplane: Program) -> None:
    assert devplane.ok("explain", "--replay") == "nothing is on record yet: no agent has asked for anything\n"
    assert devplane("explain", "--replay", "--json").objects[0]["requests"] == 0
    assert not devplane.home.exists()
