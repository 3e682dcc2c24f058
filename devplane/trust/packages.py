"""Settings of package managers that decide where a launcher in this repository fetches from."""

from __future__ import annotations

import re

from devplane.trust.report import Finding, Repository, finding

# npx reads the folder's .npmrc, and agents are started there: a pin holds only as far as its source.
_NPM_SETTING = re.compile(
    r"\s*((?:@[^:=\s]+:)?registry|script-shell|node-options|prefix|userconfig)\s*=\s*(.*)"
)


def package_findings(repository: Repository) -> list[Finding]:
    """Return what the repository's ``.npmrc`` says of sources and of what runs with them."""
    lines = (repository.text(".npmrc") or "").splitlines()
    matches = (_NPM_SETTING.fullmatch(line) for line in lines)
    return [finding("npm", f"{match[1]} (.npmrc)", match[2].strip()) for match in matches if match]
