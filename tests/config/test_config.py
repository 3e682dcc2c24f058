"""What a `devplane.toml` may say, and how it is told when it may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devplane.config import (
    CONFIG_NAME,
    OWNED_ELSEWHERE,
    Budget,
    Config,
    ConfigBroken,
    Gates,
    Workspace,
    load,
)


def written(root: Path, text: str) -> Path:
    (root / CONFIG_NAME).write_text(text, "utf-8")
    return root


def test_a_repository_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Config(keep_transcripts=True, file=None)


def test_a_repository_can_decline_transcripts(tmp_path: Path) -> None:
    assert load(written(tmp_path, "[transcripts]\nkeep = false\n")).keep_transcripts is False


def test_a_file_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).write_bytes(b"\xef\xbb\xbf[transcripts]\nkeep = false\n")
    assert load(tmp_path).keep_transcripts is False


@pytest.mark.parametrize("table", sorted(OWNED_ELSEWHERE))
def test_a_table_that_another_part_owns_is_not_interpreted(tmp_path: Path, table: str) -> None:
    assert load(
        written(tmp_path, f"[{table}]\nwhatever = [1, 2]\n[{table}.deeper]\nx = 1\n")
    ).keep_transcripts


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[transcripts]\nkeep = false\n\n[trancripts]\nkeep = false\n", 4, "unknown table [trancripts]"),
        ("[transcripts]\n# how long\nkep = false\n", 3, "unknown key 'kep' in [transcripts]"),
        ("[transcripts]\nkeep = 'no'\n", 2, "must be true or false"),
        ("keep = false\n", 1, "unknown key 'keep'"),
        ("[policy]\n\ntranscripts.keep = 1\n[transcripts]\nkeep = 1\n", 5, "must be true or false"),
        ("transcripts = 3\n", 1, "must be a table"),
        ("[transcripts]\nkeep = \n", 2, "invalid value"),
        ("[policy]\nx = '''\n[nonsense]\n'''\n[nonsense]\n", 5, "unknown table [nonsense]"),
        ("[[gate]]\n", 1, "unknown table [gate]"),
        ("[questions]\ndeadlin = '30m'\n", 2, "unknown key 'deadlin' in [questions]"),
        ("[questions]\n\ndeadline = 30\n", 3, "deadline in [questions] is 30, which is no duration"),
        ("questions = 'never'\n", 1, "questions must be a table"),
        ("gates = ['make']\n", 1, "gates must be a table"),
        ("[gates]\nchek = 'make'\n", 2, "unknown key 'chek' in [gates]"),
        ("[gates.named.slow]\nrun = 'make'\n", 1, "unknown key 'named' in [gates]"),
        ("[gates]\ncheck = 3\n", 2, "check in [gates] must be a list of commands, each a string"),
        ("[gates]\ncheck = [\n  'make',\n  3,\n]\n", 4, "each a string: 3 is none"),
        ("[gates]\ncheck = [\n  'make',\n\n  ' ',\n]\n", 5, "check in [gates] holds an empty command"),
        ("[gates]\ncheck = ''\n", 2, "check in [gates] holds an empty command"),
        ('[gates]\ncheck = "a\\u0000b"\n', 2, "which no shell can be given"),
        ("[gates]\n\ntimeout = 'never'\n", 3, "timeout in [gates] is 'never', and must end"),
        ("[gates]\ntimeout = 10\n", 2, "timeout in [gates] is 10, which is no duration"),
        ("[gates]\nmax_feedback_rounds = 21\n", 2, "must be a whole number from 0 to 20"),
        ("[gates]\nmax_feedback_rounds = -1\n", 2, "must be a whole number from 0 to 20"),
        ("[gates]\nmax_feedback_rounds = true\n", 2, "must be a whole number from 0 to 20"),
        ("[gates]\nmax_feedback_rounds = 1.0\n", 2, "must be a whole number from 0 to 20"),
        ("[gates]\non_fail = 'ignore'\n", 2, 'on_fail in [gates] must be "feedback" or "escalate"'),
        ("[gates]\non_fail = ['feedback']\n", 2, 'must be "feedback" or "escalate"'),
        ("[workspace]\nset_up = []\n", 2, "unknown key 'set_up' in [workspace]"),
        ("[workspace]\nsetup = ['npm ci', '']\n", 2, "setup in [workspace] holds an empty command"),
        ("[workspace]\nsetup_timeout = 'never'\n", 2, "setup_timeout in [workspace] is 'never'"),
        ("[workspace]\nbase_branch = 3\n", 2, "base_branch in [workspace] is 3, which is no name"),
        ("[budget]\nuds = 5\n", 2, "unknown key 'uds' in [budget]"),
        ("[budget]\nmax_turns = 0\n", 2, "max_turns in [budget] must be a whole number from 1"),
        ("[budget]\nmax_parallel_runs = 0\n", 2, "max_parallel_runs in [budget] must be a whole number"),
        ("[budget]\nmax_runtime = 'never'\n", 2, "max_runtime in [budget] is 'never', and must end"),
        ("[budget]\nstall_timeout = '10'\n", 2, "stall_timeout in [budget] is '10', which is no duration"),
        ("[budget]\nx = " + "9" * 5000 + "\n", 0, "a number of more digits than can be read"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(ConfigBroken) as caught:
        load(written(tmp_path, text))
    where = f"{tmp_path / CONFIG_NAME}:{line}: " if line else f"{tmp_path / CONFIG_NAME}: "
    assert str(caught.value).startswith(where)
    assert says in str(caught.value)
    assert (caught.value.file, caught.value.line) == (tmp_path / CONFIG_NAME, line)


def test_a_misspelt_name_is_met_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigBroken) as caught:
        load(written(tmp_path, "[trancripts]\n"))
    assert caught.value.hint == "Did you mean 'transcripts'?"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[gate]\n", "gates"),
        ("[gates]\ntimeot = '1m'\n", "timeout"),
        ("[gates]\non_fail = 'escalat'\n", "escalate"),
        ("[workspace]\nsetup_time = '1m'\n", "setup_timeout"),
        ("[budget]\nmax_turn = 3\n", "max_turns"),
    ],
)
def test_a_misspelt_key_or_word_is_met_with_the_right_one_too(tmp_path: Path, text: str, meant: str) -> None:
    with pytest.raises(ConfigBroken) as caught:
        load(written(tmp_path, text))
    assert caught.value.hint == f"Did you mean {meant!r}?"


@pytest.mark.parametrize(
    ("given", "seconds"), [("never", None), ("1s", 1), ("90s", 90), ("30m", 1800), ("4h", 14_400)]
)
def test_a_repository_can_set_a_deadline_for_answers(tmp_path: Path, given: str, seconds: int | None) -> None:
    config = load(written(tmp_path, f"[questions]\ndeadline = '{given}'\n"))
    assert (config.deadline, config.deadline_s, config.file) == (given, seconds, tmp_path / CONFIG_NAME)


def test_l59_without_a_deadline_nothing_ends_by_itself(tmp_path: Path) -> None:
    assert load(tmp_path).deadline_s is None
    assert load(written(tmp_path, "[questions]\n")).deadline_s is None


@pytest.mark.parametrize(
    "given",
    [
        *("'0s'", "'00m'", "'30'", "30", "0", "true", "''", "'30 m'", "'1.5h'", "'-1h'", "'1d'", "'1h30m'"),
        *("'5M'", "['1h']", "'Never'", "'٣m'", '"1s\\n"', "'99999999999h'"),
    ],
)
def test_a_deadline_of_any_other_form_is_refused_and_the_forms_are_named(tmp_path: Path, given: str) -> None:
    with pytest.raises(ConfigBroken, match="deadline") as caught:
        load(written(tmp_path, f"[questions]\ndeadline = {given}\n"))
    assert caught.value.line == 2
    assert caught.value.hint is not None
    assert all(form in caught.value.hint for form in ("never", "90s", "30m", "4h"))


def test_what_is_not_a_text_file_is_an_error_and_not_a_default(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).mkdir()
    with pytest.raises(ConfigBroken, match="not an ordinary file"):
        load(tmp_path)
    (tmp_path / CONFIG_NAME).rmdir()
    (tmp_path / CONFIG_NAME).write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigBroken, match="not UTF-8"):
        load(tmp_path)


def test_what_is_not_asked_for_is_not_done(tmp_path: Path) -> None:
    config = load(written(tmp_path, "[gates]\n[workspace]\n[budget]\n"))
    assert config.gates == Gates(check=(), timeout_s=600, max_feedback_rounds=2, on_fail="feedback")
    assert config.workspace == Workspace(setup=(), setup_timeout_s=600, base_branch=None)
    assert config.budget == Budget(None, None, None, None, stall_timeout_s=600)
    nothing = Config()
    assert (nothing.gates, nothing.workspace, nothing.budget) == (Gates(), Workspace(), Budget())


def test_a_repository_says_how_its_works_are_made_ready_checked_and_bounded(tmp_path: Path) -> None:
    text = """\
[gates]
check = ["make lint", "make test"]
timeout = "90s"
max_feedback_rounds = 0
on_fail = "escalate"
[workspace]
setup = ["npm ci"]
setup_timeout = "20m"
base_branch = "release/2.x"
[budget]
usd = 5.5
max_turns = 40
max_runtime = "2h"
max_parallel_runs = 4
stall_timeout = "15m"
"""
    config = load(written(tmp_path, text))
    assert config.gates == Gates(("make lint", "make test"), 90, 0, "escalate")
    assert config.workspace == Workspace(("npm ci",), 1200, "release/2.x")
    assert config.budget == Budget(5.5, 40, 7200, 4, 900)


def test_one_command_needs_no_list(tmp_path: Path) -> None:
    config = load(written(tmp_path, "gates.check = 'make test'\nworkspace.setup = 'npm ci'\n"))
    assert (config.gates.check, config.workspace.setup) == (("make test",), ("npm ci",))


def test_the_stall_watch_can_be_switched_off(tmp_path: Path) -> None:
    assert load(written(tmp_path, "[budget]\nstall_timeout = 'never'\n")).budget.stall_timeout_s is None


def test_a_whole_number_of_dollars_is_a_number(tmp_path: Path) -> None:
    assert load(written(tmp_path, "[budget]\nusd = 5\n")).budget.usd == 5.0


@pytest.mark.parametrize("given", ["0", "0.0", "-1", "nan", "inf", "true", "'5'", "1" + "0" * 400])
def test_a_budget_that_is_no_amount_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(ConfigBroken, match=r"usd in \[budget\] must be a number above 0") as caught:
        load(written(tmp_path, f"[budget]\nusd = {given}\n"))
    assert caught.value.line == 2


@pytest.mark.parametrize("given", ["main", "release/2.x", "feature/a-b_c", "año", "v1.0", "a@b"])
def test_a_base_branch_is_taken_as_it_is_named(tmp_path: Path, given: str) -> None:
    assert load(written(tmp_path, f"[workspace]\nbase_branch = '{given}'\n")).workspace.base_branch == given


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            "-b",
            "--upload-pack=x",
            "/main",
            "main/",
            "a//b",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
        ),
        *("a[b", "a\\b", "a.lock", "a.lock/b", ".a", "a/.b", "a.", "@", "a@{1}", "main\n"),
    ],
)
def test_l185_a_base_branch_that_git_would_take_for_something_else_is_refused(
    tmp_path: Path, given: str
) -> None:
    with pytest.raises(ConfigBroken, match="which is no name of a branch"):
        load(written(tmp_path, f"[workspace]\nbase_branch = {json.dumps(given)}\n"))
