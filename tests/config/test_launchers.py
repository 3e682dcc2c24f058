"""Which package a command fetches, and whether it is pinned."""

from __future__ import annotations

import shlex

import pytest

from devplane.launchers import package_of, with_version


@pytest.mark.parametrize(
    ("command", "name", "version"),
    [
        ("npx -y @scope/agent@1.2.3 --acp", "@scope/agent", "1.2.3"),
        ("npx @scope/agent", "@scope/agent", None),
        ("npx -y agent@latest", "agent", None),
        ("npx -y agent@1.2", "agent", None),
        ("npx -y agent@^1.2.3", "agent", None),
        ("npx -y agent@1.2.3-beta.1", "agent", "1.2.3-beta.1"),
        ("npx --registry x -y agent@1.2.3", "agent", "1.2.3"),
        ("/usr/bin/npx -y agent@1.2.3", "agent", "1.2.3"),
        ("env A=1 npx -y agent@1.2.3", "agent", "1.2.3"),
        ("npx -y -p node@22.23.3 -p @a/b-acp@1.2.3 b-acp", "@a/b-acp", "1.2.3"),
        ("npx --package=@a/b-acp@1.2.3 -- b-acp -p x", "@a/b-acp", "1.2.3"),
        ("bunx agent@1.2.3", "agent", "1.2.3"),
        ("pnpm dlx agent", "agent", None),
        ("npm exec -- agent@1.2.3", "agent", "1.2.3"),
        ("uvx agent==1.2.3", "agent", "1.2.3"),
        ("uvx agent@1.2.3rc1 acp", "agent", "1.2.3rc1"),
        ("uvx --python 3.12 --from agent[acp]==1.2.3 agent-acp", "agent[acp]", "1.2.3"),
        ("uvx agent>=1.2.3", "agent>=1.2.3", None),
        ("uv tool run agent==1.*", "agent", None),
        ("npx -y github:a/b", "github:a/b", None),
        ("npx -y git+https://host/a@1.2.3", "git+https://host/a@1.2.3", None),
    ],
)
def test_a_launcher_names_its_package(command: str, name: str, version: str | None) -> None:
    package = package_of(shlex.split(command))
    assert package is not None
    assert (package.name, package.version, package.is_pinned) == (name, version, version is not None)


@pytest.mark.parametrize(
    "command", ["agent --acp", "python -m agent", "npm run x", "npx", "uv run agent", ""]
)
def test_an_ordinary_program_fetches_nothing(command: str) -> None:
    assert package_of(shlex.split(command)) is None


def test_a_pinned_package_with_an_unpinned_one_beside_it_is_not_pinned() -> None:
    package = package_of(["npx", "-y", "-p", "node@22", "-p", "agent@1.2.3", "agent"])
    assert package is not None
    assert (package.version, package.is_pinned) == ("1.2.3", False)
    beside = package_of(["uvx", "--with", "helper", "agent==1.2.3"])
    assert beside is not None
    assert beside.is_pinned is False


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("npx -y @a/b@1.0.0 --x", "npx -y @a/b@9.9.9 --x"),
        ("npx -y @a/b --x", "npx -y @a/b@9.9.9 --x"),
        ("npx --package=@a/b@^1 b", "npx --package=@a/b@9.9.9 b"),
        ("uvx --from a==1.0 a-acp", "uvx --from a==9.9.9 a-acp"),
        ("uvx a@1.0", "uvx a@9.9.9"),
    ],
)
def test_a_new_version_changes_one_word(before: str, after: str) -> None:
    package = package_of(shlex.split(before))
    assert package is not None
    assert shlex.join(with_version(shlex.split(before), package, "9.9.9")) == after
