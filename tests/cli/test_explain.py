"""What ``explain`` says of a call: the verdict, what gave it, and why nothing did. No daemon runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.program import Program
from tests.cli.seeded import HOSTILE, trust

RULES = """\
[policy]
never_auto = ["Bash(rm *)", "Read(.env)", "WebFetch(domain:evil.example)", "mcp__prod__*"]
always_ask = ["Bash(git push *)"]
auto_allow = [
  "Bash(npm test *)",
  "Bash(npm run lint)",
  "Read(/src/**)",
]
"""


@pytest.fixture
def ruled(devplane: Program) -> Program:
    """A trusted project with rules."""
    trust(devplane.home, devplane.project)
    (devplane.project / "devplane.toml").write_text(RULES)
    return devplane


def explained(program: Program, *words: str) -> dict[str, Any]:
    done = program("explain", *words, "--json")
    assert done.status == 0, done.err
    (found,) = done.objects
    return found


def test_the_json_has_every_field_and_null_for_what_there_is_none_of(ruled: Program) -> None:
    file = str(ruled.project / "devplane.toml")
    assert explained(ruled, "rm -rf build") == {
        "verdict": "deny",
        "tool": "Bash",
        "subject": "rm -rf build",
        "rule": "Bash(rm *)",
        "file": file,
        "line": 2,
        "builtin": False,
        "reason": "Bash(rm *) denies it",
        "others": [],
    }
    assert explained(ruled, "make") == {
        "verdict": "undecided",
        "tool": "Bash",
        "subject": "make",
        "rule": None,
        "file": None,
        "line": None,
        "builtin": False,
        "reason": "no rule allows make",
        "others": [],
    }


@pytest.mark.parametrize(
    ("words", "verdict", "rule", "line"),
    [
        (("npm test unit",), "allow", "Bash(npm test *)", 5),
        (("git push",), "ask", "Bash(git push *)", 3),
        (("$X",), "unresolved", None, None),
        (("--tool", "Read", ".env"), "deny", "Read(.env)", 2),
        (("--tool", "Edit", ".env"), "deny", "Read(.env)", 2),
        (("--tool", "read", "src/x.py"), "allow", "Read(/src/**)", 7),
        (("--tool", "Grep", "src"), "undecided", None, None),
        (("--tool", "WebFetch", "https://evil.example/x"), "deny", "WebFetch(domain:evil.example)", 2),
        (("--tool", "mcp__prod__drop"), "deny", "mcp__prod__*", 2),
        (("--tool", "mcp__prod__drop", "--input", '{"table": "t"}'), "deny", "mcp__prod__*", 2),
        (("--input", '{"command": "rm x"}'), "deny", "Bash(rm *)", 2),
        (("--input", '{"command": ["bash", "-lc", "rm x"]}'), "deny", "Bash(rm *)", 2),
        (("--tool", "Bash", "--input", '{"command": "npm test"}'), "allow", "Bash(npm test *)", 5),
        (("--tool", "Read", "--input", '{"file_path": "src/x"}'), "allow", "Read(/src/**)", 7),
        (("--tool", "Write", "--input", '{"file_path": ".env"}'), "deny", "Read(.env)", 2),
        (("--input", '{"url": "https://evil.example"}'), "deny", "WebFetch(domain:evil.example)", 2),
        (("--input", '{"command": "npm test", "path": ".env"}'), "deny", "Read(.env)", 2),
        (("--input", "{}"), "undecided", None, None),
    ],
)
def test_every_form_of_a_call_is_judged_as_an_agent_would_send_it(
    ruled: Program, words: tuple[str, ...], verdict: str, rule: str | None, line: int | None
) -> None:
    found = explained(ruled, *words)
    assert (found["verdict"], found["rule"], found["line"]) == (verdict, rule, line)


def test_every_rule_that_an_allow_took_is_listed(ruled: Program) -> None:
    found = explained(ruled, "npm test && npm run lint")
    assert (found["rule"], found["line"]) == ("Bash(npm test *)", 5)
    file = str(ruled.project / "devplane.toml")
    assert found["others"] == [{"rule": "Bash(npm run lint)", "file": file, "line": 6}]
    out = ruled.ok("explain", "npm test && npm run lint")
    assert out.startswith("ALLOW  Bash npm test && npm run lint\n")
    assert "Bash(npm test *)  ~/project/devplane.toml:5" in out
    assert "Bash(npm run lint)  ~/project/devplane.toml:6" in out


def test_a_person_reads_the_verdict_first_then_the_rule_then_what_follows(ruled: Program) -> None:
    assert ruled.ok("explain", "rm x").splitlines() == [
        "DENY  Bash rm x",
        "  rule      Bash(rm *)  ~/project/devplane.toml:2",
        "  why       Bash(rm *) denies it",
        "  so        it is refused, and the agent goes on",
    ]


def test_why_nothing_answers_has_distinct_causes(ruled: Program) -> None:
    silent = ruled.ok("explain", "make")
    unread = ruled.ok("explain", "eval x")
    (ruled.project / "devplane.toml").write_text(RULES + "[polcy]\n")
    broken = ruled.ok("explain", "make")
    assert "UNDECIDED" in silent
    assert "no rule allows make" in silent
    assert "UNRESOLVED" in unread
    assert "this line runs what eval is given" in unread
    assert "ASK" in broken
    assert "~/project/devplane.toml:9" in broken
    assert "not in force: unknown table [polcy]" in broken
    assert all("a person is asked" in each for each in (silent, unread, broken))


def test_what_an_untrusted_file_allows_does_not_count_and_that_is_said(devplane: Program) -> None:
    (devplane.project / "devplane.toml").write_text(RULES)
    found = explained(devplane, "npm test")
    assert found["verdict"] == "undecided"
    assert "is not trusted, so what it allows does not count" in found["reason"]
    assert explained(devplane, "rm x")["verdict"] == "deny"
    trust(devplane.home, devplane.project)
    assert explained(devplane, "npm test")["verdict"] == "allow"


def test_a_rule_counts_from_the_moment_it_is_written(ruled: Program) -> None:
    assert explained(ruled, "make")["verdict"] == "undecided"
    (ruled.project / "devplane.toml").write_text(RULES.replace("Bash(npm run lint)", "Bash(make)"))
    assert (explained(ruled, "make")["verdict"], explained(ruled, "make")["line"]) == ("allow", 6)


def test_the_rules_of_the_machine_count_everywhere(ruled: Program) -> None:
    (ruled.home / "policy.toml").write_text('[policy]\n\nnever_auto = ["Bash(npm *)"]\n')
    found = explained(ruled, "npm test")
    assert (found["verdict"], found["file"], found["line"]) == ("deny", str(ruled.home / "policy.toml"), 3)
    assert explained(ruled, "npm test", "--cwd", "/")["verdict"] == "deny"


def test_the_call_comes_from_where_it_is_said_to(ruled: Program) -> None:
    below = ruled.project / "src"
    below.mkdir()
    assert explained(ruled, "--tool", "Read", "../.env", "--cwd", str(below))["verdict"] == "deny"
    assert explained(ruled, "rm x", "--cwd", "/")["verdict"] == "undecided"


def test_what_is_built_in_says_so(ruled: Program) -> None:
    found = explained(ruled, "--tool", "Edit", "devplane.toml")
    assert (found["verdict"], found["builtin"], found["rule"]) == ("deny", True, None)
    assert "built in" in ruled.ok("explain", "--tool", "Edit", "devplane.toml")


def test_g47_the_rules_that_bind_an_agent_are_out_of_its_reach(ruled: Program) -> None:
    for words in (
        ("echo x > devplane.toml",),
        ("mv other.toml devplane.toml",),
        ("cp x ./devplane.toml",),
        ("--tool", "Write", "--input", '{"file_path": "devplane.toml"}'),
        ("--tool", "Edit", str(ruled.home / "policy.toml")),
    ):
        assert explained(ruled, *words)["verdict"] == "deny", words


def test_g49_a_command_is_shown_whole_and_obeyed_by_no_terminal(ruled: Program) -> None:
    out = ruled.ok("explain", HOSTILE)
    assert not set(out) & set("\x1b\r\x07\x9b\u202e")
    assert "ls␛[2K␍rm -rf ~␛]52;c;ZWNobw==␇<U+009B>6n<U+202E>" in out
    assert explained(ruled, HOSTILE)["subject"] == HOSTILE
    lines = ruled.ok("explain", "npm test\nrm x").splitlines()
    assert lines[:2] == ["DENY  Bash npm test", "    rm x"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which call"),
        (("",), "say which call"),
        (("--tool", "Read"), "say which call"),
        (("--input", "{"), "--input is no JSON"),
        (("--input", "[]"), "--input is no JSON object"),
        (("--input", "[" * 100_000), "--input is nested too deeply"),
        (("ls", "--input", "{}"), "contradict each other"),
        (("ls", "--cwd", "/nowhere/at/all"), "/nowhere/at/all is not a directory"),
        (("ls", "--replay"), "--replay takes the calls from the record"),
        (("ls", "--limit", "3"), "--limit belongs to --replay"),
    ],
)
def test_a_call_that_cannot_be_meant_is_one_line(
    devplane: Program, words: tuple[str, ...], said: str
) -> None:
    done = devplane("explain", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[0].startswith("devplane: ")
    assert said in done.err


def test_without_any_file_everything_is_asked_about(devplane: Program) -> None:
    out = devplane.ok("explain", "ls")
    assert "no rule" in out
    assert "~/project/devplane.toml (not there), ~/home/policy.toml (not there)" in out
    assert not devplane.home.exists()
