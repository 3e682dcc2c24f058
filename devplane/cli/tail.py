"""``devplane tail``: what a run says and does, from its history on."""

from __future__ import annotations

from collections import deque

import typer

from devplane.cli.common import json_option, reader, resolved, verb
from devplane.cli.complete import run_argument
from devplane.cli.stream import JsonPrinter, Printer, frame_of, printer

app = verb("devplane tail r-4k2 --thinking")


@app.command()
def tail(
    run: str = run_argument(),
    thinking: bool = typer.Option(False, "--thinking", help="Its thoughts too."),
    last: int = typer.Option(40, "--history", "-n", min=0, help="Entries from before; 0 shows none."),
    follow: bool = typer.Option(True, "--follow/--no-follow", help="Go on until the run ends or Ctrl-C."),
    as_json: bool = json_option(),
) -> None:
    """Show what a run said and did, and go on as it comes. Ctrl-C ends the watching, not the run."""
    run_id = resolved(run)
    show = printer(run_id, as_json=as_json, thinking=thinking)
    with reader() as store:
        row = store.run(run_id)
    if not follow or row is None or not row["live"]:
        _print_stored(run_id, last, show)
        return
    import anyio

    anyio.run(_follow, run_id, last, show)


def _print_stored(run: str, last: int, show: Printer | JsonPrinter) -> None:
    with reader() as store:
        frames = map(frame_of, store.transcript(run)) if last else iter(())
        for frame in deque(filter(show.shows, frames), maxlen=last):
            show.show(frame)
    if isinstance(show, Printer):
        show.finish()


async def _follow(run: str, last: int, show: Printer | JsonPrinter) -> None:
    import anyio

    from devplane.cli.following import goes_on, history, live
    from devplane.cli.keys import answer_by_key
    from devplane.errors import NoDaemon

    is_watching = False
    try:
        async with live(start=False) as connection:
            watched = await connection.watch(run)
            is_watching = True
            frames = history(run, watched) if last else iter(())
            for frame in deque(filter(show.shows, frames), maxlen=last):
                show.show(frame)
            if watched["live"]:
                with reader() as store:
                    show.caught_up(store.asks("open", run))
                with goes_on(run):
                    async with anyio.create_task_group() as tasks:
                        if isinstance(show, Printer):
                            tasks.start_soon(answer_by_key, show, connection.daemon)
                        async for frame in connection:
                            show.show(frame)
                            if frame["kind"] == "gone":
                                break
                        tasks.cancel_scope.cancel()
            if isinstance(show, Printer):
                show.finish()
    except NoDaemon:
        if is_watching:
            raise
        # It was live when it was last written; whatever held it is gone.
        _print_stored(run, last, show)
        if isinstance(show, Printer):
            show.line(f"no daemon is running: {run} was interrupted")
