"""What a repository would run or allow by itself, as a person is shown it before trusting (case G-46)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.trust import Finding, findings
from devplane.trust.rules import any_command, too_broad


def put(root: Path, name: str, content: Any) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def found(root: Path, kind: str) -> list[tuple[str, str]]:
    return [(one.subject, one.detail) for one in findings(root).findings if one.kind == kind]


def test_an_ordinary_repository_gives_nothing_to_ask_about(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "hello")
    put(tmp_path, ".git/config", "[core]\n\tbare = false\n\tfsmonitor = true\n")
    put(tmp_path, ".git/hooks/pre-commit.sample", "#!/bin/sh").chmod(0o755)
    result = findings(tmp_path)
    assert not result
    assert result.counts == {"skills": 0, "allow rules": 0}


def test_every_command_hook_is_shown_with_its_event_and_no_other_kind(tmp_path: Path) -> None:
    hooks = [
        {"type": "command", "command": "touch /tmp/pwned"},
        {"type": "prompt", "prompt": "be good"},
        {"type": "http", "url": "x", "command": "not run"},
    ]
    put(tmp_path, ".claude/settings.json", {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": hooks}]}})
    put(
        tmp_path, ".claude/settings.local.json", {"apiKeyHelper": "./key.sh", "statusLine": {"command": "st"}}
    )
    put(tmp_path, ".github/hooks/x.json", {"hooks": {"sessionStart": [{"type": "command", "bash": "b.sh"}]}})
    assert found(tmp_path, "hook") == [
        ("PreToolUse (.claude/settings.json)", "touch /tmp/pwned"),
        ("sessionStart (.github/hooks/x.json)", "b.sh"),
        ("apiKeyHelper (.claude/settings.local.json)", "./key.sh"),
        ("statusLine (.claude/settings.local.json)", "st"),
    ]


def test_every_mcp_server_is_shown_and_an_unpinned_launcher_is_named_so(tmp_path: Path) -> None:
    servers = {
        "scoped": {"command": "npx", "args": ["-y", "@a/b"]},
        "pinned": {"command": "npx", "args": ["-y", "@a/b@1.2.3"]},
        "range": {"command": "uvx", "args": ["b>=1"]},
        "own": {"command": "./server", "args": ["a b"]},
        "far": {"type": "http", "url": "https://far.example/mcp"},
        "odd": 3,
    }
    put(tmp_path, ".mcp.json", {"mcpServers": servers})
    assert found(tmp_path, "mcp") == [
        ("scoped (.mcp.json)", "unpinned, npx fetches any version of @a/b: npx -y @a/b"),
        ("pinned (.mcp.json)", "pinned to 1.2.3: npx -y @a/b@1.2.3"),
        ("range (.mcp.json)", "unpinned, uvx fetches any version of b>=1: uvx 'b>=1'"),
        ("own (.mcp.json)", "./server 'a b'"),
        ("far (.mcp.json)", "over a URL: https://far.example/mcp"),
        ("odd (.mcp.json)", "neither a command nor an address"),
    ]


def test_servers_are_found_wherever_one_of_the_agents_looks(tmp_path: Path) -> None:
    put(tmp_path, ".cursor/mcp.json", {"mcpServers": {"c": {"command": "c"}}})
    put(tmp_path, ".gemini/settings.json", '{"mcpServers": {"g": {"httpUrl": "u//x"},},} // note')
    put(
        tmp_path,
        "opencode.json",
        '{/* a */ "mcp": {"o": {"type": "local", "command": ["pnpm", "dlx", "o"]}}}',
    )
    put(tmp_path, ".codex/config.toml", '[mcp_servers.x]\ncommand = "x"\n')
    assert found(tmp_path, "mcp") == [
        ("c (.cursor/mcp.json)", "c"),
        ("g (.gemini/settings.json)", "over a URL: u//x"),
        ("o (opencode.json)", "unpinned, pnpm dlx fetches any version of o: pnpm dlx o"),
        ("x (.codex/config.toml)", "x"),
    ]
    assert findings(tmp_path).unread == ()


def test_plugins_and_another_package_source_are_shown(tmp_path: Path) -> None:
    put(tmp_path, "opencode.json", {"plugin": ["some-plugin"]})
    put(tmp_path, ".opencode/plugin/p.ts", "")
    put(tmp_path, ".npmrc", "fund=false\n@a:registry = http://far.example\n")
    assert [subject for subject, _ in found(tmp_path, "plugin")] == [
        "OpenCode plugin (opencode.json)",
        "OpenCode plugin (.opencode/plugin/p.ts)",
    ]
    assert found(tmp_path, "npm") == [("@a:registry (.npmrc)", "http://far.example")]


@pytest.mark.parametrize(
    ("front", "tools"),
    [
        ("allowed-tools: Read, Bash", ["Bash"]),
        ("allowed-tools: Bash(git status:*), Read", []),
        ("allowed-tools: Bash(*) # all", ["Bash(*)"]),
        ("allowed-tools: [Read, 'Bash']", ["Bash"]),
        ("allowed-tools:\n  - Read\n  - Bash\nname: x", ["Bash"]),
        ("allowed-tools:\n- Bash(ls:*)\n- PowerShell\nname: Bash", ["PowerShell"]),
        ("name: Bash", []),
    ],
)
def test_a_skill_is_shown_when_it_allows_any_command(tmp_path: Path, front: str, tools: list[str]) -> None:
    put(tmp_path, ".claude/skills/s/SKILL.md", f"---\n{front}\n---\nallowed-tools: Bash\n")
    name = "s (.claude/skills/s/SKILL.md)"
    assert found(tmp_path, "skill") == [(name, f"allows {tool} without asking") for tool in tools]


def test_all_skills_are_counted_and_not_only_the_ones_shown(tmp_path: Path) -> None:
    for number in range(10):
        put(tmp_path, f".claude/skills/s{number}/SKILL.md", "no front matter")
    result = findings(tmp_path)
    assert (result.counts["skills"], result.findings) == (10, ())


@pytest.mark.parametrize(
    "rule",
    [
        "Bash",
        "Bash(*)",
        "Bash(:*)",
        "*",
        "Bash(python:*)",
        "Bash(/bin/sh *)",
        "Bash(sudo:*)",
        "Edit",
        "Write(**)",
        "WebFetch",
        "WebFetch(domain:*)",
        "mcp__*",
    ],
)
def test_a_rule_that_lets_anything_through_is_too_broad(rule: str) -> None:
    assert too_broad(rule) is not None


@pytest.mark.parametrize(
    "rule",
    [
        "Bash(git status:*)",
        "Bash(npm run test)",
        "Bash(ls:*)",
        "Read",
        "Edit(src/**)",
        "mcp__a__b",
        "",
        "Bash(py",
        "WebFetch(domain:a.example)",
        "Bash(python -m pytest:*)",
        "Glob",
    ],
)
def test_an_ordinary_rule_stays_silent(rule: str) -> None:
    assert too_broad(rule) is None


@given(st.text("Bash(*:) mcp_", max_size=20))
def test_what_grants_any_command_is_always_too_broad(rule: str) -> None:
    assert not any_command(rule) or too_broad(rule)


def test_broad_rules_and_open_modes_are_shown_and_all_rules_counted(tmp_path: Path) -> None:
    permissions = {"allow": ["Bash(*)", "Read", 3], "defaultMode": "bypassPermissions"}
    put(tmp_path, ".claude/settings.json", {"permissions": permissions, "enableAllProjectMcpServers": True})
    assert [subject for subject, _ in found(tmp_path, "policy")] == [
        "allow Bash(*) (.claude/settings.json)",
        "defaultMode bypassPermissions (.claude/settings.json)",
        "enableAllProjectMcpServers (.claude/settings.json)",
    ]
    assert findings(tmp_path).counts["allow rules"] == 2


def test_g46_git_hooks_and_settings_that_run_programs_are_shown(tmp_path: Path) -> None:
    put(tmp_path, ".git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/pwned").chmod(0o755)
    put(tmp_path, ".git/hooks/pre-push", "not executable")
    put(
        tmp_path,
        ".git/config",
        '[core]\n fsmonitor = "touch /tmp/pwned;"\n sshCommand = evil\n'
        '[filter "lfs"]\n clean = git-lfs clean -- %f\n[filter "x"]\n smudge = run\n',
    )
    assert found(tmp_path, "git") == [
        ("core.fsmonitor (.git/config)", "touch /tmp/pwned;"),
        ("core.sshcommand (.git/config)", "evil"),
        ("filter.x.smudge (.git/config)", "run"),
        ("post-checkout (.git/hooks)", "runs on that git action"),
    ]


def test_hooks_are_looked_for_where_the_repository_puts_them(tmp_path: Path) -> None:
    put(tmp_path, ".git/config", "[core]\n\thooksPath = .husky\n")
    put(tmp_path, ".git/hooks/pre-commit", "").chmod(0o755)
    put(tmp_path, ".husky/pre-push", "").chmod(0o755)
    assert found(tmp_path, "git") == [
        ("core.hooksPath (.git/config)", ".husky"),
        ("pre-push (.husky)", "runs on that git action"),
    ]


def test_a_file_that_does_not_parse_is_shown_once_however_many_look_at_it(tmp_path: Path) -> None:
    put(tmp_path, ".claude/settings.json", '{\n"hooks": ')
    put(tmp_path, "opencode.json", "[]")
    put(tmp_path, ".codex/config.toml", "a = \n")
    put(tmp_path, ".claude/skills/s/SKILL.md", "---\nallowed-tools: Bash\n")
    put(tmp_path, ".mcp.json", {"mcpServers": ["x"]})
    (tmp_path / ".cursor").mkdir()
    os.mkfifo(tmp_path / ".cursor" / "mcp.json")
    subjects = [one.subject for one in findings(tmp_path).unread]
    assert sorted(subjects) == [
        ".claude/settings.json",
        ".claude/skills/s/SKILL.md",
        ".codex/config.toml",
        ".cursor/mcp.json",
        ".mcp.json",
        "opencode.json",
    ]


def test_what_a_stranger_wrote_cannot_repaint_the_question(tmp_path: Path) -> None:
    hooks = {"Stop\x1b[2J": [{"hooks": [{"type": "command", "command": "evil\r\nnothing\u202e"}]}]}
    put(tmp_path, ".claude/settings.json", {"hooks": hooks})
    (one,) = findings(tmp_path).findings
    assert one == Finding("hook", "Stop␛[2J (.claude/settings.json)", "evil␍⏎nothing<U+202E>")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "hooks",
                        "permissions",
                        "allow",
                        "mcpServers",
                        "mcp",
                        "command",
                        "args",
                        "type",
                        "plugin",
                        "E",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_shape_of_settings_makes_the_look_fail(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    root = tmp_path_factory.mktemp("repository")
    for name in (".claude/settings.json", ".mcp.json", "opencode.json", ".gemini/settings.json"):
        put(root, name, value)
    findings(root)
