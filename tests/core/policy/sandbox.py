"""A folder where bash finds only programs that record their own name and arguments.

What a command line really runs is shown here and not argued: the dangerous programs are
stand-ins, the harmless ones are the machine's, and ``PATH`` holds nothing else. Lines that
leave ``PATH`` are refused.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

BASH = shutil.which("bash") or ""
SECRET = "hunter2"
LAID_OUT = {
    ".env": f"TOKEN={SECRET}\n",
    ".github/workflows/ci.yml": "name: ci\n",
    "build/keep": "",
    "src/app.py": "",
    "x.txt": "one\ntwo\n",
}
"""The files that a fresh working folder holds, and their content."""
REAL = (
    *("awk", "base64", "bash", "cat", "chrt", "comm", "cp", "csplit", "cut", "date", "diff", "echo", "env"),
    *("find", "flock", "fold", "git", "grep", "head", "iconv", "install", "ionice", "ln", "ls", "make"),
    *(
        "mkdir",
        "mktemp",
        "mv",
        "nice",
        "nl",
        "nohup",
        "node",
        "od",
        "paste",
        "patch",
        "perl",
        "prlimit",
        "pwd",
    ),
    *("rev", "ruby", "script", "sed", "seq", "setarch", "setsid", "sh", "shuf", "sleep", "sort", "split"),
    *(
        "stdbuf",
        "tac",
        "tail",
        "tar",
        "taskset",
        "tee",
        "timeout",
        "touch",
        "tr",
        "true",
        "truncate",
        "uniq",
        "vim",
    ),
    *("wc", "which", "xargs", "yes"),
)
"""Programs a spelling may start for real: none of them harms a folder made for the test."""
FAKED_ALWAYS = ("chmod", "curl", "dd", "docker", "npm", "rm", "ssh", "sudo")
LEAVES_PATH = re.compile(
    r"(?<![\w.])/(usr|s?bin|etc|opt)\b|\benv\s+(-[a-zA-Z]*i|-\s|--ignore)|\bcommand\s+-\w*p|\bexec\s+-\w*c|"
    r"\b(bash|sh)\s+(-\w*l|--login)|\bunset\s+PATH|\bPATH=(?!\.:\$PATH)"
)
TIMEOUT_S = 10.0
SEPARATOR = "\x1f"


class Sandbox:
    """One folder of programs, and a working folder that is fresh for every line."""

    def __init__(self, root: Path, fakes: Iterable[str] = (), *, real: Iterable[str] = REAL) -> None:
        self.root = root
        self.bin, self.home = root / "bin", root / "home"
        self.work = root / "tree" / "repo"
        self.log = root / "ran"
        self.bin.mkdir(parents=True)
        self.home.mkdir()
        faked = {*FAKED_ALWAYS, *fakes}
        for name in faked:
            self._fake(name)
        for name in real:
            found = shutil.which(name)
            if found and name not in faked:
                (self.bin / name).symlink_to(os.path.realpath(found))
        (self.bin / "python3").symlink_to(os.path.realpath(sys.executable))
        self.fresh()

    def _fake(self, name: str) -> None:
        """Make a program that records its baked-in name, whatever it is started as."""
        program = self.bin / name
        program.write_text(
            "#!/bin/sh\n"
            f"{{ printf '%s' '{name}'; [ $# = 0 ] || printf '\\037%s' \"$@\"\n"
            f"printf '\\n'; }} >>'{self.log}'\n"
        )
        program.chmod(0o755)

    def fresh(self, folders: int = 0) -> None:
        """Forget what ran, and lay out the working folder anew, and as many more beside it: 1, 2, …"""
        shutil.rmtree(self.work.parent, ignore_errors=True)
        for folder in (self.work, *(self.work.parent / str(number) for number in range(1, folders + 1))):
            for path, text in LAID_OUT.items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        self.log.write_text("")

    def has(self, line: str) -> bool:
        """Whether the machine has every real program whose name stands in `line`."""
        words = set(re.findall(r"[\w.-]+", line))
        return all((self.bin / name).exists() for name in REAL if name in words)

    def run(self, line: str, *args: str, timeout_s: float = TIMEOUT_S) -> str:
        """Run `line` in bash with no input, and return what it printed on either stream.

        Returns when everything it started has let go of its output.

        Raises:
            ValueError: the line could reach a program outside of the sandbox.
            subprocess.TimeoutExpired: after `timeout_s`; its process group is ended.
        """
        if LEAVES_PATH.search(line):
            raise ValueError(f"leaves the sandbox: {line!r}")
        env = {
            "PATH": str(self.bin),
            "HOME": str(self.home),
            "SHELL": str(self.bin / "sh"),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CEILING_DIRECTORIES": str(self.root),
        }
        with subprocess.Popen(
            [BASH, "--norc", "-c", line, "bash", *args],
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as child:
            try:
                printed, _ = child.communicate(timeout=timeout_s)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        return printed.decode(errors="replace")

    def ran(self) -> list[Sequence[str]]:
        """The stand-ins that ran since `fresh`, each as its words."""
        return [record.split(SEPARATOR) for record in self.log.read_text(errors="replace").splitlines()]
