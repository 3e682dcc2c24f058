"""How each real agent is pointed at the model server, in a home directory of its own.

What an agent needs to ask first is not set here: that is Devplane's part, and under test.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

INSTALLED = Path(__file__).resolve().parent / "node_modules"
KEY = "not-a-secret"
CODEX_MODEL = "gpt-6.1-sol"
"""A name that the Codex binary knows: with another one it warns in every turn and has fewer tools."""


class NotInstalled(Exception):
    """The agent is not in ``conformance/node_modules``."""

    def __init__(self, agent: str, missing: Path) -> None:
        super().__init__(f"{agent} is not installed: {missing} is missing; run `npm ci --prefix conformance`")


@dataclass(frozen=True, slots=True)
class Setup:
    """What one agent needs to be driven offline."""

    agent: str
    """Its id in ``agents.d``."""
    command: tuple[str, ...]
    environment: dict[str, str]
    """Goes on top of `base_environment`."""
    files: dict[str, str] = field(default_factory=dict)
    """Text by path below the home directory."""

    def prepare(self, home: Path) -> dict[str, str]:
        """Write the files into `home`, and return the whole environment to start the agent in."""
        for name, content in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return base_environment(home) | self.environment


def base_environment(home: Path) -> dict[str, str]:
    """Return an environment that carries nothing of the caller's but where programs are.

    A key or a setting of the person who runs the checks would reach the agents otherwise.
    """
    return {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "NO_COLOR": "1"}


def overlay(*setups: Setup) -> str:
    """Return the text of an ``agents.toml`` that starts the installed programs instead of fetching them."""
    # A JSON string is a TOML basic string.
    return "\n".join(
        f"[agents.{setup.agent}]\ncommand = {json.dumps(shlex.join(setup.command))}\n" for setup in setups
    )


def setup(agent: str, url: str) -> Setup:
    """Return how `agent` is driven against the model server at `url`.

    Raises:
        KeyError: no such agent; `AGENTS` lists them.
        NotInstalled: its program is not there.
    """
    return AGENTS[agent](url)


def _program(agent: str, name: str) -> str:
    path = INSTALLED / ".bin" / name
    if not path.exists():
        raise NotInstalled(agent, path)
    return str(path)


def _claude(url: str) -> Setup:
    # The adapter wants Node 22, which the machine may not have.
    return Setup(
        agent="claude",
        command=(_program("claude", "node"), _program("claude", "claude-agent-acp")),
        environment={
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            # Else a failing model is tried again for three minutes.
            "CLAUDE_CODE_MAX_RETRIES": "1",
            # Else most tools are hidden behind a search for them.
            "ENABLE_TOOL_SEARCH": "false",
            # One tool for a whole plan, in place of several for one entry each.
            "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",
            "CLAUDE_CODE_ENABLE_TASKS": "0",
        },
    )


def _codex(url: str) -> Setup:
    config = f"""\
model = "{CODEX_MODEL}"
model_provider = "stub"
check_for_update_on_startup = false

[tools]
update_plan = {{ enabled = true }}

[analytics]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
"""
    return Setup(
        agent="codex",
        command=(_program("codex", "codex-acp"),),
        environment={"NO_BROWSER": "1"},
        files={".codex/config.toml": config},
    )


def _gemini(url: str) -> Setup:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        # With retention on, its clean-up deletes sessions that were loaded once.
        "general": {"enableAutoUpdate": False, "sessionRetention": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return Setup(
        agent="gemini",
        command=(_program("gemini", "gemini"), "--acp"),
        environment={
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        files={".gemini/settings.json": json.dumps(settings)},
    )


def _copilot(url: str) -> Setup:
    return Setup(
        agent="copilot",
        command=(_program("copilot", "copilot"), "--acp", "--no-auto-update"),
        environment={
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "stub",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
        },
    )


def _opencode(url: str) -> Setup:
    model = {
        "name": "Stub",
        "tool_call": True,
        "reasoning": True,
        "limit": {"context": 100_000, "output": 8_000},
        "cost": {"input": 3, "output": 15},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Stub",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"stub": model},
    }
    config = {
        "share": "disabled",
        "model": "stub/stub",
        "small_model": "stub/stub",
        "provider": {"stub": provider},
    }
    return Setup(
        agent="opencode",
        command=(_program("opencode", "opencode"), "acp"),
        environment={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            # In the environment rather than a file, since Devplane merges its own part into it.
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        },
    )


AGENTS: dict[str, Callable[[str], Setup]] = {
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "opencode": _opencode,
}
