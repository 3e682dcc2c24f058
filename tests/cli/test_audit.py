"""What ``audit`` shows of decisions: who answered what, and on whose word."""

from __future__ import annotations

import pytest

from tests.cli.program import Program
from tests.cli.seeded import ASK, HOSTILE, RUN, asked, decided, opened, write_decisions, write_run


@pytest.fixture
def decisions(devplane: Program) -> Program:
    """A run with an answer on each authority, and another run's."""
    write_run(devplane.home, *opened(asked("make")))
    file = str(devplane.project / "devplane.toml")
    write_decisions(
        devplane.home,
        decided("npm test", "allow", "rule", rule="Bash(npm test *)", file=file, line=4, ask="a-bbbbbbbbbb"),
        decided("rm x", "deny", "builtin", reason="built in: an agent may not", ask="a-cccccccccc"),
        decided("make", "allow", "person", reason="answered by person"),
        decided("make", "deny", "timer", reason="after 30m, as the file says", ask="a-dddddddddd"),
        decided("ls", "withdrawn", "nobody", reason="its turn ended", run="r-bbbbbbbbbb", ask="a-eeeeeeeeee"),
    )
    return devplane


def test_decisions_stand_in_order_with_the_rule_or_the_person_behind_each(decisions: Program) -> None:
    lines = [line.split(maxsplit=1)[1] for line in decisions.ok("audit").splitlines()]
    assert lines[0::2] == [
        "allow        Bash npm test",
        "deny         Bash rm x",
        "allow        Bash make",
        "deny         Bash make",
        "withdrawn    Bash ls",
    ]
    assert lines[1::2] == [
        "tidy-up · a-bbbbbbbbbb · rule Bash(npm test *)  ~/project/devplane.toml:4",
        "tidy-up · a-cccccccccc · builtin: built in: an agent may not",
        f"tidy-up · {ASK} · person",
        "tidy-up · a-dddddddddd · timer: after 30m, as the file says",
        "· a-eeeeeeeeee · nobody: its turn ended",
    ]


def test_the_latest_are_shown_and_the_last_line_is_the_newest(decisions: Program) -> None:
    found = decisions("audit", "--limit", "2", "--json").objects
    assert [each["authority"] for each in found] == ["timer", "nobody"]


def test_one_run_one_ask_or_one_authority_can_be_asked_for(decisions: Program) -> None:
    def authorities(*words: str) -> list[str]:
        return [each["authority"] for each in decisions("audit", *words, "--json").objects]

    assert authorities(RUN) == authorities("tidy-up") == ["rule", "builtin", "person", "timer"]
    assert authorities(ASK) == ["person"]
    assert authorities("a-bbbbbbbbbb") == ["rule"]  # it never waited, so no ask is on record
    assert authorities("--authority", "rule") == ["rule"]
    assert authorities(RUN, "--authority", "nobody") == []
    assert decisions.ok("audit", RUN, "--authority", "nobody") == "no decisions\n"


def test_the_json_has_what_the_record_has(decisions: Program) -> None:
    (found,) = decisions("audit", "a-bbbbbbbbbb", "--json").objects
    assert (found["rule"], found["line"], found["name"]) == ("Bash(npm test *)", 4, "tidy-up")
    assert set(found) == {
        "seq", "at_ms", "run", "ask", "tool", "subject", "verdict", "authority", "rule", "file", "line",
        "option_id", "reason", "name",
    }  # fmt: skip


def test_an_unknown_authority_is_answered_with_those_that_there_are(devplane: Program) -> None:
    done = devplane("audit", "--authority", "admin")
    assert (done.status, done.out) == (2, "")
    assert "rule, builtin, person, timer, stopped, nobody" in done.err


def test_an_id_that_means_nothing_is_not_found(decisions: Program) -> None:
    for words in ("nope", "a-nope", "r-nope"):
        assert decisions("audit", words).status == 3, words


def test_show_names_the_authority_of_every_answer(decisions: Program) -> None:
    out = decisions.ok("show", RUN)
    assert "  allow Bash npm test  rule Bash(npm test *)  ~/project/devplane.toml:4\n" in out
    assert "  allow Bash make  person\n" in out
    found = decisions("show", RUN, "--json").objects[0]["decisions"]
    assert [each["authority"] for each in found] == ["rule", "builtin", "person", "timer"]


def test_g49_no_escape_of_a_subject_a_rule_or_a_reason_reaches_the_terminal(devplane: Program) -> None:
    write_run(devplane.home, *opened())
    write_decisions(devplane.home, decided(HOSTILE, rule=HOSTILE, file="/f", line=1, tool=HOSTILE))
    write_decisions(devplane.home, decided(HOSTILE, HOSTILE, reason=HOSTILE))
    for out in (devplane.ok("audit"), devplane.ok("show", RUN)):
        assert not set(out) & set("\x1b\r\x07\x9b\u202e")
