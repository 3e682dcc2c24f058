"""What reading shows of a store that nobody serves: hostile text, columns in colour, empty states, ids."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest

from devplane.cli import ls, render
from devplane.core import events as e
from tests.cli.program import Program
from tests.cli.seeded import ASK, HOSTILE, RUN, asked, created, opened, write_run

READING = [
    ("ls", "--all"),
    ("show", RUN, "--thinking"),
    ("inbox",),
    ("search", "rm"),
    ("tail", RUN, "--thinking"),
]
COLOUR = re.compile(r"\x1b\[\d+m")


def write_hostile(program: Program) -> None:
    write_run(
        program.home,
        *opened(
            ("user", HOSTILE),
            ("thought", HOSTILE),
            ("agent", HOSTILE),
            e.ToolChanged("c", title=HOSTILE, subject=HOSTILE, status="pending"),
            e.PlanChanged((e.PlanEntry(HOSTILE, "pending"),)),
            e.ModeSeen(HOSTILE, HOSTILE, False),
            e.OptionSeen("m", "model", HOSTILE),
            e.AgentIntroduced(HOSTILE, HOSTILE, False, False, False, False, (HOSTILE,)),
            e.TitleGiven(HOSTILE),
            e.UsageSeen(1, 2, 3.0, HOSTILE),
            e.Noted("warning", HOSTILE),
            asked(HOSTILE, tool=HOSTILE),
        ),
        first=created(name=HOSTILE),
    )


@pytest.mark.parametrize("words", READING)
def test_g49_no_escape_of_an_agent_reaches_the_terminal(devplane: Program, words: tuple[str, ...]) -> None:
    write_hostile(devplane)
    done = devplane(*words)
    assert done.status == 0, done.err
    assert not set(done.out) & set("\x1b\r\x07\x9b\u202e")
    assert "rm" in done.out


def test_g49_what_is_to_be_approved_is_shown_whole_and_the_record_keeps_the_original(
    devplane: Program,
) -> None:
    write_hostile(devplane)
    shown = "ls␛[2K␍rm -rf ~␛]52;c;ZWNobw==␇<U+009B>6n<U+202E>"
    assert shown in devplane.ok("inbox")
    assert shown in devplane.ok("show", RUN)
    assert devplane("inbox", "--json").objects[0]["subject"] == HOSTILE
    assert devplane("show", RUN, "--json").objects[0]["asks"][0]["payload"]["subject"] == HOSTILE


def test_g49_a_long_command_is_not_cut_before_somebody_allows_it(devplane: Program) -> None:
    command = "true " * 3000 + "; rm -rf ~"
    write_run(devplane.home, *opened(asked(command)))
    assert command in devplane.ok("inbox")
    assert command in devplane.ok("show", RUN)


def test_columns_stand_under_each_other_in_colour_too(
    devplane: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(devplane.home, *opened(asked()), first=created("waits"))
    write_run(devplane.home, *opened(), run="r-bbbbbbbbbb", first=created("漢字-漢字"))
    write_run(
        devplane.home, e.RunEnded("failed", "no such program"), run="r-cccccccccc", first=created("broken")
    )
    monkeypatch.setenv("DEVPLANE_HOME", str(devplane.home))
    monkeypatch.setattr(render, "age", lambda *_: "5s")
    ls.ls(everything=True)
    plain = capsys.readouterr().out
    monkeypatch.setattr(render, "has_colour", lambda _: True)
    ls.ls(everything=True)
    coloured = capsys.readouterr().out
    assert COLOUR.search(coloured)
    assert COLOUR.sub("", coloured) == plain
    lines = [line for line in plain.splitlines() if " r-" in line]
    assert len({render.width(line[: line.index("demo")]) for line in lines}) == 1


def test_the_counts_of_ls_add_up_to_the_whole(devplane: Program) -> None:
    write_run(devplane.home, *opened(asked()))
    write_run(devplane.home, *opened(e.StopAsked("person")), run="r-bbbbbbbbbb")
    write_run(devplane.home, e.RunEnded("interrupted", "the daemon stopped"), run="r-cccccccccc")
    assert devplane.ok("ls", "--all").splitlines()[0] == "3 runs · 1 need you · 1 stopping · 1 interrupted"


def test_what_a_dead_daemon_left_is_not_passed_off_as_running(devplane: Program) -> None:
    write_run(devplane.home, *opened())
    done = devplane("ls", "--json")
    assert "no daemon is running" in done.err
    assert done.objects[0]["id"] == RUN
    assert f"no daemon is running: {RUN} was interrupted" in devplane.ok("tail", RUN)


def test_an_empty_answer_claims_no_more_than_was_looked_at(devplane: Program) -> None:
    assert "what devplane did not start is not seen" in devplane.ok("ls")
    write_run(devplane.home, *opened())
    assert devplane.ok("ls", "--needs-you") == "no run needs you\n"
    assert "in this checkout" in devplane.ok("ls", "--project", ".")


def test_a_run_that_asks_nobody_says_so_loudly(devplane: Program) -> None:
    write_run(devplane.home, *opened(e.ModeSeen("yolo", "Yolo", False)))
    assert "decides without asking (Yolo)" in devplane.ok("ls")
    assert "DECIDES WITHOUT ASKING" in devplane.ok("show", RUN)


def test_cost_and_context_that_nobody_reported_are_not_zero(devplane: Program) -> None:
    write_run(devplane.home, *opened(("agent", "done")))
    out = devplane.ok("show", RUN)
    assert out.count("not reported by this agent") == 3  # mode, cost, context
    assert "$0" not in out


def test_a_name_that_two_runs_share_lists_both_and_does_nothing(devplane: Program) -> None:
    write_run(devplane.home, *opened())
    write_run(devplane.home, *opened(), run="r-bbbbbbbbbb")
    done = devplane("show", "tidy-up")
    assert (done.status, done.out) == (3, "")
    assert RUN in done.err
    assert "r-bbbbbbbbbb" in done.err


def test_an_ended_run_does_not_stand_in_the_way_of_one_in_play(devplane: Program) -> None:
    write_run(devplane.home, e.RunEnded("stopped", "stopped by person"), run="r-bbbbbbbbbb")
    write_run(devplane.home, *opened())
    assert RUN in devplane.ok("show", "tidy-up")


def test_the_inbox_forgets_a_failure_after_a_day(devplane: Program) -> None:
    failed = e.RunEnded("failed", "no such program")
    write_run(devplane.home, failed)
    write_run(devplane.home, failed, run="r-bbbbbbbbbb", age_ms=25 * 3600 * 1000)
    items = devplane("inbox", "--json").objects
    assert [(item["run"], item["kind"]) for item in items] == [(RUN, "run_failed")]


def test_asks_come_first_in_the_inbox_and_the_oldest_of_them(devplane: Program) -> None:
    write_run(devplane.home, e.RunEnded("failed", "x"), run="r-cccccccccc", age_ms=9000)
    write_run(devplane.home, *opened(asked("second")))
    write_run(devplane.home, *opened(asked("first", ask="a-bbbbbbbbbb")), run="r-bbbbbbbbbb", age_ms=5000)
    titles = [item["title"] for item in devplane("inbox", "--json").objects]
    assert titles == ["first", "second", "x"]


def test_history_says_how_to_answer_only_what_is_still_open(devplane: Program) -> None:
    answered = e.AskAnswered(ASK, "allow", "yes", "person", "person")
    write_run(devplane.home, *opened(asked(), answered), e.RunEnded("stopped", "stopped by person"))
    out = devplane.ok("tail", RUN)
    assert "asks to use Bash" in out
    assert "allow by person" in out
    assert "devplane decide" not in out


def test_doctor_verify_fails_when_a_snapshot_is_not_what_its_events_say(devplane: Program) -> None:
    write_run(devplane.home, *opened())
    assert devplane("doctor", "--verify").status == 0
    with closing(sqlite3.connect(devplane.home / "devplane.db")) as db, db:
        db.execute("UPDATE runs SET snapshot = json_set(snapshot, '$.turns', 7)")
    done = devplane("doctor", "--verify")
    assert done.status == 1
    assert f"{RUN}: its snapshot is not what its events say" in done.out


def test_a_closed_pipe_ends_reading_quietly(devplane: Program) -> None:
    write_run(devplane.home, *opened(*(("agent", f"{number}\n" * 2000) for number in range(20))))
    reading = devplane.start("tail", RUN, "--no-follow")
    assert reading.stdout is not None
    reading.stdout.readline()
    reading.stdout.close()
    assert reading.stderr is not None
    with reading:
        assert reading.stderr.read() == ""
    assert reading.returncode == 0


def test_a_terminal_without_these_letters_gets_question_marks(devplane: Program) -> None:
    write_run(devplane.home, *opened())
    done = devplane("ls", PYTHONIOENCODING="ascii")
    assert done.status == 0
    assert RUN in done.out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("devplane show r-aa", RUN),
        ("devplane stop tidy", "tidy-up"),
        ("devplane decide a-", ASK),
        ("devplane dispatch --agent ge", "gemini"),
        ("devplane agents pin cod", "codex"),
    ],
)
def test_the_shell_completes_runs_asks_and_agents(devplane: Program, line: str, offered: str) -> None:
    write_run(devplane.home, *opened(asked()))
    done = devplane(
        _DEVPLANE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1)
    )
    assert offered in done.out.splitlines()
    assert done.err == ""


def test_completion_offers_nothing_of_a_store_that_cannot_be_read(devplane: Program) -> None:
    devplane.home.mkdir()
    (devplane.home / "devplane.db").write_bytes(b"no database, but long enough to be looked at" * 100)
    done = devplane(_DEVPLANE_COMPLETE="complete_bash", COMP_WORDS="devplane show r-", COMP_CWORD="2")
    assert (done.out.strip(), done.err) == ("", "")


def test_every_listing_is_json_when_asked(devplane: Program) -> None:
    write_hostile(devplane)
    for words in (*READING, ("agents",), ("doctor",)):
        for line in devplane(*words, "--json").out.splitlines():
            assert isinstance(json.loads(line), dict), words
