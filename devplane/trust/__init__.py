"""What a repository would run or allow by itself, for the person who is asked to trust it.

Files are read; nothing is run, refused or judged. Scripts that a hook names are not
read: the finding shows the command, and the person decides (case G-46).
"""

from __future__ import annotations

from pathlib import Path

from devplane.trust.git import git_findings
from devplane.trust.hooks import hook_findings
from devplane.trust.packages import package_findings
from devplane.trust.report import Finding, Findings, Repository
from devplane.trust.rules import rule_findings
from devplane.trust.servers import server_findings
from devplane.trust.skills import skill_findings

__all__ = ["Finding", "Findings", "findings"]


def findings(root: Path) -> Findings:
    """Look at the checkout at `root`. Never raises for what lies in it: what cannot be read is a finding."""
    repository = Repository(root)
    found: list[Finding] = []
    found += hook_findings(repository)
    found += server_findings(repository)
    found += package_findings(repository)
    skills, skill_count = skill_findings(repository)
    found += skills
    rules, rule_count = rule_findings(repository)
    found += rules
    found += git_findings(repository)
    found += repository.unread
    return Findings(root, tuple(found), {"skills": skill_count, "allow rules": rule_count})
