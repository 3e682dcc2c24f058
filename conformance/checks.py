"""What every pinned agent must do when Devplane drives it. Each check is a claim; its failure is one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from conformance import rules
from conformance import script as play
from conformance.bench import Bench, CheckFailed, expect
from conformance.cli import CommandFailed
from devplane.agents.catalog import built_in_agents

COMMAND = "touch made.txt"
REFUSED = "touch refused.txt"


Check = Callable[[Bench], None]


def reports_its_pinned_version(bench: Bench) -> None:
    pinned = built_in_agents()[bench.agent].expected_version
    bench.devplane.run("agents", "probe", bench.agent)
    seen = [each for each in bench.devplane.objects("agents") if each["id"] == bench.agent]
    version = (seen[0].get("seen") or {}).get("version")
    expect(version == pinned, f"it reports {version}, its pin is {pinned}")


def is_refused_where_nobody_trusts(bench: Bench) -> None:
    bench.devplane.run("dispatch", "--agent", bench.agent, "--cwd", str(bench.project), "hello", status=4)
    bench.devplane.run("trust", str(bench.project), "--yes")


def starts_in_its_ask_first_mode(bench: Bench) -> None:
    prompt = play.script(
        [
            play.thinking("Let me think about it.", pieces=1),
            play.text("I will make a file."),
            play.shell(COMMAND),
        ],
        [play.text("It is made.")],
    )
    answer = bench.devplane.objects("dispatch", "--agent", bench.agent, "--cwd", str(bench.project), prompt)
    bench.run = answer[0]["run"]
    bench.follower = bench.devplane.follow(bench.run)
    shown = bench.show()
    expect(shown["asks_first"] is True, f"in mode {shown['mode']!r} it may decide without asking")


def asks_before_a_command_and_runs_it_when_allowed(bench: Bench) -> None:
    asked = bench.follow().until_fact("PermissionAsked", "TurnEnded", "TurnFailed")
    expect("ask" in asked, f"it did not ask: {asked}")
    expect(asked["subject"] == COMMAND, f"the request is about {asked['subject']!r}")
    expect(not (bench.project / "made.txt").exists(), "the command ran before it was allowed")
    bench.devplane.run("decide", asked["ask"], "--decision", "allow")
    bench.follow().until_settled()
    expect((bench.project / "made.txt").exists(), "the allowed command did not run")


def keeps_thinking_and_answer_apart(bench: Bench) -> None:
    follower = bench.follow()
    expect("think about it" in follower.text("thought"), f"thoughts: {follower.text('thought')!r}")
    expect("I will make a file." in follower.text("agent"), f"text: {follower.text('agent')!r}")
    expect("think about it" not in follower.text("agent"), "a thought is shown as text")


def does_not_run_what_is_denied(bench: Bench) -> None:
    bench.say(play.script([play.text("Another."), play.shell(REFUSED)], [play.text("As you wish.")]))
    asked = bench.follow().until_fact("PermissionAsked", "TurnEnded", "TurnFailed")
    expect("ask" in asked, f"it did not ask: {asked}")
    bench.devplane.run("decide", bench.run, "--decision", "deny")
    bench.follow().until_settled()
    expect(not (bench.project / "refused.txt").exists(), "the denied command ran")


def remembers_the_first_turn(bench: Bench) -> None:
    last = bench.model_requests()[-1]["conversation"]
    said = " ".join(each["text"] for each in last)
    expect("I will make a file" in said, "the second turn's request does not carry the first")


def ends_a_turn_when_cancelled(bench: Bench) -> None:
    bench.say(play.script([play.text("A long story."), play.hang()]))
    bench.follow().until("text", lambda f: f.get("kind") == "text" and f["role"] == "agent")
    bench.devplane.run("cancel", bench.run)
    ended = bench.follow().until_fact("TurnEnded", "TurnFailed")
    expect(ended.get("stop_reason") == "cancelled", f"the turn ended as {ended}")
    bench.follow().until_settled()


def goes_on_after_a_cancel(bench: Bench) -> None:
    bench.say(play.script([play.text("Still here.")]))
    bench.follow().until_settled()
    expect("Still here." in bench.follow().text("agent"), f"text: {bench.follow().text('agent')!r}")


def records_every_decision(bench: Bench) -> None:
    shown = bench.show()
    expect(shown["turns"] == 9, f"{shown['turns']} turns are on record")
    expect(not shown["asks"], f"still open: {shown['asks']}")


def leaves_nothing_running(bench: Bench) -> None:
    bench.devplane.run("stop", bench.run)
    bench.follow().close()
    left = [pid for pid in _processes() if _environment(pid).get("DEVPLANE_RUN") == bench.run]
    expect(not left, f"still running: {left}")


def _processes() -> Iterator[int]:
    proc = Path("/proc")
    for each in proc.iterdir() if proc.is_dir() else ():
        if each.name.isdigit():
            yield int(each.name)


def _environment(pid: int) -> dict[str, str]:
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (each.partition(b"=") for each in raw.split(b"\0"))
    return {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, _, value in pairs}


CHECKS: tuple[Check, ...] = (
    reports_its_pinned_version,
    is_refused_where_nobody_trusts,
    starts_in_its_ask_first_mode,
    asks_before_a_command_and_runs_it_when_allowed,
    keeps_thinking_and_answer_apart,
    does_not_run_what_is_denied,
    remembers_the_first_turn,
    ends_a_turn_when_cancelled,
    goes_on_after_a_cancel,
    rules.a_rule_allows_a_command_without_a_person,
    rules.a_rule_denies_a_command_and_the_agent_goes_on,
    rules.what_no_rule_names_waits_for_a_person,
    rules.cannot_answer_for_a_person_from_its_shell,
    records_every_decision,
    leaves_nothing_running,
)
"""In the order of one conversation; a check that fails ends the agent's list."""


def name_of(check: Check) -> str:
    return check.__name__.replace("_", " ")


__all__ = ["CHECKS", "Bench", "CheckFailed", "CommandFailed", "name_of"]
