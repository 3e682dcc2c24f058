"""Watching: what it says when it is broken off, when the daemon dies, and when somebody says more."""

from __future__ import annotations

import os
import signal

from tests.cli.program import Program
from tests.cli.seeded import RUN, opened, write_run
from tests.cli.terminal import Terminal


def test_ctrl_c_in_tail_says_that_the_run_goes_on(trusted: Program) -> None:
    run = trusted.dispatch("slow")
    with trusted.start("tail", run) as watching:
        assert watching.stdout is not None
        watching.stdout.read(40)
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=30)
    assert watching.returncode == 130
    assert f"{run} goes on. Stop it: devplane stop {run}" in err
    assert "Traceback" not in err


def test_a_daemon_that_was_killed_is_noticed_by_who_watches(trusted: Program) -> None:
    run = trusted.dispatch("slow")
    with trusted.start("tail", run) as watching:
        assert watching.stdout is not None
        watching.stdout.read(40)
        os.kill(trusted("daemon", "status", "--json").objects[0]["pid"], signal.SIGKILL)
        _, err = watching.communicate(timeout=30)
    assert watching.returncode == 6
    assert err.startswith("devplane: the daemon is gone\n")
    # The next one ends what was left, and says so.
    assert trusted.ok("stop", run) == f"{run} had ended already: interrupted\n"


def test_tail_ends_with_its_run_and_repeats_nothing(trusted: Program) -> None:
    run = trusted.dispatch("slow")
    with trusted.start("tail", run, "--json") as watching:
        assert watching.stdout is not None
        read = []
        for line in watching.stdout:
            read.append(line)
            if "chunk" in line:
                break
        trusted.ok("stop", run)
        out, err = watching.communicate(timeout=30)
    assert (watching.returncode, err) == (0, "")
    shown = [word for line in [*read, *out.splitlines()] for word in line.split('"') if "chunk" in word]
    numbers = [int(word) for text in shown for word in text.split() if word.isdigit()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_follow_goes_on_to_what_was_queued_meanwhile(trusted: Program) -> None:
    with trusted.start("dispatch", "--agent", "demo", "--follow", "hold") as following:
        while not (items := trusted("inbox", "--json").objects):
            pass
        run, ask = items[0]["run"], items[0]["ask"]
        said = trusted("say", run, "quick")
        assert said.out.startswith(f"queued for {run}")
        assert f"devplane decide {ask}" in said.err
        trusted.ok("decide", ask, "--decision", "allow")
        out, err = following.communicate(timeout=30)
    assert following.returncode == 0, err
    assert "Thank you for the answer." in out
    assert "This is turn 2" in out


def test_wait_says_on_stderr_what_waits_and_prints_the_answer_alone(trusted: Program) -> None:
    with trusted.start("dispatch", "--agent", "demo", "--wait", "hold") as waiting:
        while not (items := trusted("inbox", "--json").objects):
            pass
        trusted.ok("decide", items[0]["ask"], "--decision", "allow")
        out, err = waiting.communicate(timeout=30)
    assert out == "Thank you for the answer.\n"
    assert err.count("waits for an answer") == 1
    assert f"devplane decide {items[0]['ask']}" in err


def test_a_cancelled_turn_is_neither_success_nor_the_agents_failure(trusted: Program) -> None:
    with trusted.start("dispatch", "--agent", "demo", "--wait", "slow") as waiting:
        while not (runs := trusted("ls", "--json").objects) or runs[0]["state"] != "working":
            pass
        assert trusted.ok("cancel", runs[0]["id"]) == f"cancelling {runs[0]['id']}\n"
        _, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 1
    assert "cancelled" in err
    assert trusted.ok("cancel", runs[0]["id"]) == f"{runs[0]['id']} runs no turn\n"


def test_a_typo_starts_no_daemon(devplane: Program) -> None:
    for words in ("say nope x", "cancel nope", "stop nope", "tail nope", "decide nope --decision allow"):
        assert devplane(*words.split()).status == 3, words
    assert devplane("daemon", "status").status == 6


def test_talking_to_a_run_that_a_dead_daemon_left_says_what_became_of_it(devplane: Program) -> None:
    write_run(devplane.home, *opened())
    done = devplane("say", RUN, "more")
    assert done.status == 4
    assert "interrupted" in done.err


def test_a_question_is_answered_by_field_or_declined(trusted: Program) -> None:
    for words, said in (
        (["--answer", "name=Ada", "--answer", "colour=red", "--answer", "tests=no"], "name = Ada"),
        (["--decision", "deny"], "You would rather not say."),
    ):
        run = trusted.dispatch("question")
        while not (items := trusted("inbox", "--json").objects):
            pass
        assert "name: Your name" in trusted.ok("inbox")
        assert trusted("decide", run, "--answer", "name").status == 2
        assert trusted("decide", run, "--answer", "nobody=x").status == 2
        trusted.ok("decide", run, *words)
        while not trusted("ls", "--json").objects[0]["turns"]:
            pass
        assert said in trusted.ok("tail", run, "--no-follow")
        assert items[0]["kind"] == "question"
        trusted.ok("stop", run)


def test_an_ask_of_another_run_is_not_answered_under_this_ones_name(trusted: Program) -> None:
    asking = trusted.dispatch("hold")
    other = trusted.dispatch("--wait", "quick")
    while not (items := trusted("inbox", "--json").objects):
        pass
    done = trusted("decide", other, "--request", items[0]["ask"], "--decision", "allow")
    assert done.status == 2
    assert asking in done.err
    assert len(trusted("inbox", "--json").objects) == 1


def test_an_environment_that_is_no_utf8_does_not_stop_a_dispatch(trusted: Program) -> None:
    done = trusted("dispatch", "--agent", "demo", "--wait", "quick", ODD=os.fsdecode(b"\xff\xfe"))
    assert done.status == 0, done.err


def test_daemon_status_logs_and_stop_as_json(trusted: Program) -> None:
    status = trusted("daemon", "status", "--json").objects[0]
    assert status["home"] == str(trusted.home)
    assert any("serving" in each["line"] for each in trusted("daemon", "logs", "--json").objects)
    assert trusted("daemon", "stop", "--json").objects[0] == {"interrupted": [], "pid": status["pid"]}


def test_trust_asks_a_person_on_stderr_and_takes_no_for_an_answer(devplane: Program) -> None:
    with Terminal(devplane, "trust", ".") as terminal:
        terminal.until("Run agents in ~/project? [y/N]")
        terminal.press("\n")
        terminal.until("not trusted")
        assert terminal.ended() == 4
    with Terminal(devplane, "trust", ".") as terminal:
        terminal.until("[y/N]")
        terminal.press("y\n")
        terminal.until("is trusted")
        assert terminal.ended() == 0


def test_a_slow_start_says_what_it_waits_for_and_for_how_long(trusted: Program) -> None:
    with Terminal(trusted, "dispatch", "--agent", "/bin/sleep 600", "x") as terminal:
        terminal.until("starting ")
        terminal.until("… 1 s")
        terminal.press("\x03")
        terminal.until("goes on. Stop it: devplane stop r-")
        assert terminal.ended() == 130
