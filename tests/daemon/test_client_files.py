"""``fs/*`` of an agent whose table turns them on, through a real daemon."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from devplane.acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_CANCELLED
from devplane.acp.messages import RESOURCE_NOT_FOUND
from devplane.control import requests as r
from devplane.paths import Home
from tests.daemon.agents import answers, ask_of, heard_answers, noted, scripted, until
from tests.daemon.harness import caller, daemon, end_daemon, kill_daemon, start_daemon
from tests.daemon.judged import judged_by, put_clock_ahead, rule, ruled_by
from tests.daemon.served import Step, decided, doing, done, results, serve_clients
from tests.scripted import log


def reading(path: object, **more: int) -> Step:
    return "fs/read_text_file", {"path": str(path), **more}


def writing(path: object, content: str = "new") -> Step:
    return "fs/write_text_file", {"path": str(path), "content": content}


async def test_only_an_agent_whose_table_says_so_is_served(tmp_path: Path) -> None:
    offered = []
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        for fs, terminal in ((False, False), (True, False), (False, True)):
            heard = tmp_path / f"heard-{fs}-{terminal}"
            steps = (writing(caller.folder / "a.txt"), ("terminal/create", {"command": "true"}))
            run, found = await done(caller, heard, *steps, client_fs=fs, client_terminal=terminal)
            (sent,) = log.messages(heard, "initialize")
            capabilities = sent["params"]["clientCapabilities"]
            offered.append((capabilities["fs"], capabilities["terminal"]))
            refused = [isinstance(each, tuple) and each[0] == METHOD_NOT_FOUND for each in found]
            assert refused == [not fs, not terminal]
            assert len(run.decisions()) == fs + terminal
    assert offered == [
        ({"readTextFile": False, "writeTextFile": False}, False),
        ({"readTextFile": True, "writeTextFile": True}, False),
        ({"readTextFile": False, "writeTextFile": False}, True),
    ]


async def test_g27_nothing_outside_of_the_runs_folder_is_read_or_written(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        root = caller.folder
        (root / "dangling").symlink_to(outside / "new.txt")
        (root / "dirlink").symlink_to(outside)
        (root / "passwd").symlink_to("/etc/passwd")
        (root / "inner").symlink_to("made.txt")
        run, found = await done(
            caller,
            tmp_path / "heard",
            writing(root / "dangling"),
            writing(root / "dirlink" / "x" / "y.txt"),
            writing(tmp_path / "plain.txt"),
            writing(root / ".." / "up.txt"),
            reading(root / "passwd"),
            writing(root / "inner", "through a link"),
            reading(root / "inner"),
        )
        assert all(code == INTERNAL_ERROR and "outside of" in why for code, why in found[:5])
        assert found[5:] == [{}, {"content": "through a link"}]
        assert os.listdir(outside) == []
        assert not (tmp_path / "plain.txt").exists()
        assert not (tmp_path / "up.txt").exists()
        assert (root / "made.txt").read_text() == "through a link"
        denied = [("Edit", "deny", "builtin")] * 4 + [("Read", "deny", "builtin")]
        assert decided(run) == [*denied, ("Edit", "allow", "rule")]


async def test_g28_a_file_is_read_whole_or_by_lines(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        file, odd = caller.folder / "a.txt", caller.folder / "odd.txt"
        file.write_bytes(b"one\ntwo\nthree\n")
        odd.write_bytes("\ufeffone\r\ntwo €".encode())
        parts = [{"line": 1, "limit": 1}, {"limit": 2}, {"line": 3}, {"line": 4}, {"line": 99, "limit": 5}]
        parts.append({"line": 2, "limit": 99})
        run, found = await done(
            caller, tmp_path / "heard", *(reading(file, **part) for part in parts), reading(odd)
        )
        texts = ["one\n", "one\ntwo\n", "three\n", "", "", "two\nthree\n", "\ufeffone\r\ntwo €"]
        assert found == [{"content": text} for text in texts]
        assert run.decisions() == [], "what no rule forbids is read, and not recorded"


async def test_what_cannot_be_read_is_an_error_that_says_why(tmp_path: Path) -> None:
    async with daemon(tmp_path) as caller:
        root = caller.folder
        (root / "image.png").write_bytes(b"\x89PNG\xff\n")
        (root / "folder").mkdir()
        os.mkfifo(root / "pipe")
        _, found = await done(
            caller,
            tmp_path / "heard",
            reading(root / "image.png"),
            reading(root / "folder"),
            reading(root / "pipe"),
            reading(root / "none.txt"),
            reading(root / "a", line=-1),
            ("fs/read_text_file", {}),
        )
        assert [code for code, _ in found] == [INTERNAL_ERROR] * 3 + [RESOURCE_NOT_FOUND] + [
            INVALID_PARAMS
        ] * 2
        said = ("not UTF-8", "is a directory", "not an ordinary file", "not found", "line", "path")
        assert all(word in message for word, (_, message) in zip(said, found, strict=True))


async def test_an_agent_that_needs_it_is_told_that_a_missing_file_is_empty(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        file = caller.folder / "sub" / "new.txt"
        steps = (reading(file), writing(file, "a\n"), reading(file))
        _, found = await done(caller, tmp_path / "heard", *steps, missing_file_is_empty=True)
        assert found == [{"content": ""}, {}, {"content": "a\n"}]


async def test_g29_success_means_that_the_bytes_are_in_place(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=ruled_by(tmp_path, "allow")) as caller:
        root = caller.folder
        (root / "folder").mkdir()
        (root / "file").write_text("x")
        (root / "run.sh").write_text("old")
        (root / "run.sh").chmod(0o755)
        big = "0123456789abcdef" * (1 << 19)
        _, found = await done(
            caller,
            tmp_path / "heard",
            writing(root / "folder"),
            writing(root / "file" / "below.txt"),
            writing(root / "made" / "for" / "it.txt"),
            writing(root / "run.sh", "new"),
            writing(root / "big.txt", big),
            writing(root / ("n" * 300)),
        )
        assert [isinstance(each, tuple) for each in found] == [True, True, False, False, False, True]
        assert (root / "made" / "for" / "it.txt").read_text() == "new"
        assert ((root / "run.sh").read_text(), (root / "run.sh").stat().st_mode & 0o777) == ("new", 0o755)
        assert (root / "big.txt").read_text() == big
        assert sorted(os.listdir(root)) == ["big.txt", "file", "folder", "made", "run.sh"]


async def test_g29_a_daemon_that_is_killed_in_the_middle_leaves_an_old_or_a_new_file(tmp_path: Path) -> None:
    home, folder = Home(tmp_path / "home"), tmp_path / "project"
    folder.mkdir()
    file, heard = folder / "a.txt", tmp_path / "heard"
    contents = ["x" * (8 << 20), "y" * (8 << 20)]
    process = start_daemon(home, command=ruled_by(tmp_path, "allow"))
    try:
        async with caller(home, folder) as person:
            await person.ask(r.Trust(str(folder)))
            steps = [writing(file, contents[n % 2]) for n in range(20)]
            # Each is in a file, since 8 MiB are too much for a prompt of many.
            script = tmp_path / "steps.json"
            script.write_text(json.dumps(steps))
            run = await person.dispatch(
                serve_clients(home.root), json.dumps([["script", str(script)]]), SCRIPTED_LOG=str(heard)
            )
            assert run.id
            await noted(heard, "did", 3)
            await until(lambda: any(name.endswith(".devplane-part") for name in os.listdir(folder)))
            process.send_signal(signal.SIGKILL)
            process.wait()
    finally:
        kill_daemon(process)
    assert file.read_text() in contents
    end_daemon(start_daemon(home))


async def test_g47_a_write_is_decided_by_the_rules_before_it_is_done(tmp_path: Path) -> None:
    rules = (
        {"tool": "Edit", "subject": "*/devplane.toml", "verdict": "deny", "builtin": True, "rule": ""},
        {"tool": "Edit", "subject": "*.env", "verdict": "deny"},
        {"tool": "Edit", "verdict": "allow"},
        {"tool": "Read", "subject": "*.env", "verdict": "deny"},
    )
    async with daemon(tmp_path, command=judged_by(tmp_path, *rules)) as caller:
        root = caller.folder
        (root / ".env").write_text("secret")
        steps = (
            writing(root / "devplane.toml"),
            writing(root / ".env"),
            writing(root / "a"),
            reading(root / ".env"),
        )
        run, found = await done(caller, tmp_path / "heard", *steps)
        where = tmp_path / "rules.json"
        assert found == [
            (INTERNAL_ERROR, "denied: a test says so"),
            (INTERNAL_ERROR, f"denied by the rule Edit(*.env) ({where}:2)"),
            {},
            (INTERNAL_ERROR, f"denied by the rule Read(*.env) ({where}:4)"),
        ]
        assert decided(run) == [
            ("Edit", "deny", "builtin"),
            ("Edit", "deny", "rule"),
            ("Edit", "allow", "rule"),
            ("Read", "deny", "rule"),
        ]
        assert [each["line"] for each in reversed(run.decisions())] == [1, 2, 3, 4]
        assert (root / ".env").read_text() == "secret"
        assert not (root / "devplane.toml").exists()


async def test_what_no_rule_decides_waits_for_a_person_who_sees_what_would_change(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        file = caller.folder / "a.txt"
        file.write_text("one\ntwo\n")
        run = await doing(caller, heard, writing(file, "one\n2\n"), writing(caller.folder / "b.txt"))
        ask = await ask_of(run)
        (row,) = run.asks()
        assert (row["title"], row["payload"]["tool"], row["payload"]["subject"]) == (
            f"Write {file}",
            "Edit",
            str(file),
        )
        assert "-two\n+2" in row["payload"]["content"]
        assert row["payload"]["ruling"]["verdict"] == "undecided"
        assert run.row()["asks"][0]["id"] == ask
        assert file.read_text() == "one\ntwo\n"
        await caller.ask(r.Decide(ask, "allow"))
        await noted(heard, "did")
        assert file.read_text() == "one\n2\n"
        await caller.ask(r.Decide(await ask_of(run, 1), "deny"))
        await run.until_fact("TurnEnded")
        assert results(heard) == [{}, (INTERNAL_ERROR, "denied by a person")]
        assert not (caller.folder / "b.txt").exists()
        assert decided(run) == [("Edit", "allow", "person"), ("Edit", "deny", "person")]


async def test_a_read_that_a_rule_wants_asked_about_waits_for_a_person(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    ask_first = {"tool": "Read", "subject": "*/private/*", "verdict": "ask"}
    async with daemon(tmp_path, command=judged_by(tmp_path, ask_first)) as caller:
        file = caller.folder / "private" / "a.txt"
        file.parent.mkdir()
        file.write_text("hello")
        run = await doing(caller, heard, reading(file))
        ask = await ask_of(run)
        assert run.asks()[0]["title"] == f"Read {file}"
        await caller.ask(r.Decide(ask, "allow"))
        await run.until_fact("TurnEnded")
        assert results(heard) == [{"content": "hello"}]
        assert decided(run) == [("Read", "allow", "person")]


async def test_where_the_rules_cannot_be_read_even_a_read_waits(tmp_path: Path) -> None:
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        (tmp_path / "rules.json").write_text("[{")
        run = await doing(caller, tmp_path / "heard", reading(caller.folder / "a.txt"))
        await ask_of(run)
        assert run.asks()[0]["payload"]["ruling"]["reason"].startswith("the rules could not be read")


@pytest.mark.parametrize("how", ["cancel", "stop"])
async def test_a_write_that_waits_is_cancelled_with_its_turn_or_run(tmp_path: Path, how: str) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        run = await doing(caller, heard, writing(caller.folder / "a.txt"))
        await ask_of(run)
        await caller.ask(r.Cancel(run.id) if how == "cancel" else r.Stop(run.id))
        (answer,) = await answers(heard, 1)
        assert answer["error"]["code"] == REQUEST_CANCELLED
        await run.until_fact("TurnEnded")
        assert run.asks() == []
        assert decided(run) == [("Edit", "cancelled", "stopped")]
        assert not (caller.folder / "a.txt").exists()


async def test_a_write_that_waits_too_long_is_denied_by_the_deadline(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        (caller.folder / "devplane.toml").write_text("[questions]\ndeadline = '1h'\n")
        run = await doing(caller, heard, writing(caller.folder / "a.txt"))
        await ask_of(run)
        put_clock_ahead(tmp_path, 3_600_000)
        await run.until_fact("TurnEnded")
        ((code, message),) = results(heard)
        assert (code, message.split(" (")[0]) == (INTERNAL_ERROR, "denied: nobody answered in 1h")
        assert decided(run) == [("Edit", "deny", "timer")]


async def test_what_a_person_allowed_a_moment_ago_is_not_asked_about_again(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        file = caller.folder / "a.txt"
        wanted = {
            "kind": "edit",
            "title": "Edit",
            "locations": [{"path": str(file)}],
            "rawInput": {"path": str(file)},
        }
        run = await doing(caller, heard, ("permission", wanted), writing(file, "1"), writing(file, "2"))
        await caller.ask(r.Decide(await ask_of(run), "allow"))
        await noted(heard, "did")
        assert file.read_text() == "1"
        second = await ask_of(run, 2)
        assert [each["id"] for each in run.asks()] == [second], "it held for one write"
        await caller.ask(r.Decide(second, "deny"))
        await run.until_fact("TurnEnded")
        rows = list(reversed(run.decisions()))
        assert decided(run) == [("Edit", "allow", "person")] * 2 + [("Edit", "deny", "person")]
        assert rows[1]["reason"] == f"allowed with {rows[0]['ask']}"


async def test_a_rule_that_denies_beats_what_a_person_allowed_a_moment_ago(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path, command=judged_by(tmp_path)) as caller:
        file = caller.folder / "a.txt"
        wanted = {
            "kind": "edit",
            "title": "Edit",
            "locations": [{"path": str(file)}],
            "rawInput": {"path": str(file)},
        }
        run = await doing(caller, heard, ("permission", wanted), writing(file))
        ask = await ask_of(run)
        rule(tmp_path, {"tool": "Edit", "verdict": "deny"})
        await caller.ask(r.Decide(ask, "allow"))
        await run.until_fact("TurnEnded")
        assert decided(run) == [("Edit", "allow", "person"), ("Edit", "deny", "rule")]
        assert not file.exists()


async def test_an_agent_that_is_not_served_asks_as_before(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with daemon(tmp_path) as caller:
        run = await caller.dispatch(
            scripted("client-calls"), json.dumps([reading("/etc/passwd")]), SCRIPTED_LOG=str(heard)
        )
        await run.until_fact("TurnEnded")
        assert heard_answers(heard)[0]["error"]["code"] == METHOD_NOT_FOUND
