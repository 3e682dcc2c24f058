"""Programs that git itself would run in the repository: hooks, and settings that name commands."""

from __future__ import annotations

import os
from pathlib import Path

from devplane import git_config
from devplane.files import Unreadable, read_text
from devplane.trust.report import Finding, Repository, finding

_COMMAND_SETTINGS = {
    ("core", "sshcommand"),
    ("core", "editor"),
    ("core", "pager"),
    ("core", "askpass"),
    ("sequence", "editor"),
    ("diff", "external"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("gpg", "program"),
    ("credential", "helper"),
    ("include", "path"),
    ("includeif", "path"),
}
"""Settings, without their subsection, that name a program, or a file which may."""
_SWITCHES = frozenset({"", "0", "1", "false", "true", "no", "yes", "off", "on"})


def git_findings(repository: Repository) -> list[Finding]:
    """Return the active hooks of the repository and the commands in its own git configuration."""
    folder = _git_folder(repository)
    if folder is None:
        return []
    found: list[Finding] = []
    hooks, hooks_named = folder / "hooks", ".git/hooks"
    for entry in _settings(repository, folder):
        if (entry.section, entry.key) == ("core", "hookspath"):
            hooks, hooks_named = repository.root / os.path.expanduser(entry.value), entry.value
            found.append(finding("git", "core.hooksPath (.git/config)", entry.value))
        elif (entry.section, entry.key) == ("core", "fsmonitor"):
            # As a switch it means git's own watcher; anything else is a program.
            if entry.value.lower() not in _SWITCHES:
                found.append(finding("git", "core.fsmonitor (.git/config)", entry.value))
        elif (entry.section, entry.key) in _COMMAND_SETTINGS and not _is_lfs(entry):
            found.append(finding("git", f"{entry.name} (.git/config)", entry.value))
    return found + [
        finding("git", f"{name} ({hooks_named})", "runs on that git action") for name in _active(hooks)
    ]


def _git_folder(repository: Repository) -> Path | None:
    """The folder that git would use, whether or not it is rightly claimed: what runs is what counts here."""
    marker = repository.root / ".git"
    if os.path.isdir(marker):
        return marker
    text = repository.text(".git")
    if text is None or not text.startswith("gitdir:"):
        return None
    folder = repository.root / text.removeprefix("gitdir:").strip()
    try:
        common = read_text(folder / "commondir", limit_bytes=8192)
    except Unreadable as error:
        repository.note_unread(".git", f"commondir: {error}")
        common = None
    return folder / common.strip() if common else folder


def _settings(repository: Repository, folder: Path) -> list[git_config.Entry]:
    found: list[git_config.Entry] = []
    for name in ("config", "config.worktree"):
        try:
            text = read_text(folder / name)
        except Unreadable as error:
            repository.note_unread(f".git/{name}", str(error))
        else:
            found += git_config.entries(text or "")
    return found


def _is_lfs(entry: git_config.Entry) -> bool:
    return entry.section == "filter" and entry.subsection == "lfs" and entry.value.startswith("git-lfs ")


def _active(hooks: Path) -> list[str]:
    """Names of the hooks that git would run: executable files, samples left out."""
    try:
        names = sorted(os.listdir(hooks))
    except OSError:
        return []
    return [
        name
        for name in names
        if not name.endswith(".sample") and os.path.isfile(hooks / name) and os.access(hooks / name, os.X_OK)
    ]
