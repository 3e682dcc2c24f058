"""``devplane cancel``: end the running turn and keep the session."""

from __future__ import annotations

from devplane.cli.common import ask_daemon, json_option, print_json, resolved, verb
from devplane.cli.complete import run_argument

app = verb("devplane cancel r-4k2")


@app.command()
def cancel(run: str = run_argument(), as_json: bool = json_option()) -> None:
    """End the running turn; the session stays and can be talked to. Its open requests are cancelled."""
    from devplane.control import requests as r

    answer = ask_daemon(r.Cancel(resolved(run)))
    if as_json:
        print_json(answer)
    else:
        print(f"cancelling {answer['run']}" if answer["cancelled"] else f"{answer['run']} runs no turn")
