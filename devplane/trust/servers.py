"""MCP servers that a repository brings along, and whether what they start is pinned."""

from __future__ import annotations

import shlex
from typing import Any

from devplane.launchers import package_of
from devplane.trust.report import Finding, Repository, finding, texts

_FILES = (
    (".mcp.json", "mcpServers"),
    (".cursor/mcp.json", "mcpServers"),
    (".gemini/settings.json", "mcpServers"),
    (".github/mcp.json", "mcpServers"),
    (".vscode/mcp.json", "servers"),
    ("opencode.json", "mcp"),
    ("opencode.jsonc", "mcp"),
    (".opencode/opencode.json", "mcp"),
    (".opencode/opencode.jsonc", "mcp"),
    (".codex/config.toml", "mcp_servers"),
)
"""Where one of the five agents looks for servers in a repository, and under which key."""


def server_findings(repository: Repository) -> list[Finding]:
    """Return every MCP server that the repository's files name."""
    return [
        finding("mcp", f"{server} ({name})", _detail(entry))
        for name, key in _FILES
        for server, entry in repository.table(name, repository.document(name), key).items()
    ]


def _detail(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "neither a command nor an address"
    command = (*texts(entry.get("command")), *texts(entry.get("args")))
    if command:
        return _started(command)
    url = next(
        (entry[key] for key in ("url", "httpUrl", "serverUrl") if isinstance(entry.get(key), str)), None
    )
    return f"over a URL: {url}" if url else "neither a command nor an address"


def _started(command: tuple[str, ...]) -> str:
    words = command
    if len(command) == 1 and " " in command[0]:
        try:
            words = tuple(shlex.split(command[0]))
        except ValueError:
            return command[0]
    package = package_of(words)
    line = command[0] if words is not command else shlex.join(command)
    if package is None:
        return line
    if package.is_pinned:
        return f"pinned to {package.version}: {line}"
    what = package.name if package.version is None else "a package beside it"
    return f"unpinned, {package.launcher} fetches any version of {what}: {line}"
