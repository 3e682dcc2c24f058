"""Round trips a second of permission requests that a rule answers, each with its committed decision.

The daemon runs with a policy that allows everything once. Prints the ratio to a bare loop that
makes the same round trips over two pipes without storing anything.
Run: python benchmarks/permission.py [--requests N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from devplane.control import client
from devplane.control import requests as r
from devplane.paths import Home
from devplane.store.queries import Reader

SERVE_ALLOWING = """
import os, sys
from devplane.core.permission import Ruling, Verdict
from devplane.daemon.main import serve
from devplane.paths import Home
serve(
    Home.find(os.environ),
    ready_fd=int(sys.argv[1]),
    judge_in=lambda cwd: lambda call: Ruling(Verdict.ALLOW, rule="Bash(*)", file="benchmark"),
)
"""

ECHO = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    outcome = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": outcome}
    sys.stdout.buffer.write((json.dumps(answer) + "\\n").encode())
    sys.stdout.buffer.flush()
"""


def bare_per_s(count: int) -> float:
    """Bare round trips a second: a line out, a line back, parsed on both sides."""
    process = subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    began = time.perf_counter()
    for number in range(count):
        request = {"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": {}}
        process.stdin.write((json.dumps(request) + "\n").encode())
        json.loads(process.stdout.readline())
    taken = time.perf_counter() - began
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return count / taken


async def measure(home: Home, folder: str, count: int) -> float:
    ended = anyio.Event()
    times: dict[str, float] = {}

    def on_frame(frame: dict[str, object]) -> None:
        if frame["kind"] == "fact" and frame["name"] in ("PermissionAsked", "TurnEnded"):
            times.setdefault(str(frame["name"]), time.perf_counter())
            if frame["name"] == "TurnEnded":
                ended.set()

    async with client.connect(home, start=False, on_frame=on_frame) as daemon:
        await daemon.ask(r.Trust(folder))
        environ = {**os.environ, "DEVPLANE_DEMO_SPEED": "0"}
        started = await daemon.ask(r.Dispatch("demo", folder, f"permissions {count}", environ=environ))
        await daemon.ask(r.Watch(started["run"]))
        await ended.wait()
        await daemon.ask(r.Stop(started["run"]))
        await daemon.ask(r.Shutdown())
    with Reader.open(home.database) as reader:
        rows = reader.decisions(started["run"])
    if len(rows) != count or any(row["authority"] != "rule" for row in rows):
        raise SystemExit(f"{len(rows)} decisions for {count} requests")
    return count / (times["TurnEnded"] - times["PermissionAsked"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    count = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as folder:
        home = Home(Path(root) / "home")
        home.prepare()
        reader, writer = os.pipe()
        daemon = subprocess.Popen(
            [sys.executable, "-c", SERVE_ALLOWING, str(writer)],
            pass_fds=(writer,),
            env={**os.environ, "DEVPLANE_HOME": str(home.root)},
        )
        os.close(writer)
        os.read(reader, 16)
        os.close(reader)
        per_s = anyio.run(measure, home, folder, count)
        daemon.wait()
    bare = bare_per_s(count)
    print(f"answered by a rule  {per_s:10,.0f} a second, each committed before the agent hears")
    print(f"bare round trips    {bare:10,.0f} a second")
    print(f"ratio               {per_s / bare:10.2f}")
    print(json.dumps({"per_s": round(per_s), "ratio": round(per_s / bare, 3)}))


if __name__ == "__main__":
    main()
