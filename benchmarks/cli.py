"""How long a person waits for a command, against a bare interpreter.

Prints the wall time of ``devplane --version``, ``ls`` and ``show`` as a multiple of
``python -c pass``, with ``import typer`` beside them.
Run: python benchmarks/cli.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_RATIO = 8.0
ROUNDS = 15


def wall_s(command: list[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        project = Path(root) / "project"
        project.mkdir()
        env = {**os.environ, "DEVPLANE_HOME": str(Path(root) / "home"), "DEVPLANE_DEMO_SPEED": "0"}
        program = [sys.executable, "-m", "devplane"]

        def devplane(*words: str) -> str:
            done = subprocess.run([*program, *words], env=env, capture_output=True, text=True, check=True)
            return done.stdout

        devplane("trust", str(project), "--yes")
        answer = devplane("dispatch", "--agent", "demo", "--cwd", str(project), "--wait", "--json", "quick")
        run = json.loads(answer.splitlines()[0])["run"]
        devplane("daemon", "stop")
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import typer": [sys.executable, "-c", "import typer"],
            "devplane --version": [*program, "--version"],
            "devplane ls": [*program, "ls", "--all"],
            "devplane show": [*program, "show", run],
        }
        # Interleaved, so that a slow moment of the machine meets all of them.
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(wall_s(command, env))
        medians = {name: statistics.median(each) for name, each in times.items()}
        bare = medians["python -c pass"]
        for name, median in medians.items():
            print(f"{name:<20} {median * 1000:7.1f} ms   x{median / bare:5.2f}")
        print(f"aim: under x{LIMIT_RATIO:g}")
        print(json.dumps({name: round(median / bare, 2) for name, median in medians.items()}))


if __name__ == "__main__":
    main()
