"""The done certificate of a work: what was checked, on which commit, and how a reader checks it again.

It serves what the record says and derives nothing: whether a gate has passed is `GateReport.passed`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from devplane.core.gates import CommandReport
from devplane.core.markdown import cell, fenced, span
from devplane.core.text import one_line
from devplane.core.work import Phase, Work

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:devplane:done-certificate:v1"
LIMITS = (
    "The commands ran on one machine; its tools and environment are not recorded here.",
    "A gate says nothing of what its commands do not test, and the agent could change the tests themselves:"
    " read the diff.",
    "This text is not signed: whoever passed it on could have changed it.",
)
"""What a certificate does not prove."""


@dataclass(frozen=True, slots=True)
class AgentUsed:
    """One run that worked on it."""

    run: str
    agent: str
    version: str
    """As it reported itself; "" when it did not."""
    turns: int
    cost: str
    """For people; "" when the agent reported none."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """One work, as its certificate tells it."""

    work: Work
    agents: tuple[AgentUsed, ...] = ()
    remote: str = ""
    """Where the repository can be cloned from, without credentials; "" when it is not known."""

    @property
    def commit(self) -> str:
        """The commit that the certificate is about."""
        work = self.work
        return work.finished_commit or work.check_commit or work.base_commit

    @property
    def ground(self) -> str:
        """On what ground the work counts as finished, or that it does not."""
        if self.work.basis is not None:
            return str(self.work.basis)
        stopped = f": {self.work.text}" if self.work.text else ""
        return f"not finished: {self.work.state}{stopped}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader must know of this very work."""
        work, found = self.work, []
        if work.gate is None:
            found.append("Nothing was checked.")
        elif work.check_changed:
            found.append(
                f"The gate ran with {work.check_changed} files that were not committed: the commit alone is"
                " not what it saw."
            )
        if work.phase is Phase.FINISHED and work.gate and work.finished_commit != work.check_commit:
            found.append("The gate ran on another commit than the one that the work was finished at.")
        if work.finished_changed:
            found.append(f"{work.finished_changed} files were not committed when it was finished.")
        return tuple(found)

    def steps(self) -> tuple[str, ...]:
        """Return the commands by which a reader checks it again without Devplane."""
        work = self.work
        begin = [f"git clone {shlex.quote(self.remote or 'REPOSITORY')} checked", "cd checked"]
        commit = work.check_commit or self.commit
        checked = [each.command for each in work.gate.commands] if work.gate else []
        return (*begin, *([f"git checkout {commit}"] if commit else []), *checked)


def as_markdown(certificate: Certificate) -> str:
    """Return the certificate for a pull request. Whatever an agent or a command wrote stays text."""
    work = certificate.work
    lines = [
        f"# Done certificate: {one_line(work.title, 200)}",
        "",
        f"- Ground: {one_line(certificate.ground, 500)}",
        f"- Work: {span(work.id)}",
        f"- Branch: {span(work.branch) if work.branch else 'none, done in place'}",
        f"- Begun at: {span(work.base_commit)}" + (f" ({span(work.base_ref)})" if work.base_ref else ""),
        f"- Commit: {span(certificate.commit) if certificate.commit else 'none'}",
    ]
    if certificate.remote:
        lines.append(f"- Repository: {span(certificate.remote)}")
    if work.finished_by:
        lines.append(f"- Finished by: {one_line(work.finished_by)}, {_time(work.updated_ms)}")
    for each in certificate.agents:
        cost = f", {each.cost}" if each.cost else ", cost not reported by this agent"
        version = f" {one_line(each.version, 60)}" if each.version else ""
        who = f"{one_line(each.agent, 60)}{version}"
        lines.append(f"- Run: {span(each.run)}, {who}, {each.turns} turns{cost}")
    lines += [f"- {each}" for each in certificate.caveats]
    lines += ["", "## What was checked", "", *_table(work)]
    lines += ["", "## To check it again", "", fenced("\n".join(certificate.steps()), "sh")]
    lines += ["", "## What this does not prove", "", *(f"- {each}" for each in LIMITS)]
    return "\n".join(lines)


def as_statement(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as an in-toto Statement v1 (https://in-toto.io/Statement/v1), not signed."""
    work, gate = certificate.work, certificate.work.gate
    name = certificate.remote or work.branch or work.id
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"gitCommit": certificate.commit}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "work": work.id,
            "title": work.title,
            "ground": certificate.ground,
            "isFinished": work.phase is Phase.FINISHED,
            "branch": work.branch,
            "baseCommit": work.base_commit,
            "finishedCommit": work.finished_commit,
            "finishedBy": work.finished_by,
            "checkedCommit": work.check_commit,
            "uncommittedFilesWhenChecked": work.check_changed,
            "passed": gate.passed if gate else None,
            "checks": work.checks,
            "startedOn": _time(gate.started_ms) if gate else None,
            "endedOn": _time(gate.ended_ms) if gate else None,
            "commands": [_command(each) for each in gate.commands] if gate else [],
            "agents": [
                {
                    "run": each.run,
                    "agent": each.agent,
                    "version": each.version,
                    "turns": each.turns,
                    "cost": each.cost or None,
                }
                for each in certificate.agents
            ],
            "steps": list(certificate.steps()),
            "caveats": list(certificate.caveats),
            "limits": list(LIMITS),
            "signed": False,
        },
    }


def _table(work: Work) -> list[str]:
    if work.gate is None:
        return ["Nothing: the project declared no gate, or it was not run."]
    rows = [
        f"| {cell(each.command)} | {cell(each.ending)} | {each.duration_ms / 1000:.1f} s |"
        f" {each.size_bytes} | {each.sha256[:16] or '-'} |"
        for each in work.gate.commands
    ]
    return ["| command | outcome | took | bytes printed | sha256 |", "|---|---|---|---|---|", *rows]


def _command(each: CommandReport) -> dict[str, Any]:
    return {
        "command": each.command,
        "outcome": str(each.outcome),
        "exitStatus": each.code,
        "reason": each.reason,
        "durationMs": each.duration_ms,
        "outputBytes": each.size_bytes,
        "outputSha256": each.sha256,
    }


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
