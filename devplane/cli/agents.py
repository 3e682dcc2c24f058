"""``devplane agents``: which agents there are, and what each is known to be."""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

import typer

from devplane.cli import render
from devplane.cli.common import environment, example, home, json_option, print_json, reader, verb
from devplane.cli.complete import complete_agent
from devplane.core.text import one_line, visible
from devplane.errors import Refused

if TYPE_CHECKING:
    from devplane.agents.catalog import Agent
    from devplane.control.requests import Probe
    from devplane.store.answers import SeenRow

AGENT_VARIABLE = "DEVPLANE_AGENT_OF"
"""Set in the environment of every agent (see `devplane.agents.tree`)."""

app = verb("devplane agents pin codex 2.6.1")


@app.callback(invoke_without_command=True)
def agents(context: typer.Context, as_json: bool = json_option()) -> None:
    """List the agents that can be driven, or change the list."""
    if context.invoked_subcommand is not None:
        return
    from devplane.agents.catalog import Catalog

    catalog = Catalog.load(home())
    with reader() as store:
        seen = {(each["agent"], each["command"]): each for each in store.agents_seen()}
    for agent in catalog.agents.values():
        about = _about(agent, seen.get((agent.id, shlex.join(agent.command))))
        if as_json:
            print_json(about)
        else:
            _print(about)
    for problem in catalog.problems:
        if as_json:
            print_json({"problem": problem})
        else:
            print(render.paint(f"! {visible(problem)}", "red"))


def _about(agent: Agent, seen: SeenRow | None) -> dict[str, Any]:
    warnings = []
    if not agent.pinned:
        warnings.append("not pinned: it may change from one start to the next")
    version = seen["version"] if seen else None
    if version and agent.expected_version and version != agent.expected_version:
        warnings.append(f"reported version {version}, its pin is {agent.expected_version}")
    return {
        "id": agent.id,
        "name": agent.name,
        "command": list(agent.command),
        "source": agent.source,
        "pinned": agent.pinned,
        "version": agent.expected_version or agent.version,
        "seen": {"version": version, "seen_ms": seen["seen_ms"], "advertised": _advertised(seen)}
        if seen
        else None,
        "warnings": warnings,
        "notes": agent.notes,
    }


def _advertised(seen: SeenRow) -> list[str]:
    """What it said in its handshake, in a few words."""
    capabilities = seen["payload"].get("agentCapabilities") or {}
    sessions = capabilities.get("sessionCapabilities") or {}
    words = ["load"] if capabilities.get("loadSession") is True else []
    words += [each for each in ("resume", "close", "list", "fork") if each in sessions]
    if seen["payload"].get("authMethods"):
        words.append("offers sign-in")
    return words


def _print(about: dict[str, Any]) -> None:
    print(f"{render.column(about['id'], 10, 'bold')} {one_line(about['name'], 60)}")
    source = about["source"] if about["source"] == "built in" else render.home_path(about["source"])
    print(f"           {one_line(shlex.join(about['command']), 200)}  {render.paint(f'({source})', 'dim')}")
    seen = about["seen"]
    if seen:
        day = time.strftime("%Y-%m-%d", time.localtime(seen["seen_ms"] / 1000))
        words = " · ".join(
            [one_line(seen["version"] or "version not reported", 60), *seen["advertised"], day]
        )
        print(render.paint(f"           {words}", "dim"))
    else:
        print(render.paint("           not probed", "dim"))
    for warning in about["warnings"]:
        print(render.paint(f"           ! {one_line(warning, 300)}", "yellow"))
    if about["notes"]:
        print(render.paint(f"           {one_line(about['notes'], 400)}", "dim"))


def _refuse_agents() -> None:
    """Say no to an agent that would change which programs are agents; it could still edit the file."""
    if AGENT_VARIABLE in os.environ:
        raise Refused("an agent may not change agents.toml", hint="Run this in a terminal of your own.")


@app.command(epilog=example("devplane agents add kimi 'npx -y @moonshot/kimi-acp@1.2.0' --name Kimi"))
def add(
    agent: str = typer.Argument(..., metavar="ID"),
    command: str = typer.Argument(..., help="The command that speaks ACP, in quotes."),
    name: str = typer.Option("", "--name", help="What it is called in lists."),
    as_json: bool = json_option(),
) -> None:
    """Add an agent to agents.toml."""
    from devplane.agents.agents_file import AgentsFile
    from devplane.agents.catalog import Catalog, built_in_agents

    _refuse_agents()
    home().prepare()
    AgentsFile(home().agents_file).add(agent, command, name or None)
    added = Catalog.load(home()).agents[agent]
    for warning in _about(added, None)["warnings"]:
        print(f"! {visible(warning)}", file=sys.stderr)
    if agent in built_in_agents():
        print(f"! it replaces the built-in command of {agent}", file=sys.stderr)
    _told(agent, f"added {agent}. See what it can do: devplane agents probe {agent}", as_json)


@app.command(epilog=example("devplane agents pin codex 2.6.1"))
def pin(
    agent: str = typer.Argument(..., metavar="ID", autocompletion=complete_agent),
    version: str = typer.Argument(..., help="An exact version, such as 1.2.3."),
    as_json: bool = json_option(),
) -> None:
    """Pin an agent to an exact version, in agents.toml."""
    from devplane.agents.agents_file import AgentsFile

    _refuse_agents()
    home().prepare()
    AgentsFile(home().agents_file).pin(agent, version)
    _told(agent, f"{agent} is pinned to {version}", as_json)


@app.command(epilog=example("devplane agents remove kimi"))
def remove(
    agent: str = typer.Argument(..., metavar="ID", autocompletion=complete_agent),
    as_json: bool = json_option(),
) -> None:
    """Remove an agent's table from agents.toml; a built-in agent is then as it was shipped."""
    from devplane.agents.agents_file import AgentsFile

    _refuse_agents()
    AgentsFile(home().agents_file).remove(agent)
    _told(agent, f"removed {agent}", as_json)


def _told(agent: str, what: str, as_json: bool) -> None:
    """Say what was done; as JSON, what the agent is now (``null`` when it is no more)."""
    if not as_json:
        print(visible(what))
        return
    from devplane.agents.catalog import Catalog

    now = Catalog.load(home()).agents.get(agent)
    print_json({"id": agent, "agent": _about(now, None) if now else None})


@app.command(epilog=example("devplane agents probe demo codex"))
def probe(
    agent: list[str] = typer.Argument(None, metavar="[ID]…", autocompletion=complete_agent),
    as_json: bool = json_option(),
) -> None:
    """Start agents, shake hands, record what they advertise, and end them. Without ids: all of them."""
    from devplane.agents.catalog import Catalog
    from devplane.cli.exits import told
    from devplane.control import requests as r
    from devplane.errors import DevplaneError

    failed = 0
    catalog = Catalog.load(home())
    for each in agent or list(catalog.agents):
        known = catalog.agents.get(each)
        try:
            answer = _probe(r.Probe(each, os.getcwd(), environment()), known)
        except DevplaneError as error:
            if len(agent or ()) == 1:
                raise
            failed = told(error)
            continue
        if as_json:
            print_json(answer)
        else:
            print(f"{answer['agent']}: {one_line(answer['name'], 60)} {one_line(answer['version'], 60)}")
    if failed:
        raise typer.Exit(failed)


def _probe(request: Probe, agent: Agent | None) -> dict[str, Any]:
    """Ask the daemon to probe one agent; say on standard error what takes so long."""
    import anyio

    from devplane.cli.progress import starting
    from devplane.control import client

    async def ask() -> dict[str, Any]:
        name = agent.name if agent is not None else request.agent
        async with (
            client.connect(home()) as daemon,
            starting(name, fetches=agent is not None and agent.fetches),
        ):
            return await daemon.ask(request)

    return anyio.run(ask)
