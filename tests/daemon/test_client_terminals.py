"""``terminal/*`` of an agent whose table turns them on, through a real daemon."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from devplane.acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, REQUEST_CANCELLED
from devplane.acp.messages import RESOURCE_NOT_FOUND
from devplane.control import requests as r
from devplane.daemon.client_terminals import AT_ONCE
from devplane.paths import Home
from tests.daemon.agents import answers, ask_of, is_running, members_of, noted, until
from tests.daemon.harness import caller, daemon, end_daemon, kill_daemon, start_daemon
from tests.daemon.judged import judged_by, rule, ruled_by
from tests.daemon.served import Step, decided, doing, done, results

NAMED = {"terminalId": "$t"}
WAIT: Step = ("terminal/wait_for_exit", NAMED)
OUTPUT: Step = ("terminal/output", NAMED)
KILL: Step = ("terminal/kill", NAMED)
RELEASE: Step = ("terminal/release", NAMED)


def running(program: str, *args: str, **more: Any) -> Step:
    return "terminal/create", {"command": program, "args": list(args), **more}


def shell(script: str, **more: Any) -> Step:
    return running("sh", "-c", script, **more)


def variable(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


async def test_a_command_runs_in_the_runs_folder_and_its_end_is_told(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        (caller.folder / "sub").mkdir()
        script = "pwd; echo $WORD; echo problem >&2; exit 7"
        more = {"cwd": str(caller.folder / "sub"), "env": [variable("WORD", "it's")]}
        run, found = await done(
            caller, tmp_path / "heard", shell(script, **more), WAIT, OUTPUT, RELEASE, OUTPUT
        )
        status = {"exitCode": 7, "signal": None}
        output = f"{caller.folder / 'sub'}\nit's\nproblem\n"
        assert found[1:4] == [status, {"output": output, "truncated": False, "exitStatus": status}, {}]
        assert found[4][0] == RESOURCE_NOT_FOUND
        line = "WORD=" + shlex.quote("it's") + " " + shlex.join(["sh", "-c", script])
        assert [each["subject"] for each in run.decisions()] == [line]
        (call,) = run.events("PermissionAsked")[0]["calls"]
        assert (call["tool"], call["subject"], call["cwd"]) == ("Bash", line, str(caller.folder / "sub"))


async def test_g30_the_newest_whole_characters_are_kept_of_what_is_printed(tmp_path: Path) -> None:
    printing = "printf '€漢😀%.0s' $(seq 100); printf FAIL"
    everything = "€漢😀" * 100 + "FAIL"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        steps = [
            step
            for limit in (*range(13), 5000)
            for step in (running("bash", "-c", printing, outputByteLimit=limit), WAIT, OUTPUT, RELEASE)
        ]
        _, found = await done(caller, tmp_path / "heard", *steps)
        outputs = found[2::4]
    for limit, each in zip(range(13), outputs, strict=False):
        kept = everything
        while len(kept.encode()) > limit:
            kept = kept[1:]
        assert (each["output"], each["truncated"]) == (kept, True)
    assert (outputs[-1]["output"], outputs[-1]["truncated"]) == (everything, False)


async def test_g31_a_child_that_holds_the_pipe_does_not_hold_the_end(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        steps = (shell("echo $$; sleep 600 & echo $!; echo done; exit 3"), WAIT, OUTPUT)
        run, found = await done(caller, heard, *steps)
        assert found[1] == {"exitCode": 3, "signal": None}
        _, child, word = found[2]["output"].split()
        assert (word, is_running(int(child))) == ("done", True)
        await run.say(json.dumps([RELEASE]))
        await noted(heard, "did", 4)
        assert not is_running(int(child)), "what it left over ends with the release"


async def test_a_kill_ends_the_whole_tree_and_leaves_the_output(tmp_path: Path) -> None:
    child_of_its_own = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"
    script = f"{shlex.join([sys.executable, '-c', child_of_its_own])} & exec sleep 600"
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        run = await doing(caller, heard, shell(script), OUTPUT)
        output = (await noted(heard, "did", 2))[1]["result"]
        while "\n" not in output["output"]:
            count = len(results(heard))
            await run.say(json.dumps([OUTPUT]))
            output = (await noted(heard, "did", count + 1))[-1]["result"]
        assert "exitStatus" not in output
        child = int(output["output"])
        assert is_running(child)
        count = len(results(heard))
        await run.say(json.dumps([KILL, WAIT, OUTPUT, KILL]))
        await noted(heard, "did", count + 4)
        killed, status, output, again = results(heard)[count:]
        assert (killed, again) == ({}, {})
        assert status == {"exitCode": None, "signal": "SIGTERM"}
        assert output == {"output": f"{child}\n", "truncated": False, "exitStatus": status}
        assert not is_running(child)


@pytest.mark.parametrize("how", ["stop", "agent"])
async def test_nothing_that_runs_outlives_its_run(tmp_path: Path, how: str) -> None:
    """Also not what knows nothing of the run by its environment, and does not hear SIGTERM."""
    heard = tmp_path / "heard"
    stubborn = "trap '' TERM; echo $$; while :; do sleep 1; done"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        steps = (running("env", "-i", "/bin/sh", "-c", stubborn), shell("echo $$; sleep 600"), OUTPUT)
        run, _ = await done(caller, heard, *steps)
        pids = await pids_of(run, heard)
        assert all(map(is_running, pids))
        if how == "stop":
            await run.stop()
        else:
            await run.say(json.dumps([("leave", {})]))
            await run.until_gone()
        assert not any(map(is_running, pids))
        assert members_of(caller.home.root) == []


async def pids_of(run: Any, heard: Path) -> list[int]:
    """The numbers that the terminals 1 and 2 have printed first."""
    found: list[int] = []
    for name in ("terminal-1", "terminal-2"):
        while True:
            count = len(results(heard))
            await run.say(json.dumps([("terminal/output", {"terminalId": name})]))
            output = (await noted(heard, "did", count + 1))[-1]["result"]["output"]
            if "\n" in output:
                found.append(int(output))
                break
    return found


async def test_a_cancelled_turn_leaves_its_terminals_alone(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        run = await doing(caller, heard, shell("echo $$; sleep 600"), WAIT)
        await noted(heard, "did")
        await until(lambda: bool(run.decisions()))
        await caller.ask(r.Cancel(run.id))
        await run.until_fact("TurnEnded")
        assert run.row()["last_stop_reason"] == "cancelled"
        await run.say(json.dumps([OUTPUT, KILL, OUTPUT]))
        await noted(heard, "did", 4)
        before, _, after = results(heard)[-3:]
        assert "exitStatus" not in before
        assert after["exitStatus"]["signal"] == "SIGTERM"


async def test_what_an_agent_runs_is_decided_by_the_rules(tmp_path: Path) -> None:
    rules = (
        {"tool": "Bash", "subject": "touch no*", "verdict": "deny"},
        {"tool": "Bash", "subject": "touch *", "verdict": "allow"},
    )
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path, *rules)) as caller:
        run = await doing(
            caller,
            heard,
            running("touch", "no.txt"),
            running("touch", "a b.txt"),
            WAIT,
            running("touch", "c.txt", env=[variable("PATH", "/usr/bin:/bin")]),
            WAIT,
            shell("echo never"),
        )
        await caller.ask(r.Decide(await ask_of(run, 2), "allow"))
        await caller.ask(r.Decide(await ask_of(run, 3), "deny"))
        await run.until_fact("TurnEnded")
        found = results(heard)
        assert found[0] == (
            INTERNAL_ERROR,
            f"denied by the rule Bash(touch no*) ({tmp_path / 'rules.json'}:1)",
        )
        assert found[5] == (INTERNAL_ERROR, "denied by a person")
        assert [each["subject"] for each in reversed(run.decisions())] == [
            "touch no.txt",
            "touch 'a b.txt'",
            "PATH=/usr/bin:/bin touch c.txt",
            "sh -c 'echo never'",
        ]
        assert [each[1:] for each in decided(run)] == [
            ("deny", "rule"),
            ("allow", "rule"),
            ("allow", "person"),
            ("deny", "person"),
        ]
        assert sorted(each.name for each in caller.folder.iterdir()) == ["a b.txt", "c.txt"]


async def test_the_decision_is_on_record_before_the_command_runs(tmp_path: Path) -> None:
    look = (
        "import sqlite3, sys; db = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True);"
        "print(db.execute('SELECT verdict, authority FROM decisions').fetchall())"
    )
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        steps = (running(sys.executable, "-c", look, str(caller.home.database)), WAIT, OUTPUT)
        _, found = await done(caller, tmp_path / "heard", *steps)
        assert found[2]["output"] == "[('allow', 'rule')]\n"


async def test_a_command_runs_nowhere_but_in_the_runs_folder(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        (caller.folder / "out").symlink_to(tmp_path)
        (caller.folder / "file").touch()
        folders = (tmp_path, caller.folder / "out", caller.folder / "none", caller.folder / "file")
        steps = [running("touch", "made.txt", cwd=str(folder)) for folder in folders]
        run, found = await done(caller, tmp_path / "heard", *steps)
        assert [code for code, _ in found] == [INTERNAL_ERROR] * 2 + [INVALID_PARAMS] * 2
        assert all("outside of" in message for _, message in found[:2])
        assert decided(run) == [("Bash", "deny", "builtin")] * 2
        assert not (tmp_path / "made.txt").exists()


async def test_what_cannot_run_is_said_before_anybody_is_asked(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        (caller.folder / "plain.txt").touch()
        steps = (
            ("terminal/create", {"command": "ls -la"}),
            running("no-such-program", "x"),
            running("./plain.txt"),
            running("a\0b"),
            running(""),
            running("true", env=[variable("A=B", "x")]),
        )
        run, found = await done(caller, tmp_path / "heard", *steps)
        assert [code for code, _ in found] == [INVALID_PARAMS] * 6
        assert found[0][1] == "no program 'ls -la'; its arguments belong in args"
        assert run.asks(None) == []


async def test_what_was_not_made_is_not_found(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        steps = [(method, {"terminalId": "terminal-9"}) for method, _ in (WAIT, OUTPUT, KILL, RELEASE)]
        _, found = await done(caller, tmp_path / "heard", *steps)
        assert {code for code, _ in found} == {RESOURCE_NOT_FOUND}


async def test_a_run_has_so_many_terminals_at_once_and_no_more(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        many = [shell("exit 5") for _ in range(AT_ONCE + 8)]
        run, found = await done(
            caller, tmp_path / "heard", ("together", many), RELEASE, shell("exit 5"), WAIT
        )
        refused = [each for each in found if isinstance(each, tuple)]
        assert refused == [(INTERNAL_ERROR, f"{AT_ONCE} terminals are open: release one first")] * 8
        assert len(run.decisions()) == AT_ONCE + 1
        assert found[-1] == {"exitCode": 5, "signal": None}


async def test_the_end_of_a_short_command_is_never_lost(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        steps = [step for n in range(60) for step in (shell(f"exit {n}"), WAIT, RELEASE)]
        _, found = await done(caller, tmp_path / "heard", *steps)
        assert [each["exitCode"] for each in found[1::3]] == list(range(60))


async def test_a_command_that_prints_for_ever_slows_nobody(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        run = await doing(caller, heard, running("yes", outputByteLimit=1000), OUTPUT)
        other = await caller.dispatch("demo", "quick")
        await other.until_fact("TurnEnded")
        await noted(heard, "did", 2)
        await run.say(json.dumps([KILL, OUTPUT]))
        await noted(heard, "did", 4)
        output = results(heard)[-1]
        assert (len(output["output"]), output["truncated"]) == (1000, True)


@pytest.mark.parametrize("how", ["cancel", "stop"])
async def test_a_command_that_waits_is_cancelled_with_its_turn_or_run(tmp_path: Path, how: str) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        run = await doing(caller, heard, running("touch", "a.txt"))
        await ask_of(run)
        assert run.asks()[0]["title"] == "touch a.txt"
        await caller.ask(r.Cancel(run.id) if how == "cancel" else r.Stop(run.id))
        (answer,) = await answers(heard, 1)
        assert answer["error"]["code"] == REQUEST_CANCELLED
        await run.until_fact("TurnEnded")
        assert decided(run) == [("Bash", "cancelled", "stopped")]
        assert list(caller.folder.iterdir()) == []


async def test_a_command_that_a_person_allowed_a_moment_ago_runs_without_asking_again(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        wanted = {"kind": "execute", "title": "execute", "rawInput": {"command": "echo hi"}}
        run = await doing(
            caller, heard, ("permission", wanted), running("echo", "hi"), WAIT, OUTPUT, running("echo", "ho")
        )
        first = await ask_of(run)
        await caller.ask(r.Decide(first, "allow"))
        second = await ask_of(run, 2)
        assert results(heard)[2]["output"] == "hi\n"
        await caller.ask(r.Decide(second, "deny"))
        await run.until_fact("TurnEnded")
        rows = list(reversed(run.decisions()))
        assert [(each["subject"], each["verdict"]) for each in rows] == [
            ("echo hi", "allow"),
            ("echo hi", "allow"),
            ("echo ho", "deny"),
        ]
        assert rows[1]["reason"] == f"allowed with {first}"


async def test_what_a_person_denied_or_a_rule_denies_by_now_does_not_run(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        wanted = {"kind": "execute", "title": "execute", "rawInput": {"command": "touch a.txt"}}
        steps = (("permission", wanted), running("touch", "a.txt"))
        run = await doing(caller, heard, *steps)
        await caller.ask(r.Decide(await ask_of(run), "deny"))
        await caller.ask(r.Decide(await ask_of(run, 1), "deny"))
        await run.until_fact("TurnEnded")
        await run.say(json.dumps(steps))
        third = await ask_of(run, 2)
        rule(tmp_path, {"tool": "Bash", "verdict": "deny"})
        await caller.ask(r.Decide(third, "allow"))
        await noted(heard, "did", 2)
        assert [each[1:] for each in decided(run)] == [
            ("deny", "person"),
            ("deny", "person"),
            ("allow", "person"),
            ("deny", "rule"),
        ]
        assert list(caller.folder.iterdir()) == []


async def test_a_killed_daemons_terminals_are_ended_by_the_next(tmp_path: Path) -> None:
    home, folder, heard = Home(tmp_path / "home"), tmp_path / "project", tmp_path / "heard"
    folder.mkdir()
    process = start_daemon(home, command=ruled_by(tmp_path, "allow"))
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            await doing(person, heard, shell("sleep 600"))
            await noted(heard, "did")
    finally:
        kill_daemon(process)
    assert any("sleep 600" in each for each in members_of(home.root))
    second = start_daemon(home)
    try:
        assert members_of(home.root) == []
    finally:
        end_daemon(second)
