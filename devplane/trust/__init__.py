"""What a repository would run or allow by itself, for the person who is asked to trust it.

Files are read; nothing is run, refused or judged. Scripts that a hook names are not
read: the finding shows the command, and the person decides (case G-46).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from devplane.trust.folders import folders_with_settings
from devplane.trust.git import git_findings
from devplane.trust.hooks import hook_findings
from devplane.trust.packages import package_findings
from devplane.trust.report import Finding, Findings, Repository, finding
from devplane.trust.rules import rule_findings
from devplane.trust.servers import server_findings
from devplane.trust.skills import skill_findings

__all__ = ["Finding", "Findings", "findings"]


def findings(root: Path) -> Findings:
    """Look at the checkout at `root`. Never raises for what lies in it: what cannot be read is a finding.

    Folders below that an agent would read settings from, when it is started there, are looked at
    too; repositories below are not, since each is trusted by itself.
    """
    repository = Repository(root)
    found, counts = _brought(repository)
    found += git_findings(repository)
    found += repository.unread
    folders, is_complete = folders_with_settings(root)
    for folder in folders:
        below = Repository(folder)
        more, more_counts = _brought(below)
        name = folder.relative_to(root).as_posix()
        found += [replace(each, subject=f"{name}/ {each.subject}") for each in (*more, *below.unread)]
        counts = {key: count + more_counts[key] for key, count in counts.items()}
    if not is_complete:
        found.append(finding("unread", "folders", "there are too many to look into all of them"))
    return Findings(root, tuple(found), counts)


def _brought(repository: Repository) -> tuple[list[Finding], dict[str, int]]:
    found: list[Finding] = []
    found += hook_findings(repository)
    found += server_findings(repository)
    found += package_findings(repository)
    skills, skill_count = skill_findings(repository)
    found += skills
    rules, rule_count = rule_findings(repository)
    found += rules
    return found, {"skills": skill_count, "allow rules": rule_count}
