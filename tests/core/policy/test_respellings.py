"""A denied command is never allowed for being written differently, and the spellings are no straw men."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from devplane.core.permission import Call, Verdict
from devplane.core.policy import Policy, rule_file
from tests.core.policy import shapes
from tests.core.policy.respellings import COMMANDS, EDIT, GROUPS, READ, READ_BELOW, REMOVE, Group
from tests.core.policy.sandbox import BASH, LAID_OUT, SECRET, Sandbox

needs_bash = pytest.mark.skipif(not BASH, reason="no bash on this machine")
by_rule = pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group.rule} {len(group.respelt)}")


class Checkout:
    """A disk that holds what a sandbox holds, at /repo."""

    def real(self, path: str) -> str:
        return posixpath.normpath(path)

    def names(self, folder: str) -> Sequence[str]:
        at = posixpath.relpath(folder, "/repo")
        return sorted({held.split("/")[0] for path in LAID_OUT for held in below(path, at)})


def below(path: str, folder: str) -> list[str]:
    """What is left of `path` in `folder`, as a list of one; [] when it is not in there."""
    if folder == ".":
        return [path]
    return [path.removeprefix(f"{folder}/")] if path.startswith(f"{folder}/") else []


def policy_of(*never_auto: str) -> Policy:
    """What denies `never_auto` and allows the rest."""
    rules = rule_file(
        "/repo/devplane.toml", "/repo", never_auto=never_auto, auto_allow=["Bash", "Read", "Edit"]
    )
    return Policy([rules], home="/home/user", devplane_home="/home/user/.devplane", disk=Checkout())


@by_rule
def test_no_spelling_slips_past_the_rule(group: Group) -> None:
    policy = policy_of(group.rule)
    verdicts = {line: policy.judge(Call("Bash", line, "/repo")).verdict for line in group.respelt}
    slipped = [line for line, verdict in verdicts.items() if verdict is Verdict.ALLOW]

    assert not slipped, "\n".join(map(repr, slipped))


@pytest.mark.parametrize("group", COMMANDS, ids=lambda group: group.rule)
def test_the_plain_command_is_denied(group: Group) -> None:
    assert group.command is not None
    plain = Call("Bash", " ".join(group.command), "/repo")

    assert policy_of(group.rule).judge(plain).verdict is Verdict.DENY


@needs_bash
@pytest.mark.parametrize("group", COMMANDS, ids=lambda group: group.rule)
def test_bash_really_runs_the_command_for_each_spelling_shown(group: Group, tmp_path: Path) -> None:
    assert group.command is not None
    sandbox = Sandbox(tmp_path / "box", [group.command[0]])

    assert not_run(sandbox, group, group.shown) == []


@needs_bash
def test_bash_really_runs_the_command_for_each_shape_shown(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "box")
    lines = [shapes.spell(shape, "rm", "-rf build") for shape in (*shapes.SHOWN, *shapes.GIT_SHOWN)]

    assert not_run(sandbox, REMOVE, lines) == []


@needs_bash
@pytest.mark.parametrize("group", [READ, READ_BELOW], ids=["the file", "its folder"])
def test_bash_really_gives_the_file_away_for_each_spelling_shown(group: Group, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "box")
    kept = []
    for line in filter(sandbox.has, group.shown):
        sandbox.fresh()
        printed = sandbox.run(line)
        if SECRET not in "".join(printed.split()) and not held_elsewhere(sandbox):
            kept.append(line)

    assert kept == []


@needs_bash
def test_bash_really_changes_the_folder_for_each_spelling_shown(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "box")
    untouched = []
    for line in filter(sandbox.has, EDIT.shown):
        sandbox.fresh()
        before = content(sandbox.work / ".github")
        sandbox.run(line)
        if content(sandbox.work / ".github") == before:
            untouched.append(line)

    assert untouched == []


@needs_bash
def test_a_line_that_leaves_the_sandbox_is_refused(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "box")
    for line in ("/bin/rm x", "env -i rm x", "command -p rm x", "bash -lc 'rm x'", "PATH=/x rm x"):
        with pytest.raises(ValueError, match="leaves the sandbox"):
            sandbox.run(line)


def not_run(sandbox: Sandbox, group: Group, lines: Iterable[str]) -> list[str]:
    """The lines of which bash does not run the command that `group` denies."""
    missed = []
    for line in filter(sandbox.has, lines):
        sandbox.fresh()
        sandbox.run(line)
        if not any(group.is_it(words) for words in sandbox.ran()):
            missed.append(line)
        assert (sandbox.work / "build" / "keep").exists() or "mv" in line, f"a real program ran: {line}"
    return missed


def held_elsewhere(sandbox: Sandbox) -> bool:
    """Whether a file other than the denied one holds the secret now."""
    original = sandbox.work / ".env"
    files = (path for path in sandbox.work.parent.rglob("*") if path.is_file() and path != original)
    return any(SECRET.encode() in path.read_bytes() for path in files)


def content(folder: Path) -> dict[str, bytes | str | None]:
    """What is in a folder, links as links, files as bytes."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }
