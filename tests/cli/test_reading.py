"""What a person sees of runs: text and exit status."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.program import Program

Lived = tuple[Program, dict[str, str]]


def test_ls_counts_and_groups_the_runs_in_play(lived_in: Lived) -> None:
    program, runs = lived_in
    out = program.ok("ls")
    assert out.startswith("2 runs · 1 need you · 1 idle\n")
    assert "~/project" in out
    assert runs["idle"] in out
    assert runs["failed"] not in out
    assert program.ok().startswith("2 runs · 1 need you · 1 idle\n")
    assert runs["failed"] in program.ok("ls", "--all")


def test_ls_can_be_narrowed(lived_in: Lived) -> None:
    program, runs = lived_in
    needy = program("ls", "--needs-you", "--json").objects
    assert [each["id"] for each in needy] == [runs["asks"]]
    assert program("ls", "--project", "/", "--json").objects == []


def test_show_says_what_there_is_to_know(lived_in: Lived) -> None:
    program, runs = lived_in
    out = program.ok("show", runs["idle"])
    for words in (
        "quick-first-words-here",
        "asks first",
        "devplane-demo",
        "cost",
        "context",
        "1, 0 tool calls",
    ):
        assert words in out or words == "devplane-demo"
    shown = program("show", runs["idle"], "--json").objects[0]
    assert (shown["state"], shown["turns"], shown["asks_first"]) == ("idle", 1, True)
    assert shown["said"][0]["text"] == "quick first words here"


def test_show_of_a_failed_run_names_the_reason(lived_in: Lived) -> None:
    program, runs = lived_in
    out = program.ok("show", runs["failed"])
    assert "the agent ended before it opened a session: exit status 1" in out
    assert "not reported by this agent" in out


def test_the_inbox_holds_the_command_that_answers(lived_in: Lived) -> None:
    program, runs = lived_in
    item = next(each for each in program("inbox", "--json").objects if each["kind"] == "permission")
    assert (item["run"], item["tool"], item["subject"]) == (runs["asks"], "Bash", "touch made.txt")
    out = program.ok("inbox")
    assert f"devplane decide {item['ask']} --decision allow|deny" in out
    assert f"devplane decide {item['ask']} --option allow-always" in out
    assert "[run_failed]" in out


def test_tail_shows_history_without_a_daemon_too(lived_in: Lived) -> None:
    program, runs = lived_in
    out = program.ok("tail", runs["idle"], "--no-follow")
    assert out.startswith("you ▸ quick first words here\n")
    frames = program("tail", runs["idle"], "--no-follow", "--json").objects
    assert [each["pos"] for each in frames] == sorted(each["pos"] for each in frames)
    assert {each["kind"] for each in frames} == {"text", "fact"}
    assert program("tail", runs["idle"], "--no-follow", "--history", "0").out.strip() == ""


def test_search_finds_what_was_said_and_asked(lived_in: Lived) -> None:
    program, runs = lived_in
    assert runs["idle"] in program.ok("search", "first words")
    assert runs["asks"] in program.ok("search", "made.txt")
    assert program.ok("search", "nobody said this") == "nothing found\n"


def test_ids_resolve_by_prefix_and_name_and_ambiguous_ones_list_candidates(lived_in: Lived) -> None:
    program, runs = lived_in
    assert runs["idle"] in program.ok("show", runs["idle"][:8])
    assert runs["idle"] in program.ok("show", "quick-first-words-here")
    for words in (("show", "r-"), ("show", "nope"), ("tail", "nope"), ("stop", "nope"), ("say", "nope", "x")):
        done = program(*words)
        assert done.status == 3, words
        assert done.err.startswith("devplane: ")
        assert "Traceback" not in done.err
    assert runs["idle"] in program("show", "r-").err


def test_doctor_folds_every_run_again(lived_in: Lived) -> None:
    program, _ = lived_in
    out = program.ok("doctor", "--verify")
    assert "3 runs folded again" in out
    assert out.endswith("all is well\n")


def test_an_empty_home_is_no_error(devplane: Program) -> None:
    assert "no runs in play" in devplane.ok("ls")
    assert devplane.ok("inbox") == "nothing waits for you\n"
    assert "not there yet" in devplane.ok("doctor")
    assert devplane("daemon", "status").status == 6
    assert devplane.ok("daemon", "stop") == "no daemon is running\n"
    assert not devplane.home.exists() or list(devplane.home.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("ls",), ("show", "nope"), ("inbox",), ("search", "x"), ("audit",), ("audit", "nope")]
)
def test_reading_loads_nothing_that_only_the_daemon_needs(devplane: Program, words: tuple[str, ...]) -> None:
    code = (
        "import sys; sys.argv = ['devplane', *sys.argv[1:]]\n"
        "from devplane.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'anyio', 'pydantic', 'rich', 'psutil', 'jsonrpc_base', 'asyncio', 'platformdirs',"
        " 'tree_sitter', 'pathspec'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=devplane.env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_every_verb_has_help_with_an_example(devplane: Program) -> None:
    from devplane.cli.app import VERBS

    assert "Commands:" in devplane.ok("--help")
    for verb in VERBS:
        assert f"Example: devplane {verb}" in devplane.ok(verb, "--help"), verb


def test_the_version_is_said(devplane: Program) -> None:
    from devplane import __version__

    assert devplane.ok("--version") == f"devplane {__version__}\n"
