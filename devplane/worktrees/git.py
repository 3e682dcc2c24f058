"""Running git: what it may start, how long it may take, and what it says when it fails.

An agent can write in its worktree, and what it finds a way to put into the repository's
configuration names programs that git would start in our place. So git runs no file system
monitor, nothing that asks a person, and, unless a caller says that the repository's own hooks
are meant to run, no hook, pager, signature check or transport either. `filters_off` adds the
filters that the repository defines.

Everything here blocks; the daemon calls it in a worker thread.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from devplane import children
from devplane.core.text import clipped, visible
from devplane.errors import DevplaneError

LIMIT_S = 300.0
"""How long one command may take: a checkout of a large repository does not come near it."""
TERM_GRACE_S = 2.0
"""How long git may take to put its lock files away once it was told to end."""
OUTPUT_LIMIT_BYTES = 64 << 20
LAST_LINES = 6
SAID_LIMIT_CHARS = 600
_PAUSE_S = 0.0005
_LONGEST_PAUSE_S = 0.01

_running: set[int] = set()
_UNASKED = {
    "GIT_OPTIONAL_LOCKS": "0",  # a look must not take the lock that a person's commit needs
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    # GIT_SSH_COMMAND would put a person's core.sshCommand out of force. Without a terminal, which a
    # session of its own has not, and without a program to ask, ssh has no way to wait for anyone.
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "LC_ALL": "C",
}
# What is missing from a partial clone would be fetched, by a program that the configuration can name.
_NOTHING_FETCHED = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_ALWAYS = ("-c", "core.fsmonitor=false")
_INERT = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
    *("-c", "log.showSignature=false"),
    *("-c", "color.ui=false"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
)
_VERBS_OF_TWO_WORDS = frozenset({"worktree"})


class GitFailed(DevplaneError):
    """Git did not do what it was asked; the message ends in its own last words (case G-43).

    ``status`` is its exit status, negative for a signal; ``None`` when it did not end by itself
    or never started. What it was asked about is unknown then, and never "nothing" (lesson 186).
    """

    def __init__(self, message: str, *, status: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def git(
    cwd: Path,
    *args: str,
    runs_hooks: bool = False,
    settings: Mapping[str, str] | None = None,
    index: Path | None = None,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = LIMIT_S,
) -> str:
    """Run one git command in `cwd`, the top folder of a checkout, and return what it printed.

    `runs_hooks`: the repository is trusted and its hooks and transports are to run, as in a
    checkout that a person makes. `settings`: further configuration, by full name. `index`:
    another index file than the checkout's own. `environ`: this process's when ``None``; its
    ``GIT_*`` are never passed on. Bytes that are not UTF-8 come back as lone surrogates, so that
    names lead to their files (`os.fsencode`).

    Raises:
        GitFailed: It is missing, ended with anything but 0, or took longer than `timeout_s`.
    """
    env = _environment(cwd, os.environ if environ is None else environ, settings or {}, index, runs_hooks)
    status, out, said = _run(cwd, args, env, runs_hooks, timeout_s)
    if status:
        raise _failure(args, status, said)
    return out


def asked(cwd: Path, *args: str) -> str | None:
    """Return what git printed, without the line's end; ``None`` where its exit status 1 says no.

    Raises:
        GitFailed: As `git`, for any other status.
    """
    try:
        return git(cwd, *args).rstrip("\n")
    except GitFailed as error:
        if error.status == 1:
            return None
        raise


def fields(text: str) -> list[str]:
    """Return the entries of an answer to ``-z``."""
    return text.removesuffix("\0").split("\0") if text else []


def filters_off(cwd: Path) -> dict[str, str]:
    """Return settings that switch off each filter that the repository's own configuration defines.

    A person's own, such as Git LFS set up for all repositories, stay: they name programs that the
    person chose. Files under a filter that is off are compared as they are on disk, so that one
    which was touched can count as changed though it is not; never the other way round (lesson 179).
    """
    found = asked(cwd, "config", "--null", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
    entries = fields(found or "")
    foreign = {
        name.rpartition(".")[0]
        for scope, name in zip(entries[::2], entries[1::2], strict=True)
        if scope not in ("system", "global")
    }
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{name}.{key}": value for name in sorted(foreign) for key, value in off.items()}


def end_all() -> None:
    """Tell every git program that runs here to end: whoever waits for one gets `GitFailed`."""
    for pid in list(_running):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGTERM)


def _environment(
    cwd: Path, given: Mapping[str, str], settings: Mapping[str, str], index: Path | None, runs_hooks: bool
) -> dict[str, str]:
    env = {name: value for name, value in given.items() if not name.startswith("GIT_")}
    env |= _UNASKED
    # A checkout whose .git is gone must not be taken for part of one around it.
    env["GIT_CEILING_DIRECTORIES"] = str(Path(os.path.realpath(cwd)).parent)
    if not runs_hooks:
        env |= _NOTHING_FETCHED
    if index is not None:
        env["GIT_INDEX_FILE"] = str(index)
    # By variable, not by -c, which ends a name at its first "=".
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for at, (name, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return env


def _run(
    cwd: Path, args: Sequence[str], env: Mapping[str, str], runs_hooks: bool, timeout_s: float
) -> tuple[int, str, str]:
    command = [_program(env), *_ALWAYS, *(() if runs_hooks else _INERT), *args]
    # Files, not pipes: what a hook leaves running would hold a pipe open for ever (G-31).
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        with children.spawning():
            try:
                process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=said,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                at = f" in {cwd}" if not os.path.isdir(cwd) else ""
                raise GitFailed(f"{_verb(args)} cannot run{at}: {reason}") from error
            children.OWN.add(process.pid)
            _running.add(process.pid)
        try:
            status = _wait(process, timeout_s)
            if status is None:
                _end(process)
        except ChildProcessError:
            process.returncode = 0  # somebody reaped it; nothing is left to wait for
            raise GitFailed(f"{_verb(args)} ended, and how it ended cannot be told") from None
        except BaseException:
            _end(process)
            raise
        finally:
            _running.discard(process.pid)
            children.OWN.discard(process.pid)
        if status is None:
            raise GitFailed(
                f"{_verb(args)} took longer than {timeout_s:g} s and was ended{_and_said(_text(said))}",
                hint=f"Run it by hand in {cwd} to see what holds it up.",
            )
        return status, _output(args, out), _text(said)


def _program(env: Mapping[str, str]) -> str:
    """The git on PATH. A folder that PATH names by a relative path would be one of the repository."""
    folders = [each for each in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
    found = shutil.which("git", path=os.pathsep.join(folders))
    if found is None:
        raise GitFailed("there is no git on PATH", hint="Install git, or set PATH so that it is found.")
    return found


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Return the exit status, or ``None`` when time is up.

    Raises:
        ChildProcessError: Another part of this process took the status. `Popen.wait` would call that 0.
    """
    ends = time.monotonic() + timeout_s
    pause_s = _PAUSE_S
    while True:
        pid, status = os.waitpid(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        if time.monotonic() >= ends:
            return None
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started, with a moment for it to put its lock files away."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError, ChildProcessError):
        os.killpg(process.pid, signal.SIGTERM)
        _wait(process, TERM_GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        if process.returncode is None:
            _wait(process, TERM_GRACE_S)
    if process.returncode is None:
        process.returncode = -signal.SIGKILL


def _output(args: Sequence[str], out: IO[bytes]) -> str:
    out.seek(0)
    data = out.read(OUTPUT_LIMIT_BYTES + 1)
    if len(data) > OUTPUT_LIMIT_BYTES:
        raise GitFailed(f"{_verb(args)} printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB")
    return os.fsdecode(data)


def _text(said: IO[bytes]) -> str:
    """The last of what it said: 64 KiB hold every message of git's own."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - (1 << 16)))
    return said.read().decode(errors="replace")


def _failure(args: Sequence[str], status: int, said: str) -> GitFailed:
    words = _last_words(said)
    if status < 0:
        how = f"was ended by {_signal(status)}"
    elif words:
        return GitFailed(f"{_verb(args)}: {words}", status=status)
    else:
        how = f"ended with status {status} and said nothing"
    return GitFailed(f"{_verb(args)} {how}{_and_said(said)}", status=status)


def _signal(status: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def _and_said(said: str) -> str:
    words = _last_words(said)
    return f"; it said: {words}" if words else ""


def _last_words(said: str) -> str:
    """Git's message as one line: from its first ``fatal:`` or ``error:`` on, else its last lines."""
    lines = [line.strip() for line in visible(said).replace("␍", "\n").split("\n")]
    lines = [line for line in lines if line and not line.startswith("hint:")]
    first = next((at for at, line in enumerate(lines) if line.startswith(("fatal:", "error:"))), None)
    lines = lines[-LAST_LINES:] if first is None else lines[first:][:LAST_LINES]
    return clipped(" ".join(lines), SAID_LIMIT_CHARS)


def _verb(args: Sequence[str]) -> str:
    return "git " + " ".join(args[: 2 if args[0] in _VERBS_OF_TWO_WORDS else 1])
