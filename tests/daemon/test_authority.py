"""An agent's own processes may look and may not act, however they detached themselves (invariant 4)."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from pathlib import Path
from typing import Any

import anyio
import pytest

from devplane.control import client
from devplane.control import requests as r
from devplane.errors import NotFound, Refused
from devplane.paths import Home
from tests.daemon.agents import until
from tests.daemon.harness import Caller, Started, daemon, environment

SCRIPT = textwrap.dedent(
    """
    import json, os, sys
    from pathlib import Path

    import anyio

    from devplane.control import client
    from devplane.control import requests as r
    from devplane.errors import DevplaneError
    from devplane.paths import Home

    home, out, root, run, ask = sys.argv[1:]
    REQUESTS = [
        r.Dispatch("demo", root, "quick"),
        r.Resume(run),
        r.HandOver(run, "claude", os.getpid()),
        r.Reply(ask, "accept"),
        r.Decide(ask, "allow"),
        r.Say(run, "hello"),
        r.Cancel(run),
        r.Stop(run),
        r.Trust(root),
        r.Probe("demo", root),
        r.WorkStart("quick", "demo", root),
        r.WorkVerify("w-none"),
        r.WorkResume("w-none"),
        r.WorkRetry("w-none"),
        r.WorkStop("w-none"),
        r.WorkFinish("w-none", remove=True, force=True),
        r.Shutdown(),
        r.Status(),
        r.Watch(run),
    ]

    async def main():
        got = {}
        async with client.connect(Home(Path(home)), start=False) as connection:
            for request in REQUESTS:
                name = type(request).__name__
                try:
                    await connection.ask(request)
                    got[name] = "done"
                except DevplaneError as error:
                    got[name] = [error.exit_status, str(error)]
        Path(out + ".part").write_text(json.dumps(got))
        os.replace(out + ".part", out)

    anyio.run(main)
    """
)

DETACH = textwrap.dedent(
    """
    import os, sys, time

    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
    os.setsid()
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        time.sleep(0.01)
    time.sleep(float(sys.argv[1]))
    os.environ.clear()
    os.execv(sys.argv[2], sys.argv[2:])
    """
)

PASS_ON = textwrap.dedent(
    """
    import json, os, socket, sys, time

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    caller = os.getpid()
    if os.fork():
        os._exit(0)
    while True:
        try:
            os.kill(caller, 0)  # works until somebody has collected it
        except ProcessLookupError:
            break
        time.sleep(0.01)
    request = {"jsonrpc": "2.0", "id": 1, "method": "stop", "params": {"run": sys.argv[2]}}
    connection.sendall(json.dumps(request).encode() + b"\\n")
    print(connection.makefile().readline(), flush=True)
    """
)

REFUSAL = "refused: this command was run by an agent"
ACTING = {
    "Dispatch",
    "Resume",
    "HandOver",
    "Say",
    "Cancel",
    "Decide",
    "Reply",
    "Stop",
    "Trust",
    "Probe",
    "Shutdown",
    "WorkFinish",
    "WorkResume",
    "WorkRetry",
    "WorkStart",
    "WorkStop",
    "WorkVerify",
}


def test_every_verb_is_tried() -> None:
    assert {each.__name__ for each in r.ACTING} == ACTING


class Trial:
    """A run that waits for a permission, and the script that tries everything with it."""

    def __init__(self, folder: Path, person: Caller, held: Started, ask: str) -> None:
        self.folder = folder
        self.person = person
        self.held = held
        self.ask = ask
        (folder / "detach.py").write_text(DETACH)

    def argv(self, out: Path) -> list[str]:
        root = str(self.person.folder)
        arguments = (str(self.person.home.root), str(out), root, self.held.id, self.ask)
        # A command that names the home is stopped before it runs, and this is about what it could do there.
        script = self.folder / f"try-{out.name}.py"
        script.write_text(f"import sys\nsys.argv[1:] = {arguments!r}\n{SCRIPT}")
        return [sys.executable, str(script)]

    async def by_an_agent(self, command: str) -> Started:
        """Have a second agent run `command` in its shell, allowed by a person."""
        run = await self.person.dispatch("demo", f"run: {command}")
        asked = await run.until_fact("PermissionAsked")
        await self.person.ask(r.Decide(asked["fact"]["ask"], "allow"))
        return run


async def outcome(out: Path) -> dict[str, Any]:
    await until(out.exists)
    found: dict[str, Any] = json.loads(await anyio.Path(out).read_text())
    return found


def check_refused(got: dict[str, Any]) -> None:
    refused = {name for name in ACTING if got[name] == [Refused.exit_status, REFUSAL]}
    assert refused == ACTING
    assert {name for name, each in got.items() if each == "done"} == {"Status", "Watch"}


async def test_what_an_agent_starts_may_look_and_not_act(tmp_path: Path) -> None:
    """From its shell, without its environment, and detached with all its parents gone."""
    async with daemon(tmp_path) as person:
        held = await person.dispatch("demo", "hold")
        ask = (await held.until_fact("PermissionAsked"))["fact"]["ask"]
        trial = Trial(tmp_path, person, held, ask)

        plain = trial.argv(tmp_path / "plain")
        bare = ["env", "-i", *trial.argv(tmp_path / "bare")]
        fast = [sys.executable, str(tmp_path / "detach.py"), "0", *trial.argv(tmp_path / "fast")]
        slow = [sys.executable, str(tmp_path / "detach.py"), "1", *trial.argv(tmp_path / "slow")]
        for command in (plain, bare, fast, slow):
            # The shell of the demo kills its group when a command ends: what is detached has left it.
            await trial.by_an_agent(shlex.join(command))
        for name in ("plain", "bare", "fast", "slow"):
            check_refused(await outcome(tmp_path / name))

        assert [each["id"] for each in held.asks()] == [ask], "nothing was decided"
        assert held.row()["phase"] == "ready"


async def test_an_orphan_stays_an_agents_when_its_agent_is_gone(tmp_path: Path) -> None:
    async with daemon(tmp_path) as person:
        held = await person.dispatch("demo", "hold")
        ask = (await held.until_fact("PermissionAsked"))["fact"]["ask"]
        trial = Trial(tmp_path, person, held, ask)
        gate = tmp_path / "gate"
        waiting = f"while [ ! -e {shlex.quote(str(gate))} ]; do sleep 0.05; done; exec "
        shell = ["/bin/sh", "-c", waiting + shlex.join(trial.argv(tmp_path / "out"))]
        detached = [sys.executable, str(tmp_path / "detach.py"), "0", *shell]
        # Without the mark of its run, an end of that run cannot know it.
        run = await trial.by_an_agent(shlex.join(["env", "-i", *detached]))
        await run.until_fact("TurnEnded")
        await run.stop()
        gate.touch()
        check_refused(await outcome(tmp_path / "out"))


async def test_a_person_is_not_refused(tmp_path: Path) -> None:
    async with daemon(tmp_path) as person:
        held = await person.dispatch("demo", "hold")
        ask = (await held.until_fact("PermissionAsked"))["fact"]["ask"]
        trial = Trial(tmp_path, person, held, ask)
        await anyio.run_process(trial.argv(tmp_path / "out"), env=environment(), check=True)
        got = await outcome(tmp_path / "out")
        usage, refused = 2, 4
        assert got["Reply"][0] == usage, "it is no question, and that is all that is wrong"
        assert got["Resume"] == [refused, f"{held.id} is waiting: its session is held here already"]
        assert got["HandOver"][0] == refused, "it is in play"
        assert got["WorkStart"][0] == refused, "the folder is no git repository"
        works = {name for name in got if name.startswith("Work")}
        for name in works - {"WorkStart"}:
            assert got[name] == [NotFound.exit_status, "no work 'w-none'"]
        done = {name for name, each in got.items() if each == "done"}
        assert done == set(got) - {"Reply", "Resume", "HandOver"} - works


async def test_a_caller_that_is_gone_when_it_is_asked_about_is_refused(tmp_path: Path) -> None:
    """A process may pass its connection on and leave; then nobody knows whose it was."""
    async with daemon(tmp_path) as person:
        held = await person.dispatch("demo", "hold")
        await held.until_fact("PermissionAsked")
        path = str(person.home.socket())
        argv = [sys.executable, "-c", PASS_ON, path, held.id]
        done = await anyio.run_process(argv, env=environment())
        answer = json.loads(done.stdout)
        assert answer["error"]["message"] == "refused: the process that called is gone"
        assert held.row()["phase"] == "ready"


async def test_an_agent_may_not_start_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVPLANE_RUN", "r-1234")
    with pytest.raises(Refused, match="an agent may not start the daemon"):
        async with client.connect(Home(tmp_path / "home")):
            pass
