"""Drive the pinned agents through Devplane, offline, against a scripted model.

``python -m conformance [AGENT...]``; without a name, all of them. Exit status 1 when a check fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conformance.checks import CHECKS, Bench, CheckFailed, CommandFailed, name_of
from conformance.cli import Devplane
from conformance.model_stub import serving
from conformance.setups import AGENTS, NotInstalled, overlay, setup


def main(words: list[str]) -> int:
    """Run the checks and print a line for each; return the exit status."""
    agents = words or list(AGENTS)
    unknown = [each for each in agents if each not in AGENTS]
    if unknown:
        print(f"unknown agent {unknown[0]!r}; there are: {', '.join(AGENTS)}", file=sys.stderr)
        return 2
    passed = failed = skipped = 0
    for agent in agents:
        counts = _drive(agent)
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def _drive(agent: str) -> tuple[int, int, int]:
    """Return how many checks passed, failed, and were not reached."""
    print(f"\n{agent}", flush=True)
    with tempfile.TemporaryDirectory(prefix="devplane-conformance-") as folder:
        root = Path(folder)
        project = root / "project"
        project.mkdir()
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        (project / "README.md").write_text("# A project\n", encoding="utf-8")
        stub_log = root / "model.jsonl"
        with serving(port=0, log=stub_log) as server:
            try:
                prepared = setup(agent, server.url)
            except NotInstalled as error:
                print(f"  fail  {error}")
                return 0, 1, len(CHECKS) - 1
            environment = prepared.prepare(root / "home")
            devplane = Devplane(root / "devplane", environment)
            devplane.home.mkdir(mode=0o700)
            (devplane.home / "agents.toml").write_text(overlay(prepared), encoding="utf-8")
            bench = Bench(agent, devplane, project, stub_log)
            try:
                return _check(bench)
            finally:
                if bench.follower is not None:
                    bench.follower.close()
                devplane.run("daemon", "stop")


def _check(bench: Bench) -> tuple[int, int, int]:
    for done, check in enumerate(CHECKS):
        began = time.monotonic()
        try:
            check(bench)
        except (CheckFailed, CommandFailed) as error:
            print(f"  fail  {name_of(check)}: {error}", flush=True)
            return done, 1, len(CHECKS) - done - 1
        print(f"  pass  {name_of(check)}  ({time.monotonic() - began:.1f} s)", flush=True)
    return len(CHECKS), 0, 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
