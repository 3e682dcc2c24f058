"""Each agent of `agents.d` can be pointed at the model server, and reads only its own home."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from conformance import setups
from conformance.setups import AGENTS, NotInstalled, overlay, setup

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:9"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for ``node_modules``, at a path with a space in it."""
    programs = tmp_path / "node modules" / ".bin"
    programs.mkdir(parents=True)
    for name in ("node", "claude-agent-acp", "codex-acp", "copilot", "gemini", "opencode"):
        (programs / name).touch()
    monkeypatch.setattr(setups, "INSTALLED", programs.parent)
    return programs


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_hears_of_the_server_and_of_nothing_the_caller_has(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the person's own")
    one = setup(agent, URL)
    home = tmp_path / "home"
    environment = one.prepare(home)
    told = [*environment.values(), *(path.read_text() for path in home.rglob("*") if path.is_file())]
    assert any(URL in text for text in told)
    assert environment["HOME"] == str(home)
    assert "the person's own" not in told


def test_an_overlay_starts_the_installed_programs(installed: Path) -> None:
    tables = tomllib.loads(overlay(*(setup(agent, URL) for agent in AGENTS)))["agents"]
    assert list(tables) == list(AGENTS)
    for table in tables.values():
        assert Path(shlex.split(table["command"])[0]).parent == installed


def test_an_agent_that_is_not_installed_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setups, "INSTALLED", tmp_path)
    with pytest.raises(NotInstalled, match="codex is not installed"):
        setup("codex", URL)


def test_the_installed_versions_are_those_that_devplane_starts() -> None:
    """What is checked here is what a person gets."""
    manifest = json.loads((ROOT / "conformance" / "package.json").read_text(encoding="utf-8"))
    pins = manifest["dependencies"]
    for agent in AGENTS:
        table = tomllib.loads((ROOT / "agents.d" / f"{agent}.toml").read_text(encoding="utf-8"))
        assert pins[table["package"]] == table["version"]
        if "node" in table:
            assert set(manifest["optionalDependencies"].values()) == {table["node"]["package"].split("@")[1]}


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((ROOT / "conformance" / "package-lock.json").read_text(encoding="utf-8"))
    assert not [path for path, package in lock["packages"].items() if "resolved" in package]
