"""The demo's terminal program: the same session, without the protocol."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.demo.conftest import Start


def terminal(session: str, environ: dict[str, str], typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devplane.demo", "--session", session],
        input=typed,
        capture_output=True,
        text=True,
        env=environ,
    )


def test_it_shows_the_conversation_and_goes_on_with_it(
    start: Start, environ: dict[str, str], project: Path
) -> None:
    demo = start()
    session = demo.new_session(project)
    demo.prompt(session, "quick first words")
    demo.end_input()

    done = terminal(session, environ, "\n  and then?  \n")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("you ▸ quick first words")
    assert any(line.startswith("demo ▸ ") for line in lines[1:-1])
    assert lines[-1] == "demo ▸ This is turn 2, typed in the terminal. You said: and then?"

    again = start()
    again.call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
    assert again.said().endswith("typed in the terminal. You said: and then?")


def test_it_names_a_session_that_is_not_there(environ: dict[str, str]) -> None:
    done = terminal("nobody", environ)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "devplane-demo: there is no session nobody\n"


def test_what_the_conversation_holds_cannot_steer_the_terminal(
    start: Start, environ: dict[str, str], project: Path
) -> None:
    demo = start()
    session = demo.new_session(project)
    demo.prompt(session, "quick \x1b]0;title\x07")
    demo.end_input()
    shown = terminal(session, environ, "\x1b[2J\n").stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
