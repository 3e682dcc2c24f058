"""Commands that an agent runs by itself because a repository's settings say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devplane.trust.report import Finding, Repository, finding, texts

CLAUDE_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_HOOK_FILES = (*CLAUDE_SETTINGS, ".gemini/settings.json", ".codex/hooks.json")
_COMMAND_KEYS = ("command", "bash", "powershell")
_CLAUDE_HELPERS = (
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "otelHeadersHelper",
)
_OPENCODE_FILES = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")


def hook_findings(repository: Repository) -> list[Finding]:
    """Return every command hook, helper program and plugin that the five agents would load."""
    found: list[Finding] = []
    for name in (*_HOOK_FILES, *repository.glob(".github/hooks/*.json")):
        hooks = repository.table(name, repository.document(name), "hooks")
        for event, entries in hooks.items():
            found += [finding("hook", f"{event} ({name})", command) for command in _commands(entries)]
    for name in CLAUDE_SETTINGS:
        settings = repository.document(name)
        helpers = {key: settings.get(key) for key in _CLAUDE_HELPERS}
        for key in ("statusLine", "fileSuggestion"):
            value = settings.get(key)
            helpers[key] = value.get("command") if isinstance(value, dict) else None
        found += [
            finding("hook", f"{key} ({name})", value)
            for key, value in helpers.items()
            if isinstance(value, str)
        ]
    return found + _plugins(repository)


def _commands(entries: Any) -> Iterator[str]:
    """Commands at any depth: ``[{hooks: [{type, command}]}]`` or Copilot's ``[{bash, powershell}]``."""
    pending = [entries]
    while pending:
        value = pending.pop(0)
        if isinstance(value, list):
            pending = [*value, *pending]
        elif isinstance(value, dict):
            if value.get("type", "command") == "command":
                for key in _COMMAND_KEYS:
                    command = value.get(key)
                    if isinstance(command, str):
                        yield command
            pending.insert(0, value.get("hooks"))


def _plugins(repository: Repository) -> list[Finding]:
    found = [
        finding("plugin", f"OpenCode plugin ({name})", plugin)
        for name in _OPENCODE_FILES
        for plugin in texts(repository.document(name).get("plugin"))
    ]
    for folder in ("plugin", "plugins"):
        for name in repository.glob(f".opencode/{folder}/*"):
            if name.endswith((".js", ".ts", ".mjs", ".mts")):
                found.append(finding("plugin", f"OpenCode plugin ({name})", "is run when OpenCode starts"))
    return found
