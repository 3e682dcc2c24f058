"""``devplane stop``: end a run and its agent."""

from __future__ import annotations

from devplane.cli.common import ask_daemon, json_option, print_json, resolved, verb
from devplane.cli.complete import run_argument

app = verb("devplane stop r-4k2")


@app.command()
def stop(run: str = run_argument(), as_json: bool = json_option()) -> None:
    """End a run: cancel its turn, answer what it asks with cancelled, end all of its processes."""
    from devplane.control import requests as r

    answer = ask_daemon(r.Stop(resolved(run)))
    if as_json:
        print_json(answer)
    elif answer["was"] == "ended":
        print(f"{answer['run']} had ended already: {answer['state']}")
    else:
        print(f"{answer['run']} {answer['state']}")
