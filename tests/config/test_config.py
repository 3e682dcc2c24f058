"""What a `devplane.toml` may say, and how it is told when it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from devplane.config import CONFIG_NAME, OWNED_ELSEWHERE, Config, ConfigBroken, load


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
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(ConfigBroken) as caught:
        load(written(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path / CONFIG_NAME}:{line}: ")
    assert says in str(caught.value)
    assert (caught.value.file, caught.value.line) == (tmp_path / CONFIG_NAME, line)


def test_a_misspelt_name_is_met_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigBroken) as caught:
        load(written(tmp_path, "[trancripts]\n"))
    assert caught.value.hint == "Did you mean 'transcripts'?"


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
