"""Real repositories for tests: one is built a module and copied for each test."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from devplane.worktrees.making import Base, base_of, make
from devplane.worktrees.state import TreeState, state_of

BRANCH = "devplane/fix-it-456789"
IGNORED = "build/\n.env\n*.log\nsecret/\n"


def environment(home: Path) -> dict[str, str]:
    """Return what git sees here: nobody's configuration, and one author."""
    people = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file",
        **people,
    }


def git(where: Path, *arguments: str, may_fail: bool = False) -> str:
    """Run git as a person or an agent would, and return what it printed."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=where,
        env=environment(where.parent),
        check=False,
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    assert may_fail or done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(where: Path, subject: str, **files: str) -> str:
    """Write `files` (a name's ``_`` is a ``.``), commit them, and return the commit."""
    for name, content in files.items():
        (where / name.replace("_", ".")).write_text(content)
    git(where, "add", "-A")
    git(where, "commit", "-q", "--allow-empty", "-m", subject)
    return git(where, "rev-parse", "HEAD")


def build(folder: Path) -> Path:
    """Make a repository with one commit on `main` and return it."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text(IGNORED)
    (folder / "README").write_text("read me\n")
    commit(folder, "first", app_py="one\ntwo\nthree\n")
    return folder


def copy(template: Path, folder: Path) -> Path:
    shutil.copytree(template, folder, symlinks=True)
    return folder


def with_origin(root: Path) -> Path:
    """Give `root` a remote `origin` that has its commits, and return the remote."""
    origin = root.parent / f"{root.name}.git"
    git(root.parent, "init", "-q", "--bare", "-b", "main", str(origin))
    git(root, "remote", "add", "origin", str(origin))
    git(root, "push", "-q", "origin", "main")
    git(root, "remote", "set-head", "origin", "main")
    return origin


def isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Keep this machine's git configuration out; return the base folder, links resolved."""
    home = Path(os.path.realpath(home))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@dataclass(frozen=True)
class Work:
    """A worktree that was made, and where it began."""

    root: Path
    tree: Path
    base: Base

    def state(self, **more: object) -> TreeState:
        return state_of(self.tree, BRANCH, self.base.commit, self.root, **more)  # type: ignore[arg-type]


def start(root: Path, *, at: str = "wt/fix-it-456789") -> Work:
    base = base_of(root, None)
    tree = root.parent / at
    make(root, tree, BRANCH, base, os.environ)
    return Work(root, tree, base)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file below `folder` with its content, git's own included, locks and logs aside."""
    return {
        str(file.relative_to(folder)): b"-> " + os.readlink(os.fsencode(file))
        if file.is_symlink()
        else file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_symlink() or file.is_file()
    }


def killed_while_making(root: Path, tree: Path, *, in_hook: bool) -> None:
    """Have git killed in the middle of `worktree add`: at a file's checkout, or in the hook after it."""
    fifo = root.parent / "started"
    os.mkfifo(fifo)
    if in_hook:
        script(root / ".git" / "hooks" / "post-checkout", f"echo > {fifo}; exec sleep 60")
    else:
        (root / ".git" / "info" / "attributes").write_text("app.py filter=slow\n")
        git(root, "config", "filter.slow.smudge", f"echo > {fifo}; exec sleep 60")
    git(root, "branch", BRANCH)
    child = subprocess.Popen(
        ["git", "worktree", "add", str(tree), BRANCH],
        cwd=root,
        env=environment(root.parent),
        start_new_session=True,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    fifo.read_text()  # returns when it has got that far
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    fifo.unlink()
    if in_hook:
        (root / ".git" / "hooks" / "post-checkout").unlink()
    else:
        git(root, "config", "--remove-section", "filter.slow")
        (root / ".git" / "info" / "attributes").unlink()


def script(file: Path, body: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file
