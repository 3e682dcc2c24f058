"""What is said about rules before they are in force."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from devplane.core.policy import Rule, parse, rule_file
from devplane.policies import check
from devplane.policies.covering import covers
from devplane.policies.text import read_document

FILE = Path("/repo/devplane.toml")


def rule(text: str) -> Rule:
    return parse(text, str(FILE), 1, folder="/repo")


def warned(*, deny: Sequence[str] = (), ask: Sequence[str] = (), allow: Sequence[str] = ()) -> list[str]:
    files = [rule_file(str(FILE), "/repo", never_auto=deny, always_ask=ask, auto_allow=allow)]
    return [each.reason for each in check.warnings(files)]


def problems(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.reason) for each in read_document(text, FILE, is_project=True).problems]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Bash(ls", "Bash(ls: its bracket is not closed"),
        ("Bash(ls) x", "Bash(ls) x: there is text after its closing bracket"),
        ("Bash(command:ls)", "Bash(command:ls): write the command itself, as in Bash(git push *)"),
        ("Write(x)", "Write(x): paths belong to Edit, which covers it: Edit(x)"),
        ("Grep(x)", "Grep(x): paths belong to Read, which covers it: Read(x)"),
        ("mcp__a__b(x)", "mcp__a__b(x): a rule for an MCP tool takes no brackets"),
        ("Task(src/**)", "Task(src/**): this tool takes no such specifier; Tool(parameter:value) is one"),
        ("!", "the rule '!' is empty"),
    ],
)
def test_a_rule_that_means_nothing_is_a_problem_on_its_line(text: str, reason: str) -> None:
    assert problems(f'[policy]\nnever_auto = [\n  "Bash(rm *)",\n  "{text}",\n]\n') == [(4, reason)]


def test_every_problem_is_named_and_not_only_the_first() -> None:
    text = """\
nonsense = 1
[polcy]
x = 1
[policy]
never = []
never_auto = ["Write(x)", "Bash(ls"]
auto_allow = "Bash(ls)"
[transcripts]
keep = true
kep = true
[questions]
deadline = "soon\""""
    assert [line for line, _ in problems(text)] == [1, 2, 5, 6, 6, 7, 10, 12]


def test_a_file_that_is_no_toml_has_one_problem() -> None:
    assert problems('[policy]\nnever_auto = ["Bash(rm *)"\nx') == [(3, "unclosed array")]


def test_tools_that_nobody_has_are_warned_of_with_what_may_be_meant() -> None:
    assert warned(deny=["Baash"]) == ["Baash: no agent is known to have this tool; did you mean Bash?"]
    assert warned(ask=["Teleport"]) == ["Teleport: no agent is known to have this tool"]
    known = ["Bash(rm *)", "Read(.env)", "mcp__x", "Edit", "WebSearch", "grep", "mcp__*", "*"]
    assert warned(deny=known) == []


@pytest.mark.parametrize(
    "text",
    ["Bash", "Bash(*)", "Bash(python *)", "Bash(python3:*)", "Bash(python -c *)", "Bash(node -e *)",
     "Bash(bash *)", "Bash(/bin/sh *)", "Bash(sudo *)", "Bash(npx *)", "Bash(env *)", "Bash(xargs *)",
     "Bash(uv run *)", "Bash(docker run *)", "Bash(ssh *)"],
)  # fmt: skip
def test_an_allow_for_anything_at_all_is_warned_of(text: str) -> None:
    (reason,) = warned(allow=[text])
    assert reason.startswith(f"{text} allows any code")
    assert warned(deny=[text], ask=[text]) == []


@pytest.mark.parametrize(
    "text",
    ["Bash(python -m pytest *)", "Bash(python x.py)", "Bash(npx tsc *)", "Bash(uv run pytest *)",
     "Bash(git *)", "Bash(npm *)", "Bash(uv *)", "Bash(docker ps *)", "Bash(pytest *)", "Bash(git * --stat)",
     "mcp__a__*", "mcp__a", "WebFetch(domain:example.com)", "Read", "Edit(/src/**)"],
)  # fmt: skip
def test_an_allow_for_one_kind_of_thing_is_not(text: str) -> None:
    assert warned(allow=[text]) == []


@pytest.mark.parametrize("text", ["mcp__*", "*", "B*", "Task(kind:x)", "WebFetch(method:GET)"])
def test_an_allow_that_grants_nothing_is_warned_of(text: str) -> None:
    (reason,) = warned(allow=[text])
    assert "grants nothing" in reason


COVERED = [
    ("Bash", "Bash(git push *)"),
    ("Bash(git *)", "Bash(git push *)"),
    ("Bash(git push *)", "Bash(git push --force *)"),
    ("Bash(npm test *)", "Bash(npm test)"),
    ("Bash(npm test:*)", "Bash(npm test *)"),
    ("Read", "Read(/src/x)"),
    ("Read(/src/**)", "Read(/src/a/*.py)"),
    ("Read(.env)", "Read(.env)"),
    ("mcp__a", "mcp__a__b"),
    ("mcp__a__*", "mcp__a__b"),
    ("WebFetch(domain:a.com)", "WebFetch(domain:a.com)"),
]
NOT_COVERED = [
    ("Bash(git push *)", "Bash(git *)"),
    ("Bash(git push)", "Bash(git push *)"),
    ("Bash(git p* x)", "Bash(git push x)"),
    ("Bash(npm test *)", "Bash(npm t *)"),
    ("Bash(npm test *)", "Bash(npm testing)"),
    ("Read(/src/**)", "Read(src/x)"),
    ("Read(/src/**)", "Read(/srcs/x)"),
    ("Read(/s*/**)", "Read(/src/x)"),
    ("Read(/src/**)", "Read(.env)"),
    ("Edit(/src/**)", "Read(/src/x)"),
    ("mcp__a__b", "mcp__a"),
    ("WebFetch(domain:*.com)", "WebFetch(domain:a.com)"),
]


@pytest.mark.parametrize(("wide", "narrow"), COVERED)
def test_a_rule_that_an_earlier_one_covers_wholly_is_not_needed(wide: str, narrow: str) -> None:
    assert covers(rule(wide), rule(narrow), as_allow=True)
    assert covers(rule(wide), rule(narrow), as_allow=False)
    if wide != "Bash":
        assert warned(allow=[wide, narrow]) == [f"{narrow} is never needed: {wide} on line 1 covers it"]
    assert not any("needed" in each for each in warned(allow=[wide, narrow, "!Bash(git push x)"]))
    assert warned(allow=[narrow], ask=[wide]) == []


@pytest.mark.parametrize(("wide", "narrow"), NOT_COVERED)
def test_what_cannot_be_proved_to_be_covered_is_not_said_to_be(wide: str, narrow: str) -> None:
    assert not covers(rule(wide), rule(narrow), as_allow=True)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("Bash", "Bash(python -m pytest *)"),
        ("Bash(python *)", "Bash(python -m pytest *)"),
        ("Bash(timeout *)", "Bash(timeout 5 pytest *)"),
        ("Bash(find *)", "Bash(find . -exec ls *)"),
        ("Bash(git *)", "Bash(git bisect run *)"),
    ],
)
def test_an_allow_that_spells_what_is_run_says_more_than_its_wrapper(wide: str, narrow: str) -> None:
    assert not covers(rule(wide), rule(narrow), as_allow=True)
    assert covers(rule(wide), rule(narrow), as_allow=False)


def test_what_is_allowed_in_vain_is_warned_of_whichever_file_forbids_it() -> None:
    own = rule_file("/repo/devplane.toml", "/repo", auto_allow=["Bash(git push *)", "Edit(.env)"])
    machine = rule_file("/home/me/policy.toml", "/home/me", never_auto=["Bash(git *)", "Read(.env)"])
    assert [each.reason for each in check.warnings([own, machine])] == [
        "Bash(git push *) allows nothing: Bash(git *) in /home/me/policy.toml:1 denies it",
        "Edit(.env) allows nothing: Read(.env) in /home/me/policy.toml:2 denies it",
    ]
    excused = rule_file("/home/me/policy.toml", "/home/me", never_auto=["Bash(git *)", "!Bash(git push x)"])
    assert check.warnings([own, excused]) == []


def test_a_read_deny_without_its_edit_half_is_noted_once() -> None:
    files = [rule_file("/f", "/", never_auto=["Read(.env)", "Read(~/.ssh/**)"])]
    (note,) = check.notes(files)
    assert note.reason.startswith("Read(.env) (and 1 more) denies writing as well, here")
    both = ["Read(.env)", "Edit(.env)"]
    assert check.notes([rule_file("/f", "/", never_auto=both)]) == []
    assert warned(deny=both) == []


def test_rules_stand_in_the_order_in_which_they_are_asked() -> None:
    own = rule_file("/a", "/", never_auto=["Bash(a)"], always_ask=["Bash(b)"], auto_allow=["Bash(c)"])
    machine = rule_file("/m", "/", never_auto=["Bash(d)"], always_ask=["Bash(e)"], auto_allow=["Bash(f)"])
    found = [(str(each.verdict), each.rule.text) for each in check.entries([own, machine])]
    assert found == [
        ("deny", "Bash(a)"), ("deny", "Bash(d)"), ("ask", "Bash(b)"), ("ask", "Bash(e)"),
        ("allow", "Bash(c)"), ("allow", "Bash(f)"),
    ]  # fmt: skip
