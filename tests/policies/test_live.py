"""The files that govern a folder, as they are at each call."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from devplane.core.permission import Call, Verdict
from devplane.paths import Home
from devplane.policies.live import Place, Policies

NPM_TEST = "npm test"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    git(
        repo,
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    )
    return repo


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    return home


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", *words], cwd=folder, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    )


def bash(line: str, cwd: Path) -> Call:
    return Call("Bash", line, str(cwd))


def policies(home: Home) -> Policies:
    return Policies(home, is_trusted=lambda root: True)


def test_a_changed_file_is_in_force_for_the_next_call_also_within_one_tick(repo: Path, home: Home) -> None:
    judge = policies(home).judge_in(str(repo))
    call = bash(NPM_TEST, repo)
    assert judge(call).verdict is Verdict.UNDECIDED

    (repo / "devplane.toml").write_text('[policy]\nauto_allow = ["Bash(npm test)"]\n')
    assert judge(call).verdict is Verdict.ALLOW
    (repo / "devplane.toml").write_text('[policy]\nnever_auto = ["Bash(npm test)"]\n')
    assert judge(call).verdict is Verdict.DENY
    # Of the same length, and as like as not within the same tick of the file's clock.
    (repo / "devplane.toml").write_text('[policy]\nauto_allow = ["Bash(npm test)"]\n')
    assert judge(call).verdict is Verdict.ALLOW
    (repo / "devplane.toml").unlink()
    assert judge(call).verdict is Verdict.UNDECIDED


def test_both_files_count_and_neither_cancels_the_others_deny(repo: Path, home: Home) -> None:
    (repo / "devplane.toml").write_text('[policy]\nauto_allow = ["Bash"]\n')
    home.policy_file.write_text('[policy]\nnever_auto = ["Bash(npm *)"]\n')
    ruling = policies(home).judge_in(str(repo))(bash(NPM_TEST, repo))

    assert ruling.verdict is Verdict.DENY
    assert (ruling.file, ruling.line) == (str(home.policy_file), 2)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[policy]\nnever_auto = [\n", 2, "invalid value"),
        ("[policy]\nauto_alow = []\n", 2, "auto_allow"),
        ('[policy]\nauto_allow = [\n  "Bash(ls)",\n  "Bash(ls",\n]\n', 4, "bracket"),
        ("policy = 3\n", 1, "table"),
        ('[policy]\nauto_allow = "Bash"\n', 2, "list"),
        ("[polcy]\n", 1, "polcy"),
        ('[questions]\ndeadline = "10"\n', 2, "deadline"),
    ],
)
def test_a_broken_file_has_every_call_asked_and_says_where(
    repo: Path, home: Home, text: str, line: int, said: str
) -> None:
    (repo / "devplane.toml").write_text(text)
    home.policy_file.write_text('[policy]\nauto_allow = ["Bash"]\nnever_auto = ["Bash(rm *)"]\n')
    judge = policies(home).judge_in(str(repo))
    ruling = judge(bash(NPM_TEST, repo))

    assert ruling.verdict is Verdict.ASK
    assert (ruling.file, ruling.line) == (str(repo / "devplane.toml"), line)
    assert said in ruling.reason
    # What another file forbids is forbidden all the same.
    assert judge(bash("rm x", repo)).verdict is Verdict.DENY


def test_what_a_broken_file_forbids_still_holds_as_far_as_it_can_be_read(repo: Path, home: Home) -> None:
    (repo / "devplane.toml").write_text('[policy]\nnever_auto = ["Bash(rm *)", "Bash("]\n')

    assert policies(home).judge_in(str(repo))(bash("rm x", repo)).verdict is Verdict.DENY


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary"])
def test_a_file_that_cannot_be_read_fails_closed(repo: Path, home: Home, kind: str) -> None:
    file = repo / "devplane.toml"
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b"\xff\xfe\x00")
    home.policy_file.write_text('[policy]\nauto_allow = ["Bash"]\n')

    assert policies(home).judge_in(str(repo))(bash(NPM_TEST, repo)).verdict is Verdict.ASK


def test_a_worktree_answers_to_the_checkout_that_owns_it(repo: Path, home: Home, tmp_path: Path) -> None:
    (repo / "devplane.toml").write_text('[policy]\nnever_auto = ["Bash(npm test)", "Read(/secret/**)"]\n')
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", "-b", "b", str(tree))
    (tree / "devplane.toml").write_text('[policy]\nauto_allow = ["Bash"]\n')
    judge = policies(home).judge_in(str(tree))

    assert Place.of(str(tree)) == Place(repo, tree)
    assert judge(bash(NPM_TEST, tree)).verdict is Verdict.DENY
    # A pattern from the rule file's folder means the same place in the worktree.
    assert judge(Call("Read", "secret/x", str(tree), ("secret/x",))).verdict is Verdict.DENY
    assert judge(bash("cat secret/x", tree)).verdict is Verdict.DENY


def test_a_nested_repository_does_not_escape_the_one_with_the_rules(repo: Path, home: Home) -> None:
    (repo / "devplane.toml").write_text('[policy]\nnever_auto = ["Bash(npm test)"]\n')
    nested = repo / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "devplane.toml").write_text('[policy]\nauto_allow = ["Bash"]\n')

    assert policies(home).judge_in(str(nested))(bash(NPM_TEST, nested)).verdict is Verdict.DENY


def test_g46_what_an_untrusted_repository_allows_does_not_count_and_what_it_forbids_does(
    repo: Path, home: Home
) -> None:
    (repo / "devplane.toml").write_text('[policy]\nauto_allow = ["Bash"]\nnever_auto = ["Bash(rm *)"]\n')
    trusted: set[str] = set()
    judge = Policies(home, is_trusted=trusted.__contains__).judge_in(str(repo))

    ruling = judge(bash(NPM_TEST, repo))
    assert ruling.verdict is Verdict.UNDECIDED
    assert "is not trusted" in ruling.reason
    assert judge(bash("rm x", repo)).verdict is Verdict.DENY

    trusted.add(str(repo))
    assert judge(bash(NPM_TEST, repo)).verdict is Verdict.ALLOW
    trusted.clear()
    assert judge(bash(NPM_TEST, repo)).verdict is Verdict.UNDECIDED


def test_links_are_followed_on_both_sides(repo: Path, home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("k")
    (repo / "src").mkdir()
    (repo / "src" / "way").symlink_to(outside)
    (repo / "devplane.toml").write_text('[policy]\nauto_allow = ["Read(src/**)", "Edit(src/**)"]\n')
    home.policy_file.write_text(f'[policy]\nnever_auto = ["Read(/{outside}/key)"]\n')
    judge = policies(home).judge_in(str(repo))

    assert judge(Call("Read", "src/way/key", str(repo), ("src/way/key",))).verdict is Verdict.DENY
    assert judge(bash("cat src/way/key", repo)).verdict is Verdict.DENY
    # An allow needs every spelling: a link inside what is allowed allows nothing outside.
    assert judge(Call("Edit", "src/way/new", str(repo), ("src/way/new",))).verdict is Verdict.UNDECIDED
    assert judge(Call("Edit", "src/new", str(repo), ("src/new",))).verdict is Verdict.ALLOW


def test_patterns_from_the_rule_files_folder_start_there_wherever_the_agent_works(
    tmp_path: Path, home: Home
) -> None:
    (tmp_path / "plain" / "src").mkdir(parents=True)
    folder = tmp_path / "plain"
    (folder / "devplane.toml").write_text('[policy]\nauto_allow = ["Edit(/x.py)", "Edit(/src/y.py)"]\n')
    judge = policies(home).judge_in(str(folder / "src"))

    def edits(path: str) -> Verdict:
        return judge(Call("Edit", path, str(folder / "src"), (path,))).verdict

    assert edits("y.py") is Verdict.ALLOW
    assert edits("../x.py") is Verdict.ALLOW
    assert edits("x.py") is Verdict.UNDECIDED


def test_a_project_that_is_reached_through_a_link_is_the_same_project(
    repo: Path, home: Home, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(repo)
    (repo / "src").mkdir()
    (repo / "devplane.toml").write_text('[policy]\nauto_allow = ["Edit(/src/**)"]\n')
    for cwd in (tmp_path / "way", tmp_path / "way" / "src"):
        judge = policies(home).judge_in(str(cwd))
        path = str(tmp_path / "way" / "src" / "a.py")
        assert judge(Call("Edit", path, str(cwd), (path,))).verdict is Verdict.ALLOW
