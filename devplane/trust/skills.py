"""Skills that let an agent run any command without asking."""

from __future__ import annotations

import re

from devplane.trust.report import Finding, Repository, finding
from devplane.trust.rules import any_command

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_TOOLS = re.compile(r"^allowed-tools[ \t]*:[ \t]*(.*(?:\r?\n(?:[ \t]+.*|-[ \t].*|[ \t]*))*)", re.MULTILINE)
_TOOL = re.compile(r"[A-Za-z_*][\w*-]*(?:\([^)]*\))?")


def skill_findings(repository: Repository) -> tuple[list[Finding], int]:
    """Return the skills that pre-approve a bare command tool, and how many skills there are at all.

    A grant with a scope, such as ``Bash(git status:*)``, is what the skill needs and is not reported.
    """
    found: list[Finding] = []
    names = repository.glob(".claude/skills/*/SKILL.md")
    for name in names:
        text = repository.text(name)
        if text is None or not text.startswith("---"):
            continue
        front = _FRONT.match(text)
        if front is None:
            repository.note_unread(name, "its front matter does not end")
            continue
        for tool in _allowed_tools(front.group(1)):
            if any_command(tool):
                found.append(
                    finding("skill", f"{name.split('/')[-2]} ({name})", f"allows {tool} without asking")
                )
    return found, len(names)


def _allowed_tools(front: str) -> list[str]:
    """Tools under ``allowed-tools``, as a line or a YAML list in either style."""
    entry = _TOOLS.search(front)
    if entry is None:
        return []
    text = re.sub(r"(^|\s)#.*", r"\1", entry.group(1))
    return list(dict.fromkeys(_TOOL.findall(text)))
