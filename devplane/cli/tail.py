"""``devplane tail``: what a run says and does, from its history on."""

from __future__ import annotations

import typer

from devplane.cli.common import json_option, reader, run_argument, verb
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
    with reader() as store:
        run_id = store.resolve(run)
        row = store.run(run_id)
        show = printer(as_json=as_json, thinking=thinking)
        if not follow or row is None or not row["live"]:
            for entry in store.transcript(run_id, last=last) if last else ():
                show.show(frame_of(entry))
            if isinstance(show, Printer):
                show.line()
            return
    import anyio

    anyio.run(_follow, run_id, last, show, as_json)


async def _follow(run: str, last: int, show: Printer | JsonPrinter, as_json: bool) -> None:
    import anyio

    from devplane.cli.following import Outcome, answer_by_key, history, live
    from devplane.errors import NoDaemon

    outcome = Outcome(run, "")
    try:
        async with live(start=False) as connection:
            answer = await connection.watch(run)
            for frame in history(run, answer, last) if last else ():
                outcome.take(frame)
                show.show(frame)
            if not answer["live"]:
                return
            async with anyio.create_task_group() as tasks:
                if not as_json:
                    tasks.start_soon(answer_by_key, outcome, show, connection.daemon)
                async for frame in connection.frames():
                    outcome.take(frame)
                    show.show(frame)
                    if frame["kind"] == "gone":
                        break
                tasks.cancel_scope.cancel()
    except NoDaemon:
        # It was live when it was last written; whatever held it is gone.
        with reader() as store:
            for entry in store.transcript(run, last=last) if last else ():
                show.show(frame_of(entry))
        if isinstance(show, Printer):
            show.line(f"no daemon is running: {run} was interrupted")
