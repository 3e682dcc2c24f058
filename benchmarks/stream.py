"""How fast a streamed answer gets from an agent into the store, with one follower.

Prints chunks per second, the ratio to a bare loop that reads the same lines from a pipe
and parses them, the growth from 1,000 to 100,000 chunks, and the daemon's peak memory.
Run: python benchmarks/stream.py [--chunks N]
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
import psutil

from devplane.control import client
from devplane.control import requests as r
from devplane.paths import Home
from devplane.store.queries import Reader

LIMIT_RATIO = 0.5
LIMIT_MEMORY_MB = 120
BARE_RUNS = 5

BARE_LOOP = """
import json, sys, time
started = None
count = 0
for line in sys.stdin.buffer:
    message = json.loads(line)
    if started is None:
        started = time.perf_counter()
    count += 1
print(time.perf_counter() - started)
"""

LINE = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {
        "sessionId": "86f44366-3e7f-45dc-ba24-af35b0663a26",
        "update": {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "word after word ok. "},
            "messageId": "message-1",
        },
    },
}


def bare_s(count: int) -> float:
    """Seconds that a bare loop takes to read and parse `count` such lines from a pipe: the best of a few."""
    with tempfile.NamedTemporaryFile() as lines:
        lines.write((json.dumps(LINE) + "\n").encode() * count)
        lines.flush()
        best = 1e9
        for _ in range(BARE_RUNS):
            writer = subprocess.Popen(["cat", lines.name], stdout=subprocess.PIPE)
            loop = subprocess.run(
                [sys.executable, "-c", BARE_LOOP], stdin=writer.stdout, capture_output=True, check=True
            )
            writer.wait()
            best = min(best, float(loop.stdout))
    return best


async def stream_s(home: Home, folder: str, count: int) -> tuple[float, int]:
    """Seconds from prompt to turn end in the store, and the characters that the follower saw."""
    ended = anyio.Event()
    times: dict[str, float] = {}
    seen = 0

    def on_frame(frame: dict[str, object]) -> None:
        nonlocal seen
        if frame["kind"] == "text" and frame["role"] == "agent":
            seen += len(str(frame["text"]))
        elif frame["kind"] == "fact" and frame["name"] == "TurnStarted":
            times["first"] = time.perf_counter()
        elif frame["kind"] == "fact" and frame["name"] == "TurnEnded":
            times["last"] = time.perf_counter()
            ended.set()

    async with client.connect(home, on_frame=on_frame) as daemon:
        started = await daemon.ask(
            r.Dispatch("demo", folder, f"many {count}", environ={**os.environ, "DEVPLANE_DEMO_SPEED": "0"})
        )
        await daemon.ask(r.Watch(started["run"]))
        await ended.wait()
        await daemon.ask(r.Stop(started["run"]))
    with Reader.open(home.database) as reader:
        rows = [each for each in reader.transcript(started["run"]) if each["type"] == "fragment"]
        stored = sum(len(each["text"]) for each in rows if each["role"] == "agent")
    if stored < count * 15:
        raise SystemExit(f"only {stored} characters of {count} chunks are in the store")
    return times["last"] - times["first"], seen


def peak_memory_mb(pid: int) -> float:
    """The most memory that `pid` ever held (Linux), or holds now."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return float(psutil.Process(pid).memory_info().rss) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    chunks = parser.parse_args().chunks
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as folder:
        home = Home(Path(root) / "home")

        async def measure() -> None:
            async with client.connect(home) as daemon:
                await daemon.ask(r.Trust(folder))
                pid = (await daemon.ask(r.Status()))["pid"]
                bare = bare_s(chunks)
                taken = {}
                for count in (chunks // 100, chunks // 10, chunks):
                    taken[count], _ = min([await stream_s(home, folder, count) for _ in range(3)])
                peak_mb = peak_memory_mb(pid)
                await daemon.ask(r.Shutdown())
                for count, seconds in taken.items():
                    print(f"{count:>8,} chunks  {seconds * 1000:8.1f} ms  {count / seconds:>10,.0f} a second")
                ratio = bare / taken[chunks]
                growth = (taken[chunks] / chunks) / (taken[chunks // 10] / (chunks // 10))
                print(f"bare loop       {bare * 1000:8.1f} ms  {chunks / bare:>10,.0f} a second")
                print(f"ratio to bare   {ratio:8.2f}      (aim: at least {LIMIT_RATIO})")
                print(f"cost of a chunk, {chunks:,} against {chunks // 10:,}: x{growth:.2f} (aim: 1)")
                print(f"daemon's peak   {peak_mb:8.0f} MB   (aim: at most {LIMIT_MEMORY_MB})")
                print(
                    json.dumps(
                        {"ratio": round(ratio, 3), "growth": round(growth, 3), "peak_mb": round(peak_mb)}
                    )
                )

        anyio.run(measure)


if __name__ == "__main__":
    main()
