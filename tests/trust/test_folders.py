"""Settings below the root are shown too; repositories below are not looked into."""

from __future__ import annotations

import json
from pathlib import Path

from devplane.trust import findings
from devplane.trust.folders import folders_with_settings

HOOK = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}}


def brings(folder: Path) -> None:
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps(HOOK))


def test_a_hook_in_a_folder_below_is_found_and_named(tmp_path: Path) -> None:
    brings(tmp_path / "pkg" / "web")
    found = findings(tmp_path).findings
    assert [(each.kind, each.subject.split()[0]) for each in found] == [("hook", "pkg/web/")]


def test_a_repository_below_answers_for_itself(tmp_path: Path) -> None:
    brings(tmp_path / "nested")
    (tmp_path / "nested" / ".git").mkdir()
    assert folders_with_settings(tmp_path) == ([], True)


def test_packages_of_others_are_passed_over(tmp_path: Path) -> None:
    brings(tmp_path / "node_modules" / "left-pad")
    assert folders_with_settings(tmp_path) == ([], True)
