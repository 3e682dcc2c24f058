"""Edits of `agents.toml`: what they change, and that they change nothing else."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devplane.agents.agents_file import AgentsFile, AgentsFileBroken
from devplane.agents.catalog import Catalog
from devplane.errors import NotFound, Refused, UsageError
from devplane.paths import Home

COMMENTED = """\
# mine

[agents.kimi]   # the first
# why this one
name = "Kimi"
command = "npx -y @m/kimi-acp@1.2.0 --acp" # pinned by hand

[agents.kimi.env]
A = "1"

# the second
[agents.other]
command = '''
[agents.kimi]
other'''
# end
"""


def file_with(folder: Path, text: str) -> AgentsFile:
    (folder / "agents.toml").write_text(text, "utf-8")
    return AgentsFile(folder / "agents.toml")


def test_the_first_agent_makes_a_private_file(tmp_path: Path) -> None:
    file = AgentsFile(tmp_path / "agents.toml")
    file.add("kimi", "npx -y @m/kimi-acp@1.2.0", "Kimi")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    kimi = Catalog.load(Home(tmp_path)).agents["kimi"]
    assert (kimi.name, kimi.version) == ("Kimi", "1.2.0")


def test_an_added_agent_stands_behind_what_was_there(tmp_path: Path) -> None:
    file = file_with(tmp_path, COMMENTED.rstrip("\n"))
    file.add("new", "new --acp")
    assert file.path.read_text() == COMMENTED + '\n[agents.new]\ncommand = "new --acp"\n'


def test_an_id_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="already"):
        file_with(tmp_path, COMMENTED).add("kimi", "x")


@pytest.mark.parametrize(
    ("agent_id", "command"), [("custom", "x"), ("A b", "x"), ("x", ""), ("x", "'"), ("x", "./x")]
)
def test_what_the_catalog_would_not_take_is_not_written(tmp_path: Path, agent_id: str, command: str) -> None:
    with pytest.raises(UsageError):
        AgentsFile(tmp_path / "agents.toml").add(agent_id, command)
    assert not (tmp_path / "agents.toml").exists()


def test_a_pin_changes_one_word_and_keeps_the_comment_beside_it(tmp_path: Path) -> None:
    file = file_with(tmp_path, COMMENTED)
    file.pin("kimi", "1.3.0-rc.1")
    lines = zip(COMMENTED.splitlines(), file.path.read_text().splitlines(), strict=True)
    assert [new for old, new in lines if old != new] == [
        'command = "npx -y @m/kimi-acp@1.3.0-rc.1 --acp"  # pinned by hand'
    ]


def test_a_pin_of_a_shipped_agent_adds_its_version_alone(tmp_path: Path) -> None:
    file = AgentsFile(tmp_path / "agents.toml")
    file.pin("claude", "0.102.0")
    assert file.path.read_text() == '[agents.claude]\nversion = "0.102.0"\n'
    file.pin("claude", "0.103.0")
    assert file.path.read_text() == '[agents.claude]\nversion = "0.103.0"\n'


def test_a_pin_of_a_shipped_agent_with_another_name_keeps_the_name(tmp_path: Path) -> None:
    file = file_with(tmp_path, '[agents.claude]\nname = "Mine"')
    file.pin("claude", "0.102.0")
    assert file.path.read_text() == '[agents.claude]\nname = "Mine"\nversion = "0.102.0"\n'


def test_a_pin_of_a_command_in_words_keeps_the_words(tmp_path: Path) -> None:
    file = file_with(
        tmp_path, '[agents.k]\ncommand = ["uvx", # why\n  "k==1.0.0", "a b"]\nversion = "1.0.0"\n'
    )
    file.pin("k", "1.1.0")
    assert tomllib.loads(file.path.read_text()) == {
        "agents": {"k": {"command": ["uvx", "k==1.1.0", "a b"], "version": "1.1.0"}}
    }


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("latest", "is a tag"),
        ("1.2", "is a range"),
        ("^1.2.3", "is a range"),
        ("1.x", "is a range"),
        (">=1.2.3 <2", "is a range"),
        ("v1.2.3", "leave the 'v' out"),
        ("", "is not a version"),
        ("1.2.3\n", "is a range"),
    ],
)
def test_only_an_exact_version_is_a_pin(tmp_path: Path, version: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        AgentsFile(tmp_path / "agents.toml").pin("claude", version)
    assert reason in str(caught.value)
    assert not (tmp_path / "agents.toml").exists()


def test_what_fetches_no_package_has_nothing_to_pin(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="fetches no package"):
        AgentsFile(tmp_path / "agents.toml").pin("demo", "1.2.3")
    with pytest.raises(NotFound):
        AgentsFile(tmp_path / "agents.toml").pin("nobody", "1.2.3")


def test_a_removed_agent_takes_its_tables_along_and_leaves_the_comments_around_them(tmp_path: Path) -> None:
    file = file_with(tmp_path, COMMENTED)
    file.remove("kimi")
    left = file.path.read_text()
    assert tomllib.loads(left) == {"agents": {"other": {"command": "[agents.kimi]\nother"}}}
    assert [line for line in left.splitlines() if line.startswith("#")] == ["# mine", "# the second", "# end"]


def test_an_agent_that_is_not_in_the_file_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        AgentsFile(tmp_path / "agents.toml").remove("claude")
    assert caught.value.hint == "A shipped agent cannot be removed."


@pytest.mark.parametrize(
    "text",
    [
        '[agents]\nkimi = {command = "npx k@1.0.0"}\n',
        '[agents]\nkimi.command = "npx k@1.0.0"\n',
        'agents.kimi.command = "npx k@1.0.0"\n',
        'agents = {kimi = {command = "npx k@1.0.0"}, j = {command = "j"}}\n',
    ],
)
def test_a_form_that_cannot_be_edited_by_lines_is_left_to_the_person(tmp_path: Path, text: str) -> None:
    file = file_with(tmp_path, text)
    for edit in (lambda: file.pin("kimi", "1.1.0"), lambda: file.remove("kimi")):
        with pytest.raises(Refused, match="table of its own"):
            edit()
    assert file.path.read_text() == text


def test_a_file_that_does_not_parse_is_not_touched(tmp_path: Path) -> None:
    file = file_with(tmp_path, "[agents.k]\ncommand = \n")
    for edit in (lambda: file.add("x", "x"), lambda: file.pin("claude", "1.2.3"), lambda: file.remove("k")):
        with pytest.raises(AgentsFileBroken) as caught:
            edit()
        assert caught.value.line == 2
    assert file.path.read_text() == "[agents.k]\ncommand = \n"


IDS = st.sampled_from(["a", "b", "kimi", "x-1", "claude"])
TABLES = st.fixed_dictionaries(
    {"command": st.sampled_from(["npx -y p@1.0.0", "npx p", "prog 'a b'", 'say "[agents.a]"\n# x'])},
    optional={
        "name": st.text("aé[]#\"'\n", min_size=1, max_size=6),
        "env": st.dictionaries(st.sampled_from(["A", "B"]), st.text("x#[\n", max_size=4), max_size=2),
    },
)
COMMENTS = st.sampled_from(["", "# [agents.a]\n", '# """\n', "\n# note = 1\n\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[str]]:
    tables = draw(st.dictionaries(IDS, TABLES, max_size=4))
    text, comments = "", []
    for agent_id, table in tables.items():
        comment = draw(COMMENTS)
        comments.append(comment.strip())
        text += comment + tomli_w.dumps({"agents": {agent_id: table}}, multiline_strings=draw(st.booleans()))
    return text, tables, [comment for comment in comments if comment]


EDITS = st.sampled_from(["add", "pin", "remove"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(document=documents(), agent_id=IDS, edit=EDITS)
def test_no_edit_touches_another_table_or_loses_a_comment(
    tmp_path: Path, document: tuple[str, dict[str, Any], list[str]], agent_id: str, edit: str
) -> None:
    text, tables, comments = document
    file = file_with(tmp_path, text)
    try:
        match edit:
            case "add":
                file.add(agent_id, "new --acp")
            case "pin":
                file.pin(agent_id, "9.9.9")
            case _:
                file.remove(agent_id)
    except (Refused, NotFound):
        assert file.path.read_text("utf-8") == text
        return
    after = file.path.read_text("utf-8")
    read = tomllib.loads(after).get("agents", {})
    assert {k: v for k, v in read.items() if k != agent_id} == {
        k: v for k, v in tables.items() if k != agent_id
    }
    assert (agent_id in read) == (edit != "remove")
    assert all(after.count(comment) >= comments.count(comment) for comment in comments)
    if edit == "pin":
        assert "9.9.9" in str(read[agent_id])
