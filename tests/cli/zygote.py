"""A process that has everything loaded and becomes a command by forking: the program without its start.

Each command is a process of its own, with its own environment, folder and standard streams; only the
imports are shared. What is about starting, terminals or signals uses a fresh interpreter instead.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

TIMEOUT_S = 60
PRELOADED = (
    "anyio._backends._asyncio",
    "devplane.control.client",
    "devplane.policies.live",
    "typer.rich_utils",
)


class Zygote:
    """The parent's end."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TERM": "dumb"},
            cwd=Path(__file__).parents[2],
        )

    def run(self, words: list[str], stdin: str, cwd: Path, env: dict[str, str]) -> tuple[int, str, str]:
        """Run one command; return its status and what it printed.

        Raises:
            subprocess.TimeoutExpired: It took more than `TIMEOUT_S`.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            streams = [str(Path(folder) / name) for name in ("in", "out", "err")]
            Path(streams[0]).write_text(stdin)
            request = {"words": words, "cwd": str(cwd), "env": env, "streams": streams}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            status = json.loads(self._process.stdout.readline())
            out, err = (Path(stream).read_bytes().decode("utf-8") for stream in streams[1:])
        if status is None:
            raise subprocess.TimeoutExpired(["devplane", *words], TIMEOUT_S, out, err)
        return status, out, err


@lru_cache(maxsize=1)
def zygote() -> Zygote:
    """The one of this test process; it ends with it, at the end of its input."""
    return Zygote()


def main() -> None:
    from devplane.cli.app import VERBS

    for name in (*PRELOADED, *(f"devplane.cli.{verb}" for verb in VERBS.values())):
        importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        print(json.dumps(_status(child)), flush=True)


def _become(request: dict[str, object]) -> None:
    from devplane.__main__ import main as command

    status: object = 1
    try:
        os.chdir(str(request["cwd"]))
        os.environ.clear()
        os.environ.update(request["env"])  # type: ignore[call-overload]
        opened = [os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2]
        for number, (path, flags) in enumerate(zip(request["streams"], opened, strict=True)):  # type: ignore[call-overload]
            os.dup2(os.open(path, flags, 0o600), number)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.argv = ["devplane", *request["words"]]  # type: ignore[misc]
        signal.alarm(TIMEOUT_S)
        command()
        status = 0
    except SystemExit as ending:
        status = ending.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def _status(child: int) -> int | None:
    _, how = os.waitpid(child, 0)
    if os.WIFSIGNALED(how):
        number = os.WTERMSIG(how)
        return None if number == signal.SIGALRM else -number
    return os.WEXITSTATUS(how)


if __name__ == "__main__":
    main()
