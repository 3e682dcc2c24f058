"""Checks that rules decide what an agent asks, and that no agent decides for itself."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from conformance import script as play
from conformance.bench import Bench, expect

RULES = """\
[policy]
never_auto = [
  "Bash(touch denied.txt)",
]
auto_allow = [
  "Bash(touch ruled.txt)",
  "Bash(sh answer.sh)",
]
"""
ANSWERS = """\
{program} decide {ask} --decision allow > plain.txt 2>&1; echo "status $?" >> plain.txt
env -i DEVPLANE_HOME={home} {program} decide {ask} --decision allow > bare.txt 2>&1
echo "status $?" >> bare.txt
(setsid sh -c 'env -i DEVPLANE_HOME={home} {program} decide {ask} --decision allow > detached.part 2>&1
  echo "status $?" >> detached.part; mv detached.part detached.txt' &)
while [ ! -f detached.txt ]; do sleep 0.1; done
"""


def a_rule_allows_a_command_without_a_person(bench: Bench) -> None:
    (bench.project / "devplane.toml").write_text(RULES, encoding="utf-8")
    bench.say(
        play.script([play.text("By the rules."), play.shell("touch ruled.txt")], [play.text("It is made.")])
    )
    bench.follow().until_settled()
    expect((bench.project / "ruled.txt").exists(), "the command that a rule allows did not run")
    expect_decided(bench, "allow", "Bash(touch ruled.txt)", line=6)


def a_rule_denies_a_command_and_the_agent_goes_on(bench: Bench) -> None:
    bench.say(
        play.script([play.text("Against them."), play.shell("touch denied.txt")], [play.text("So be it.")])
    )
    bench.follow().until_settled()
    expect(not (bench.project / "denied.txt").exists(), "the command that a rule denies ran")
    expect_decided(bench, "deny", "Bash(touch denied.txt)", line=3)
    bench.say(play.script([play.text("I go on.")]))
    bench.follow().until_settled()
    expect("I go on." in bench.follow().text("agent"), "it did not go on after a rule had denied")


def what_no_rule_names_waits_for_a_person(bench: Bench) -> None:
    say(bench, "touch third.txt", "It is made.")
    asked = bench.follow().until_fact("PermissionAsked", "TurnEnded", "TurnFailed")
    waiting = [each for each in bench.devplane.objects("inbox") if each["ask"] == asked.get("ask")]
    expect(waiting, f"it is not in the inbox: {asked}")
    offer = waiting[0]["offer"]
    expect(offer and offer["rule"] == "Bash(touch third.txt)", f"the inbox offers {offer}")
    bench.devplane.run("decide", asked["ask"], "--decision", "allow")
    bench.follow().until_settled()
    expect((bench.project / "third.txt").exists(), "the allowed command did not run")
    last = decided(bench)[-1]
    expect(last["authority"] == "person", f"the record says {last}")


def cannot_answer_for_a_person_from_its_shell(bench: Bench) -> None:
    other = bench.devplane.objects("dispatch", "--agent", "demo", "--cwd", str(bench.project), "hold")[0][
        "run"
    ]
    follower = bench.devplane.follow(other)
    try:
        ask = follower.until_fact("PermissionAsked")["ask"]
        program = shlex.join([sys.executable, "-m", "devplane"])
        text = ANSWERS.format(program=program, ask=ask, home=shlex.quote(str(bench.devplane.home)))
        (bench.project / "answer.sh").write_text(text, encoding="utf-8")
        say(bench, "sh answer.sh", "Oh.")
        bench.follow().until_settled()
        for way in ("plain", "bare", "detached"):
            file = bench.project / f"{way}.txt"
            said = file.read_text(encoding="utf-8") if file.exists() else "nothing: it never ran"
            expect("status 4" in said and "agent" in said, f"{way}: {said!r}")
        open_asks = [each["ask"] for each in bench.devplane.objects("inbox")]
        expect(ask in open_asks, "an agent answered a request")
    finally:
        bench.devplane.run("stop", other)
        follower.close()


def say(bench: Bench, command: str, then: str) -> None:
    """Have the agent run a command, and speak after it."""
    bench.say(play.script([play.text("Let me see."), play.shell(command)], [play.text(then)]))


def decided(bench: Bench) -> list[dict[str, Any]]:
    return bench.devplane.objects("audit", bench.run)


def expect_decided(bench: Bench, verdict: str, rule: str, line: int) -> None:
    last = decided(bench)[-1]
    said = (last["verdict"], last["authority"], last["rule"], last["file"], last["line"])
    wanted = (verdict, "rule", rule, str(bench.project / "devplane.toml"), line)
    expect(said == wanted, f"the record says {said}, not {wanted}")
