"""``devplane work``: pieces of work, each in a worktree of its own, checked by the project's own commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import render
from devplane.cli.common import (
    ask_daemon,
    environment,
    example,
    json_option,
    print_json,
    reader,
    verb,
)
from devplane.cli.complete import complete_agent, complete_work
from devplane.core.text import one_line
from devplane.errors import DevplaneError, UsageError

if TYPE_CHECKING:
    from devplane.store.answers import WorkRow

app = verb('devplane work start --agent codex "fix the login test"')

IN_PLAY = ("preparing", "working", "checking")


class GateFailed(DevplaneError):
    """The gate did not pass."""


def work_argument() -> Any:
    return typer.Argument(
        ...,
        metavar="WORK",
        help="A work: its id, the start of it, its name, or its run.",
        autocompletion=complete_work,
        show_default=False,
    )


def resolved(work: str) -> str:
    """Return the id of the work that `work` means.

    Raises:
        NotFound: None is meant, or several are.
    """
    with reader() as store:
        return store.resolve_work(work)


@app.callback()
def work() -> None:
    """Have agents do pieces of work, each in a worktree of its own, and have what they did checked."""


@app.command(epilog=example('devplane work start --agent codex --spec notes/login.md "fix the login test"'))
def start(
    title: list[str] = typer.Argument(..., help="What is to be done, in a line."),
    agent: str = typer.Option(
        "claude", "--agent", "-a", help="An agent's id, or a command.", autocompletion=complete_agent
    ),
    cwd: Path = typer.Option(Path(), "--cwd", "-C", help="A directory of the repository."),
    issue: int = typer.Option(0, "--issue", min=0, help="An issue of the repository, by gh."),
    spec: Path | None = typer.Option(None, "--spec", help="A file that says what is wanted."),
    no_worktree: bool = typer.Option(False, "--no-worktree", help="Work in the checkout itself."),
    as_json: bool = json_option(),
) -> None:
    """Begin a work: its branch and worktree, the project's set-up, then the agent.

    Returns when the agent has begun. What it does is checked by [gates] of devplane.toml when it says
    that it is done.
    """
    from devplane.cli import material
    from devplane.control import requests as r

    if not cwd.is_dir():
        raise UsageError(f"{cwd} is not a directory", hint="Name an existing directory with --cwd.")
    request = r.WorkStart(
        " ".join(title).encode("utf-8", "replace").decode(),
        agent,
        os.path.abspath(cwd),
        material.spec_of(spec) if spec is not None else "",
        material.issue_of(issue, cwd) if issue else "",
        no_worktree,
        environment(),
    )
    answer = ask_daemon(request)
    if answer["left_out_count"]:
        named = ", ".join(one_line(each, 80) for each in answer["left_out"])
        more = answer["left_out_count"] - len(answer["left_out"])
        print(
            f"not in it, since they are not committed: {named}" + (f" and {more} more" if more else ""),
            file=sys.stderr,
        )
    _begun(answer, as_json)


def _begun(answer: dict[str, Any], as_json: bool) -> None:
    """Wait until the agent has begun, and say so."""
    from devplane.control import requests as r

    work_id = answer["work"]
    if not as_json:
        print(f"{work_id} in {render.home_path(answer['worktree'])}", file=sys.stderr)
    try:
        while answer["phase"] == "preparing":
            answer = ask_daemon(r.WorkNews(work_id, answer["pos"]), start=False)
    except KeyboardInterrupt:
        print(f"it goes on: devplane work show {work_id}", file=sys.stderr)
        raise
    if as_json:
        print_json({key: answer[key] for key in ("work", "phase", "state", "run", "branch", "worktree")})
    if answer["phase"] == "stopped":
        raise DevplaneError(f"{work_id} stopped ({answer['state']}): {answer['text']}", hint=answer["hint"])
    if not as_json:
        print(f"{answer['agent']} works on {work_id}: {answer['run']}")
        print(f"  devplane tail {answer['run']}    watch it", file=sys.stderr)
        print(f"  devplane work show {work_id}    what became of it", file=sys.stderr)


@app.command("list", epilog=example("devplane work list --all"))
def list_(
    everything: bool = typer.Option(False, "--all", "-a", help="Finished ones too."),
    as_json: bool = json_option(),
) -> None:
    """List the works that are not finished, the newest first."""
    with reader() as store:
        rows = store.works(all=everything)
    for row in rows:
        if as_json:
            print_json(summary(row))
        else:
            print(_line(row))
    if not rows and not as_json:
        print("no works" if everything else "no works (finished ones: devplane work list --all)")


def summary(row: WorkRow) -> dict[str, Any]:
    """What scripts read of one work."""
    snapshot = row["snapshot"]
    keys = (
        "title",
        "agent",
        "phase",
        "why",
        "text",
        "hint",
        "branch",
        "worktree",
        "runs",
        "checks",
        "rounds",
    )
    return {
        **{key: row[key] for key in ("id", "name", "project", "state", "open", "created_ms", "updated_ms")},
        **{key: snapshot.get(key) for key in keys},
    }


def _line(row: WorkRow) -> str:
    snapshot = row["snapshot"]
    colour = {"review": "green", "finished": "dim", "working": None}.get(row["state"], "yellow")
    cells = [
        render.column(row["id"], 12, "magenta"),
        render.column(row["state"], 12, None if row["state"] in IN_PLAY else colour),
        render.column(one_line(snapshot["agent"], 20), 8, "dim"),
        render.column(render.age(row["updated_ms"]), 3, "dim"),
    ]
    about = one_line(snapshot["title"], 200)
    if snapshot["phase"] == "stopped":
        about += f"  ({one_line(snapshot['text'], 200)})"
    return " ".join(cells) + " " + render.cut(about, render.columns_left(42), None)


@app.command(epilog=example("devplane work show w-4k2"))
def show(work: str = work_argument(), as_json: bool = json_option()) -> None:
    """Show what became of a work: its phase, its worktree as it is now, and the last gate."""
    from devplane.cli import work_show

    work_show.show(resolved(work), as_json=as_json)


@app.command(epilog=example("devplane work verify w-4k2"))
def verify(work: str = work_argument(), as_json: bool = json_option()) -> None:
    """Run the gate now. Its report is kept; nothing else changes. Exit status 1 when it did not pass."""
    from devplane.cli import work_show
    from devplane.control import requests as r

    answer = ask_daemon(r.WorkVerify(resolved(work), environment()))
    if as_json:
        print_json({"work": answer["work"], "passed": answer["passed"], "report": answer["report"]})
    else:
        for line in work_show.gate_lines(answer["report"]):
            print(line)
    if not answer["passed"]:
        raise GateFailed("the gate did not pass")
    if not as_json:
        print("the gate passed")


@app.command(epilog=example("devplane work resume w-4k2"))
def resume(
    work: str = work_argument(),
    as_before: bool = typer.Option(
        False, "--as-before", help="Also set what lets the agent do more without asking, as it was."
    ),
    as_json: bool = json_option(),
) -> None:
    """Take up a work that was interrupted, by its agent's own session.

    The agent goes on with the turn that was cut off; where it had said that it was done, the gate runs.
    """
    from devplane.control import requests as r

    answer = ask_daemon(r.WorkResume(resolved(work), as_before, environment()))
    _goes_on(answer, as_json)


@app.command(epilog=example("devplane work retry w-4k2"))
def retry(work: str = work_argument(), as_json: bool = json_option()) -> None:
    """Hand a work that stopped back to its agent, with the failures of the last gate.

    In its own session where that can be had, else in a new one that is told what it is about.
    """
    from devplane.control import requests as r

    answer = ask_daemon(r.WorkRetry(resolved(work), environment()))
    if answer.get("because"):
        print(f"a new session, since {one_line(answer['because'], 300)}", file=sys.stderr)
    _goes_on(answer, as_json)


def _goes_on(answer: dict[str, Any], as_json: bool) -> None:
    if answer["phase"] == "preparing":
        _begun(answer, as_json)
    elif as_json:
        print_json({key: answer[key] for key in ("work", "phase", "state", "run", "how")})
    else:
        print(f"{answer['work']} goes on: {answer['state']}, {answer['run']}")


@app.command(epilog=example("devplane work stop w-4k2"))
def stop(work: str = work_argument(), as_json: bool = json_option()) -> None:
    """End what is under way in a work: its gate or set-up, and its agent."""
    from devplane.control import requests as r

    answer = ask_daemon(r.WorkStop(resolved(work)))
    if as_json:
        print_json({key: answer[key] for key in ("work", "phase", "state")})
    else:
        print(f"{answer['work']} is {answer['state']}")


@app.command(epilog=example("devplane work finish w-4k2 --remove-worktree"))
def finish(
    work: str = work_argument(),
    remove: bool = typer.Option(False, "--remove-worktree", help="Remove its worktree too."),
    force: bool = typer.Option(False, "--force", help="Also what would be lost with it."),
    as_json: bool = json_option(),
) -> None:
    """Call a work finished, and record on what ground.

    Nothing that is not committed is removed without --force. A branch with commits that are neither
    pushed nor merged always stays.
    """
    from devplane.control import requests as r

    answer = ask_daemon(r.WorkFinish(resolved(work), remove, force))
    if as_json:
        print_json({key: answer[key] for key in ("work", "basis", "branch", "branch_stays", "given_up")})
        return
    print(f"{answer['work']} is finished: {answer['basis']}")
    if answer["branch_stays"]:
        print(f"its worktree is gone; its branch stays, with commits of its own: {answer['branch_stays']}")
    elif remove:
        print("its worktree and its branch are gone")
    for each in answer["given_up"]:
        print(f"given up: {one_line(each, 500)}", file=sys.stderr)


@app.command(epilog=example("devplane work export w-4k2 > certificate.md"))
def export(
    work: str = work_argument(),
    as_json: bool = typer.Option(False, "--json", help="An in-toto statement, as one JSON object."),
) -> None:
    """Write the done certificate: what was checked, on which commit, and how to check it again."""
    from devplane.cli import work_show

    work_show.export(resolved(work), as_json=as_json)
