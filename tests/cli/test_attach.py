"""``devplane attach`` and ``focus``: the way from Devplane to the programs that a person has."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devplane.core import events as e
from tests.cli.program import Program
from tests.cli.seeded import RUN, created, write_run
from tests.cli.terminal import Terminal

STOPPED = e.RunEnded("stopped", "stopped by person")
OPENED = e.SessionOpened("s-one", "new")


def table(program: Program, attach: str, agent: str = "mine") -> None:
    """Have the person's file say what continues a session of `agent`."""
    program.home.mkdir(exist_ok=True)
    words = {"attach": attach} if attach else {}
    if agent == "mine":
        words |= {"name": "Mine", "command": "true"}
    lines = [f"[agents.{agent}]", *(f"{key} = {json.dumps(value)}" for key, value in words.items())]
    (program.home / "agents.toml").write_text("\n".join(lines) + "\n")


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def write(
    program: Program, *history: e.Fact, agent: str = "mine", run: str = RUN, cwd: Path | None = None
) -> None:
    """Store a run of the program's project that was stopped; by default with the session ``s-one``."""
    first = e.RunCreated(
        agent,
        agent.title(),
        ("x",),
        str(cwd or program.project),
        str(program.project),
        "n",
        None,
        True,
        "person",
    )
    write_run(program.home, *(history or (OPENED,)), STOPPED, run=run, first=first)


def finished(program: Program, prompt: str = "quick first words") -> str:
    """Run a turn of the demo and stop it; return the run's id."""
    program.ok("dispatch", "--agent", "demo", "--wait", prompt)
    run = str(program("ls", "--json").objects[0]["id"])
    program.ok("stop", run)
    return run


# What is run


def test_it_becomes_the_agents_program_on_that_session(trusted: Program) -> None:
    run = finished(trusted)
    session = trusted("show", run, "--json").objects[0]["session"]
    done = trusted("attach", run, stdin="what now?\n")
    assert done.status == 0, done
    assert done.out.splitlines()[-1].endswith("typed in the terminal. You said: what now?")
    assert f"devplane resume {run}" in done.err

    after = trusted("dispatch", "--agent", "demo", "--wait", "quick")
    assert after.status == 0
    resumed = trusted("resume", run)
    assert resumed.status == 0, resumed
    assert trusted("show", run, "--json").objects[0]["session"] == session


def test_it_has_the_directory_of_the_run_and_nothing_of_devplanes(trusted: Program, tmp_path: Path) -> None:
    out = tmp_path / "said"
    script = executable(
        tmp_path / "bin" / "theirs",
        f'pwd -P > {out}; echo "$PWD|$DEVPLANE_RUN|$DEVPLANE_CONTROL|$1" >> {out}; trap >> {out}; exit 7',
    )
    table(trusted, f"{script} {{session}}")
    cwd = trusted.project / "deep"
    cwd.mkdir()
    write(trusted, cwd=cwd)
    done = trusted("attach", RUN)
    assert done.status == 7, "what ends is the agent's program"
    assert out.read_text().splitlines()[:2] == [str(cwd.resolve()), f"{cwd}|||s-one"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_signals_that_python_ignores_are_as_they_were(trusted: Program, tmp_path: Path) -> None:
    out = tmp_path / "said"
    script = executable(tmp_path / "bin" / "theirs", f"grep ^SigIgn /proc/$$/status > {out}")
    table(trusted, f"{script} {{session}}")
    write(trusted)
    assert trusted("attach", RUN).status == 0
    ignored = int(out.read_text().split()[1], 16)
    assert not any(ignored >> (each - 1) & 1 for each in (signal.SIGPIPE, signal.SIGXFSZ))


def test_print_says_the_command_and_does_nothing(trusted: Program) -> None:
    table(trusted, "theirs -s {session}")
    write(trusted)
    write_ended = trusted("attach", RUN, "--print")
    assert write_ended.out == f"cd {trusted.project} && theirs -s s-one\n"


@pytest.mark.parametrize(
    ("agent", "command"),
    [
        ("claude", "claude --resume s-one"),
        ("codex", "codex resume s-one"),
        ("copilot", "copilot --resume=s-one"),
        ("gemini", "gemini --resume s-one"),
        ("opencode", "opencode -s s-one"),
    ],
)
def test_the_commands_of_the_five(devplane: Program, agent: str, command: str) -> None:
    """The forms that their own programs accept for a session made over the protocol."""
    write(devplane, agent=agent)
    assert devplane.ok("attach", RUN, "--print") == f"cd {devplane.project} && {command}\n"


# What is in the way


@pytest.mark.parametrize(
    ("history", "status", "why"),
    [
        ((e.CommandsSeen(()),), 4, "recorded no session"),
        ((e.SessionOpened("--yolo", "new"),), 4, "none that can be passed on: --yolo"),
        ((e.SessionOpened("a\x1bb", "new"),), 4, "none that can be passed on"),
    ],
)
def test_a_session_id_that_cannot_be_passed_on(
    devplane: Program, history: tuple[e.Fact, ...], status: int, why: str
) -> None:
    write(devplane, *history, agent="claude")
    done = devplane("attach", RUN, "--print")
    assert done.status == status, done
    assert why in done.err
    assert "\x1b" not in done.err


def test_an_agent_without_a_terminal_program_is_named_with_the_session(devplane: Program) -> None:
    table(devplane, "")
    write(devplane)
    done = devplane("attach", RUN)
    assert done.status == 4
    assert "no terminal program is known for Mine (mine)" in done.err
    assert "s-one" in done.err


def test_a_directory_that_is_gone_and_a_program_that_is_not_there(devplane: Program) -> None:
    write_run(devplane.home, OPENED, first=created())
    done = devplane("attach", RUN)
    assert done.status == 4
    assert "the directory of r-aaaaaaaaaa is gone: /home/me/shop" in done.err

    table(devplane, "no-such-program-here {session}", agent="demo")
    write(devplane, agent="demo", run="r-bbbbbbbbbb")
    done = devplane("attach", "r-bbbbbbbbbb")
    assert done.status == 1
    assert "no-such-program-here, is not on PATH" in done.err
    assert f"cd {devplane.project} && no-such-program-here s-one" in done.err


def test_an_agent_may_not(trusted: Program) -> None:
    run = finished(trusted)
    done = trusted("attach", run, DEVPLANE_RUN="r-other")
    assert done.status == 4
    assert "run by an agent" in done.err


def test_a_run_that_is_not_there(devplane: Program) -> None:
    assert devplane("attach", "r-none").status == 3
    assert devplane("focus", "r-none").status == 3


# A run in play


def test_a_run_in_play_is_ended_only_with_consent(trusted: Program) -> None:
    run = trusted.dispatch("hold")
    done = trusted("attach", run)
    assert done.status == 4
    assert "is in play" in done.err
    assert f"devplane attach {run} --yes" in done.err
    assert trusted("show", run, "--json").objects[0]["live"] is True

    with Terminal(trusted, "attach", run) as asked:
        asked.until("Go on? [y/N]")
        asked.press("n\r")
        assert asked.ended() == 4
    assert trusted("show", run, "--json").objects[0]["live"] is True

    with Terminal(trusted, "attach", run) as asked:
        asked.until("Go on? [y/N]")
        asked.press("y\r")
        asked.until("you ▸ hold")
        row = trusted("show", run, "--json").objects[0]
        assert row["live"] is False
        assert row["holder"]["program"] == "Demo agent"

        # While the terminal program has it, nothing else gets it.
        again = trusted("resume", run)
        assert again.status == 4
        assert "Demo agent" in again.err
        second = trusted("attach", run)
        assert second.status == 4
        assert "is open in Demo agent" in second.err

        asked.press("go on\r")
        asked.until("You said: go on")
        asked.press("\x04")
        assert asked.ended() == 0
    assert trusted("resume", run).status == 0


def test_ctrl_c_at_the_question_changes_nothing(trusted: Program) -> None:
    run = trusted.dispatch("hold")
    with Terminal(trusted, "attach", run) as asked:
        asked.until("Go on? [y/N]")
        asked.press("\x03")
        assert asked.ended() == 130
    assert trusted("show", run, "--json").objects[0]["live"] is True


def test_a_run_that_a_killed_daemon_left_is_ended_too(trusted: Program) -> None:
    run = trusted.dispatch("hold")
    while not trusted("inbox", "--json").out:
        pass
    (daemon,) = trusted("daemon", "status", "--json").objects
    os.kill(daemon["pid"], signal.SIGKILL)
    done = trusted("attach", run, "--yes", stdin="go on\n")
    assert done.status == 0, done
    assert done.out.endswith("You said: go on\n")


# Focus

PATH = "/usr/bin:/bin"


def editor(program: Program, tmp_path: Path, launcher: str) -> tuple[dict[str, str], Path]:
    """Return an environment like that of a terminal inside VS Code, and the file its launcher writes."""
    told = tmp_path / "told"
    executable(tmp_path / "bin" / "code", launcher.replace("TOLD", str(told)))
    return {"PATH": f"{tmp_path / 'bin'}:{PATH}", "TERM_PROGRAM": "vscode"}, told


def test_focus_has_the_editors_launcher_show_the_directory(trusted: Program, tmp_path: Path) -> None:
    run = finished(trusted)
    environ, told = editor(trusted, tmp_path, 'printf %s "$*" > TOLD')
    done = trusted("focus", run, **environ)
    assert done.status == 0, done
    assert done.out.startswith("VS Code was told to show ")
    assert told.read_text() == str(trusted.project.resolve())
    told.unlink()
    printed = trusted("focus", run, "--print", **environ)
    assert printed.out == f"{tmp_path / 'bin' / 'code'} {trusted.project.resolve()}\n"
    assert not told.exists()


def test_focus_says_why_not_and_how_to_go_on(trusted: Program, tmp_path: Path) -> None:
    run = finished(trusted)
    environ, _ = editor(trusted, tmp_path, "echo first >&2; echo 'cannot open display' >&2; exit 3")
    done = trusted("focus", run, **environ)
    assert done.status == 1
    assert "no window was raised: code failed (exit status 3): cannot open display" in done.err
    assert f"devplane attach {run}    here: cd " in done.out
    assert f"devplane resume {run}    in Devplane" in done.out

    bare = trusted("focus", run, TERM_PROGRAM="", DISPLAY="", WAYLAND_DISPLAY="")
    assert bare.status == 1
    if sys.platform == "linux":
        assert "there is no desktop here" in bare.err


def test_focus_refuses_a_directory_that_is_gone(devplane: Program) -> None:
    write_run(devplane.home, OPENED, first=created())
    done = devplane("focus", RUN)
    assert done.status == 4
    assert "the directory is gone: /home/me/shop" in done.err


LAUNCH = """
import sys
from devplane.cli.focus import launch
from devplane.editors import CODE, Window
from devplane.errors import DevplaneError
try:
    launch(Window(CODE, sys.argv[1], "/"), limit_s=0.5)
except DevplaneError as error:
    print(error)
"""


def test_a_launcher_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    script = executable(tmp_path / "slow", "exec sleep 60")
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, str(script)], capture_output=True, text=True, check=True
    )
    found = re.fullmatch(r"slow has not ended after 0\.5 s \(pid (\d+)\); it was left alone\n", done.stdout)
    assert found, done
    os.kill(int(found[1]), signal.SIGKILL)


def test_an_editor_that_runs_is_seen(tmp_path: Path) -> None:
    from devplane.cli.focus import running

    code = tmp_path / "code"
    code.write_bytes(Path("/bin/sleep").read_bytes())
    code.chmod(0o755)
    with subprocess.Popen([str(code), "60"], cwd=tmp_path) as process:
        found = [each for each in running() if str(tmp_path.resolve()) in each.folders]
        process.kill()
    assert [each.editor.name for each in found] == ["VS Code"]
    assert found[0].is_above is False
