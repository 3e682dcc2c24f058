"""What several verbs need: the home, the store, the daemon, and options that mean the same everywhere."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from devplane.errors import UsageError
from devplane.paths import Home

if TYPE_CHECKING:
    from devplane.policies.live import Policies
    from devplane.store.queries import Reader


def home() -> Home:
    return Home.find(os.environ)


def reader() -> Reader:
    """Open the home's store to read; an empty one when there is none yet."""
    from devplane.store.queries import Reader

    return Reader.open(home().database)


def policies() -> Policies:
    """Return the policies of the home, with the trust that is on record now."""
    from devplane.policies.live import Policies

    with reader() as store:
        trusted = frozenset(row["root"] for row in store.trusted())
    return Policies(home(), is_trusted=trusted.__contains__)


def folder(path: Path | None) -> str:
    """Return the absolute path of the folder that `path` means; without one, of the current.

    Raises:
        UsageError: It is no folder.
    """
    if path is not None and not path.is_dir():
        raise UsageError(f"{path} is not a directory", hint="Name the directory that the call comes from.")
    return os.path.abspath(path or Path.cwd())


def resolved(run: str) -> str:
    """Return the id of the run that `run` means.

    Asked before a daemon is: a typo must not start one.

    Raises:
        NotFound: No run is meant, or several are.
    """
    with reader() as store:
        return store.resolve(run)


def has_daemon() -> bool:
    """Whether somebody listens on the home's control socket."""
    import socket

    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(home().socket()))
        except OSError:
            return False
    return True


def ask_daemon(request: Any, *, start: bool = True, any_version: bool = False) -> dict[str, Any]:
    """Send one request to the daemon, started first if need be, and return its answer."""
    import anyio

    from devplane.control import client

    async def ask() -> dict[str, Any]:
        async with client.connect(home(), start=start, any_version=any_version) as daemon:
            return await daemon.ask(request)

    return anyio.run(ask)


def text_of(words: list[str]) -> str:
    """Return the words of a prompt as one text; a lone ``-`` is all of standard input."""
    if words[0] == "-" and len(words) > 1:
        raise UsageError("- reads the prompt from standard input, and takes no words beside it")
    text = " ".join(words)
    if text == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    # A word that is no UTF-8 would get no further than here: it cannot be sent as JSON text.
    return text.encode("utf-8", "replace").decode()


def environment() -> dict[str, str]:
    """Return the caller's environment, without what is no UTF-8 and so cannot be sent."""
    kept = {}
    for name, value in os.environ.items():
        try:
            (name + value).encode()
        except UnicodeEncodeError:
            continue
        kept[name] = value
    return kept


def json_option() -> Any:
    return typer.Option(False, "--json", help="One JSON object, or one a line.")


def print_json(value: Any) -> None:
    print(json.dumps(value), flush=True)


def example(line: str) -> str:
    """Return the end of a verb's help."""
    return f"\b\nExample: {line}"


def verb(line: str) -> typer.Typer:
    """Return the app of one verb; `line` is the example that ends its help."""
    return typer.Typer(
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        epilog=example(line),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
