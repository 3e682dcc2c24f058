"""Allow rules in a repository's agent settings that reach further than one thing."""

from __future__ import annotations

import re

from devplane.trust.hooks import CLAUDE_SETTINGS
from devplane.trust.report import Finding, Repository, finding, texts

_COMMAND_TOOLS = frozenset({"Bash", "PowerShell", "Shell", "Monitor"})
_EDIT_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
# fmt: off
_RUNS_ANYTHING = frozenset(
    {
        "sh", "bash", "zsh", "dash", "ksh", "fish", "python", "python3", "node", "deno", "bun",
        "ruby", "perl", "php", "lua", "osascript", "pwsh", "powershell", "env", "eval", "exec",
        "source", "sudo", "su", "doas", "ssh", "xargs", "nohup", "timeout", "watch", "time", "npx",
        "bunx", "uvx", "pnpx", "docker", "podman",
    }
)
# fmt: on
_RULE = re.compile(r"([^()]*)(?:\((.*)\))?", re.DOTALL)
_OPEN_MODES = {
    "acceptEdits": "edits files without asking",
    "auto": "lets a model decide instead of a person",
    "bypassPermissions": "asks nothing",
}


def rule_findings(repository: Repository) -> tuple[list[Finding], int]:
    """Return the allow rules that are too broad, and how many allow rules there are at all."""
    found: list[Finding] = []
    count = 0
    for name in CLAUDE_SETTINGS:
        settings = repository.document(name)
        permissions = repository.table(name, settings, "permissions")
        for rule in texts(permissions.get("allow") or []):
            count += 1
            reach = too_broad(rule)
            if reach is not None:
                found.append(finding("policy", f"allow {rule} ({name})", reach))
        mode = permissions.get("defaultMode")
        if isinstance(mode, str) and mode in _OPEN_MODES:
            found.append(finding("policy", f"defaultMode {mode} ({name})", _OPEN_MODES[mode]))
        if settings.get("enableAllProjectMcpServers") is True:
            found.append(
                finding(
                    "policy", f"enableAllProjectMcpServers ({name})", "starts every MCP server of .mcp.json"
                )
            )
    return found, count


def any_command(rule: str) -> bool:
    """Say whether `rule` grants a command tool for whatever command."""
    tool, scope = _split(rule)
    return (tool == "*" and not scope) or (tool in _COMMAND_TOOLS and _is_everything(scope))


def too_broad(rule: str) -> str | None:
    """Say what `rule` lets through when that is more than a kind of thing; ``None`` when it is narrow."""
    tool, scope = _split(rule)
    if any_command(rule):
        return "runs any command" if tool in _COMMAND_TOOLS else "allows every tool"
    if tool in _COMMAND_TOOLS:
        program = re.match(r"(\S+?)(?::\*| +\*|\*)$", scope)
        name = program.group(1).rsplit("/", 1)[-1] if program else ""
        return f"runs any command, through {name}" if name in _RUNS_ANYTHING else None
    if tool in _EDIT_TOOLS and scope in {"", "*", "**", "//**", "//*", "~/**", "/**", "./**"}:
        return "changes any file"
    if tool == "WebFetch" and scope in {"", "*", "domain:*"}:
        return "fetches any address"
    if tool in {"mcp__*", "mcp__"}:
        return "uses any tool of any MCP server"
    return None


def _split(rule: str) -> tuple[str, str]:
    found = _RULE.fullmatch(rule.strip())
    return (found.group(1).strip(), (found.group(2) or "").strip()) if found else (rule.strip(), "")


def _is_everything(scope: str) -> bool:
    return not scope.strip("*: ")
