"""What the daemon does for each request: one function a verb, named after it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from devplane import __version__, config
from devplane.agents import process as agent_process
from devplane.agents import tree
from devplane.agents.catalog import Catalog
from devplane.agents.link import Link, NotAnAgent, within
from devplane.agents.node import major, with_node
from devplane.control import requests as r
from devplane.core import events as e
from devplane.core.permission import Authority
from devplane.core.run import ImpossibleFact
from devplane.daemon import late, resuming, working
from devplane.daemon.asks import Ask, Chosen, choose, reply
from devplane.daemon.drive import Driver
from devplane.daemon.folders import existing_folder
from devplane.daemon.resuming import new_turn
from devplane.daemon.service import Service
from devplane.daemon.trusting import check_trust
from devplane.daemon.watch import Watcher
from devplane.errors import AgentFailed, DevplaneError, NotFound, Refused, UsageError, innermost
from devplane.store.rows import Batch, SeenRow, TrustRow
from devplane.transport import Connection, Handlers
from devplane.worktrees.checkout import root_of, trusted_root_of

PERSON = "person"
NAME_WORDS = 4
NAME_LIMIT_CHARS = 40
STOP_LIMIT_S = 30.0


async def hello(service: Service, request: r.Hello) -> dict[str, Any]:
    return {"version": __version__, "pid": os.getpid()}


async def dispatch(service: Service, request: r.Dispatch) -> dict[str, Any]:
    if not request.prompt.strip():
        raise UsageError("the prompt is empty")
    cwd = existing_folder(request.cwd)
    root = trusted_root_of(cwd)
    agent = Catalog.load(service.home).resolve(request.agent, cwd=cwd)
    check_trust(service, root)
    keeps = config.load(root_of(cwd)).keep_transcripts
    service.bounds.refuse_if_full(str(root), str(cwd))
    created = e.RunCreated(
        agent=agent.id,
        agent_name=agent.name,
        command=agent.command,
        cwd=str(cwd),
        project=str(root),
        name=name_of(request.prompt) if keeps else "",
        expected_version=agent.expected_version,
        keeps_transcript=keeps,
        by=PERSON,
    )
    driver = await service.begin(agent, created, request.environ, model=request.model, mode=request.mode)
    turn = new_turn()
    await driver.prompt(turn, request.prompt, PERSON)
    return {
        "run": driver.run.id,
        "turn": turn,
        "agent": agent.id,
        "agent_name": agent.name,
        "cwd": driver.run.cwd,
        "fetches": agent.fetches,
    }


async def resume(service: Service, request: r.Resume) -> dict[str, Any]:
    return await resuming.resume(service, request, PERSON)


async def say(service: Service, request: r.Say) -> dict[str, Any]:
    if not request.text.strip():
        raise UsageError("the text is empty")
    driver = service.driver(request.run)
    service.bounds.refuse_if_met(driver.run)
    is_busy = driver.run.turn is not None or bool(driver.run.queue)
    turn = new_turn()
    try:
        await driver.prompt(turn, request.text, PERSON, is_next=request.now)
        if request.now and driver.run.turn is not None and not driver.run.turn.is_cancelling:
            await driver.cancel(PERSON)
    except ImpossibleFact:
        raise Refused(f"{driver.run.id} is {driver.run.state}: nothing more can be said to it") from None
    waits_for = next(iter(driver.asking.open), None) if is_busy and not request.now else None
    return {"run": driver.run.id, "turn": turn, "queued": is_busy, "waits_for": waits_for}


async def cancel(service: Service, request: r.Cancel) -> dict[str, Any]:
    driver = service.driver(request.run)
    if driver.run.turn is None:
        return {"run": driver.run.id, "cancelled": False}
    await driver.cancel(PERSON)
    return {"run": driver.run.id, "cancelled": True}


async def decide(service: Service, request: r.Decide) -> dict[str, Any]:
    if left := late.left_open(service, request.ask):
        return await late.answer(service, left, choose(left, request.decision, request.option), PERSON)
    driver, ask = service.ask(request.ask)
    return await _answer(service, driver, ask, choose(ask, request.decision, request.option))


async def answer(service: Service, request: r.Reply) -> dict[str, Any]:
    if left := late.left_open(service, request.ask):
        return await late.answer(service, left, reply(left, request.action, request.content), PERSON)
    driver, ask = service.ask(request.ask)
    return await _answer(service, driver, ask, reply(ask, request.action, request.content))


async def _answer(service: Service, driver: Driver, ask: Ask, chosen: Chosen) -> dict[str, Any]:
    try:
        commit = driver.asking.answer(ask, chosen, Authority.PERSON, PERSON)
    except ImpossibleFact:
        raise service.closed(ask.id) from None
    await commit
    return {"run": driver.run.id, "ask": ask.id, "outcome": chosen.outcome, "option": chosen.option}


async def stop(service: Service, request: r.Stop) -> dict[str, Any]:
    try:
        driver = service.driver(request.run)
    except Refused:
        with service.reader() as reader:
            run_id = reader.resolve(request.run)
            row = reader.run(run_id)
        return {"run": run_id, "state": row["state"] if row else "gone", "was": "ended"}
    commit = driver.stop(PERSON)
    if commit is not None:
        await commit
    with anyio.move_on_after(STOP_LIMIT_S) as scope:
        await driver.ended.wait()
    if scope.cancelled_caught:
        raise AgentFailed(
            f"the agent of {driver.run.id} does not end", hint="devplane doctor lists its processes."
        )
    return {"run": driver.run.id, "state": driver.run.state, "was": "live"}


async def trust(service: Service, request: r.Trust) -> dict[str, Any]:
    root = trusted_root_of(Path(request.root))
    if request.trusted:
        row = TrustRow(str(root), service.board.clock_ms(), PERSON)
        await service.board.log.submit(Batch(trusted=(row,)))
        service.trusted.add(str(root))
    else:
        # What its file allows no longer counts from here on, also for runs that are on their way.
        service.trusted.discard(str(root))
        await service.board.log.submit(Batch(distrusted=(str(root),)))
    return {"root": str(root), "trusted": request.trusted}


async def probe(service: Service, request: r.Probe) -> dict[str, Any]:
    """Start, shake hands, record, end. No session is opened, so no trust is needed and no money is spent."""
    cwd = Path(request.cwd)
    agent = Catalog.load(service.home).resolve(request.agent, cwd=cwd)
    env = agent.environment(request.environ)
    command = agent.command
    if agent.node is not None:
        command = with_node(agent, await anyio.to_thread.run_sync(major)).command
    env[tree.HOME_VARIABLE] = str(service.home.root)
    env[tree.RUN_VARIABLE] = "probe"
    log = agent_process.AgentLog(None)
    limits = service.limits
    # Its own empty folder: nothing of a repository is read before anybody trusted it.
    folder = service.home.root / "probe"
    folder.mkdir(mode=0o700, exist_ok=True)
    died = ""
    introduced: e.AgentIntroduced | None = None
    raw: dict[str, Any] = {}
    try:
        async with agent_process.start(
            command, cwd=folder, env=env, log=log, eof_grace_s=agent.close_grace_s
        ) as running:
            connection = Connection(running.stream, label=agent.name, handlers=Handlers())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_quietly, connection.run)
                introduced, raw = await within(
                    "initialize",
                    agent.name,
                    limits.start_s,
                    lambda: agent.fetches,
                    limits.fetch_s,
                    Link(connection, agent.name).initialize(),
                )
                tasks.cancel_scope.cancel()
        died = running.describe_end()
    except BaseExceptionGroup as group:
        error = innermost(group)
        if isinstance(error, AgentFailed | NotAnAgent):
            raise error from None
        if isinstance(error, DevplaneError):
            words = log.last(3).replace("\n", " / ")
            told = f"; it wrote: {words}" if words else ""
            raise AgentFailed(f"{agent.name} did not shake hands: {error}{told}") from None
        raise
    if introduced is None:
        raise AgentFailed(f"{agent.name} did not shake hands: {died}")
    seen = SeenRow(
        agent.id, shlex.join(agent.command), introduced.version or None, service.board.clock_ms(), raw
    )
    await service.board.log.submit(Batch(seen=(seen,)))
    return {"agent": agent.id, "name": introduced.name, "version": introduced.version}


async def status(service: Service, request: r.Status) -> dict[str, Any]:
    return {
        "version": __version__,
        "pid": os.getpid(),
        "home": str(service.home.root),
        "runs": sorted(service.drivers),
        "notes": service.notes,
        "failed_writes": service.board.log.failed_batches,
    }


async def shutdown(service: Service, request: r.Shutdown) -> dict[str, Any]:
    runs = sorted(service.drivers)
    service.stopping.set()
    await service.interrupt_all()
    return {"interrupted": runs, "pid": os.getpid()}


async def watch(service: Service, request: r.Watch, follow: Callable[[Watcher], None]) -> dict[str, Any]:
    """Register a watcher, then write out what was said before it: nothing falls between the two."""
    with service.reader() as reader:
        run_id = request.run if request.run in service.board.entries else reader.resolve(request.run)
        entry = service.board.entries.get(run_id)
        if entry is None:
            row = reader.run(run_id)
            if row is None:
                raise NotFound(f"no run {run_id}")
            return {"run": run_id, "pos": -1, "open": 0, "state": row["state"], "live": False, "kept": True}
    service.board.spread(entry)
    pos, open_chars = entry.transcript.place
    watcher = Watcher(run_id)
    entry.watchers.append(watcher)
    follow(watcher)
    commit = service.board.flush(entry)
    if commit is not None:
        await commit
    else:
        await service.board.log.drain()
    run = entry.run
    return {
        "run": run_id,
        "pos": pos,
        "open": open_chars,
        "state": run.state,
        "live": True,
        "kept": run.keeps_transcript,
    }


def name_of(prompt: str) -> str:
    """A short name for a run, from the first words of its prompt."""
    words = re.findall(r"[\w]+", prompt.lower())[:NAME_WORDS]
    return "-".join(words)[:NAME_LIMIT_CHARS].strip("-_")


async def _quietly(run: Callable[[], Awaitable[None]]) -> None:
    try:
        await run()
    except DevplaneError:
        return


VERBS: dict[type, Callable[[Service, Any], Awaitable[dict[str, Any]]]] = {
    r.Hello: hello,
    r.Dispatch: dispatch,
    r.Resume: resume,
    r.HandOver: resuming.hand_over,
    r.Say: say,
    r.Cancel: cancel,
    r.Decide: decide,
    r.Reply: answer,
    r.Stop: stop,
    r.WorkStart: working.start,
    r.WorkNews: working.news,
    r.WorkVerify: working.verify,
    r.WorkResume: working.resume,
    r.WorkRetry: working.retry,
    r.WorkStop: working.stop,
    r.WorkFinish: working.finish,
    r.Trust: trust,
    r.Probe: probe,
    r.Status: status,
    r.Shutdown: shutdown,
}
