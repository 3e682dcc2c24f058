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


def test_what_is_not_a_text_file_is_an_error_and_not_a_default(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).mkdir()
    with pytest.raises(ConfigBroken, match="not an ordinary file"):
        load(tmp_path)
    (tmp_path / CONFIG_NAME).rmdir()
    (tmp_path / CONFIG_NAME).write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigBroken, match="not UTF-8"):
        load(tmp_path)
