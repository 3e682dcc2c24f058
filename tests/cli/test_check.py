"""What ``check`` says of rule files: text and exit status."""

from __future__ import annotations

import pytest

from tests.cli.program import Program
from tests.cli.seeded import trust

RULES = """\
[policy]
never_auto = ["Bash(rm *)", "!Bash(rm -r build)"]
always_ask = ["Bash(git push *)"]
auto_allow = ["Bash(npm test *)", "Bash(npm test unit)"]
[questions]
deadline = "30m"
[transcripts]
keep = false
"""


def write(program: Program, text: str) -> None:
    (program.project / "devplane.toml").write_text(text)


def test_rules_are_shown_in_the_order_in_which_they_are_asked(devplane: Program) -> None:
    write(devplane, RULES)
    trust(devplane.home, devplane.project)
    (devplane.home / "policy.toml").write_text(
        '[policy]\nnever_auto = ["Bash(sudo *)"]\nalways_ask = ["Edit"]\n'
    )
    assert devplane.ok("check").splitlines() == [
        "~/project/devplane.toml",
        "~/home/policy.toml",
        "  deny    Bash(rm *)  ~/project/devplane.toml:2",
        "  except  Bash(rm -r build)  ~/project/devplane.toml:2",
        "  deny    Bash(sudo *)  ~/home/policy.toml:2",
        "  ask     Bash(git push *)  ~/project/devplane.toml:3",
        "  ask     Edit  ~/home/policy.toml:3",
        "  allow   Bash(npm test *)  ~/project/devplane.toml:4",
        "  allow   Bash(npm test unit)  ~/project/devplane.toml:4",
        "requests wait for you: at most 30m, then the agent's own no is given",
        "transcripts are not kept",
        "warning  ~/project/devplane.toml:4: Bash(npm test unit) is never needed: "
        "Bash(npm test *) on line 4 covers it",
    ]


def test_what_does_not_count_yet_is_not_shown_as_if_it_did(devplane: Program) -> None:
    write(devplane, RULES)
    said = "~/project is not trusted: what its file allows does not count yet"
    assert said in devplane.ok("check")
    trust(devplane.home, devplane.project)
    assert "not trusted" not in devplane.ok("check")


@pytest.mark.parametrize("path", [(), (".",), ("devplane.toml",), ("src",)])
def test_a_path_means_the_file_that_governs_it(devplane: Program, path: tuple[str, ...]) -> None:
    write(devplane, RULES)
    (devplane.project / "src").mkdir()
    (report,) = devplane("check", *path, "--json").objects
    assert report["files"][0] == {
        "file": str(devplane.project / "devplane.toml"), "exists": True, "in_force": True
    }  # fmt: skip
    assert report["governed_by"] is None
    assert report["settings"] == {"deadline": "30m", "keep_transcripts": False}
    assert [each["exception"] for each in report["rules"]] == [False, True, False, False, False]


def test_a_file_that_governs_nothing_is_checked_and_said_to_govern_nothing(devplane: Program) -> None:
    write(devplane, RULES)
    (devplane.project / "draft.toml").write_text('[policy]\nnever_auto = ["Bash(ls"]\n')
    done = devplane("check", "draft.toml")
    assert done.status == 1
    assert "this is not the file that governs here: ~/project/devplane.toml does" in done.out
    assert "problem  ~/project/draft.toml:2: Bash(ls: its bracket is not closed" in done.out


def test_every_problem_of_every_file_is_listed_and_the_status_is_1(devplane: Program) -> None:
    write(devplane, '[policy]\nnever_auto = ["Bash(rm *)", "Write(x)"]\nallow = []\n[gate]\nx = 1\n')
    devplane.home.mkdir(mode=0o700)
    (devplane.home / "policy.toml").write_text("[questions]\n")
    done = devplane("check")
    assert done.status == 1
    assert "~/project/devplane.toml  NOT IN FORCE" in done.out
    assert "  deny    Bash(rm *)" in done.out
    problems = [line for line in done.out.splitlines() if line.startswith("problem")]
    assert [each.split(": ")[0] for each in problems] == [
        "problem  ~/project/devplane.toml:2",
        "problem  ~/project/devplane.toml:3",
        "problem  ~/project/devplane.toml:4",
        "problem  ~/home/policy.toml:1",
    ]
    assert done.err.startswith("devplane: 4 problems found\n")
    assert len(devplane("check", "--json").objects[0]["problems"]) == 4


def test_warnings_do_not_fail(devplane: Program) -> None:
    write(devplane, '[policy]\nauto_allow = ["Bash(python *)", "mcp__*"]\n')
    done = devplane("check")
    assert done.status == 0
    assert "Bash(python *) allows any code, through python" in done.out
    assert "mcp__* grants nothing" in done.out


def test_no_file_at_all_is_no_failure(devplane: Program) -> None:
    said = "there is no ~/project/devplane.toml and no ~/home/policy.toml: every call is asked about\n"
    assert devplane.ok("check") == said


def test_a_path_that_is_not_there_is_not_found(devplane: Program) -> None:
    done = devplane("check", "nowhere")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("devplane: there is no nowhere\n")


def test_g49_a_rule_file_of_a_stranger_moves_no_cursor(devplane: Program) -> None:
    write(
        devplane, '[policy]\nnever_auto = ["Bash(\\u001b[2Jls)", "Ba\\u001b[2Jsh(x", "\\u001b]0;x\\u0007"]\n'
    )
    done = devplane("check")
    assert "\x1b" not in done.out + done.err
    assert "␛[2J" in done.out
