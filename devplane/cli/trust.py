"""``devplane trust``: see what a repository brings of its own, and say yes to running agents there."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from devplane.cli import render
from devplane.cli.common import ask_daemon, json_option, print_json, reader, verb
from devplane.errors import Refused, UsageError

app = verb("devplane trust . --dry-run")


@app.command()
def trust(
    path: Path = typer.Argument(Path(), help="A directory of the checkout."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what it brings; trust nothing."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
    forget: bool = typer.Option(False, "--forget", help="Take the trust back."),
    as_json: bool = json_option(),
) -> None:
    """Record that agents may run in a repository, after showing what it would run by itself.

    A worktree is covered by the trust in the checkout that owns it.
    """
    from devplane.control import requests as r
    from devplane.trust import findings
    from devplane.worktrees.checkout import trusted_root_of

    if not path.is_dir():
        raise UsageError(f"{path} is not a directory", hint="Name a directory of the checkout.")
    root = trusted_root_of(path)
    if forget:
        ask_daemon(r.Trust(str(root), trusted=False))
        if as_json:
            print_json({"root": str(root), "trusted": False})
        else:
            print(f"{render.home_path(str(root))} is not trusted any more")
        return
    found = findings(root)
    with reader() as store:
        is_trusted = any(row["root"] == str(root) for row in store.trusted())
    if not as_json:
        _print(root, found)
    if not dry_run and not is_trusted:
        if as_json and not yes:
            raise UsageError("--json asks nothing, so it needs --yes or --dry-run")
        if not yes:
            _confirm(root)
        ask_daemon(r.Trust(str(root)))
        is_trusted = True
    if as_json:
        listed = [
            {"kind": each.kind, "subject": each.subject, "detail": each.detail} for each in found.findings
        ]
        print_json({"root": str(root), "trusted": is_trusted, "findings": listed, "counts": found.counts})
    elif not dry_run:
        print(f"{render.home_path(str(root))} is trusted")


def _confirm(root: Path) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "trust needs a person to say yes, and there is no terminal",
            hint=f"Look at it with --dry-run, then: devplane trust {root} --yes",
        )
    print(f"Run agents in {render.home_path(str(root))}? [y/N] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        raise Refused("not trusted", hint="Nothing was changed.")


def _print(root: Path, found: object) -> None:
    from devplane.trust import Findings

    assert isinstance(found, Findings)
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items() if count)
    if not found.findings:
        print(
            f"{render.home_path(str(root))} brings nothing that runs by itself"
            + (f" ({counts})" if counts else "")
        )
        return
    print(f"{render.home_path(str(root))} brings of its own:")
    for each in found.findings:
        print(f"  {render.column(each.kind, 7, 'yellow')} {each.subject}")
        print(f"          {each.detail}")
    if counts:
        print(render.paint(f"  also: {counts}", "dim"))
