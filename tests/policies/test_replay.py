"""What today's rules make of what was asked before."""

from __future__ import annotations

from devplane.policies import replay as module
from devplane.policies.offering import Offer
from devplane.policies.replay import Replay, Replayed
from devplane.store.answers import AskedCalls
from tests.policies.record import Project, recorded


def replayed(project: Project, *record: AskedCalls) -> Replayed:
    return Replay(project.offering(), lambda run: str(project.folder)).over(lambda: record)


def rules(result: Replayed) -> list[tuple[str, int]]:
    return [(offer.rule, count) for offer, count in result.offers]


def test_requests_are_counted_by_what_would_come_of_them(project: Project) -> None:
    project.write(
        'never_auto = ["Bash(rm *)"]\nalways_ask = ["Bash(git push *)"]\nauto_allow = ["Bash(npm test *)"]'
    )
    lines = ("npm test", "npm test x", "rm x", "git push", "$X", "make")
    result = replayed(project, *map(project.asked, lines))
    assert result.requests == 6
    assert dict(result.verdicts) == {"allow": 2, "deny": 1, "ask": 1, "unresolved": 1, "undecided": 1}
    assert result.reach_you == 2


def test_what_would_go_otherwise_is_counted_by_how_it_went(project: Project) -> None:
    project.write('never_auto = ["Bash(rm *)"]\nauto_allow = ["Bash(npm test *)"]')
    result = replayed(
        project,
        project.asked("rm a", "allow"),
        project.asked("rm b", "allow_always"),
        project.asked("rm c", "deny"),
        project.asked("npm test", "deny"),
        project.asked("make", "allow"),
        project.asked("make", "deny"),
        project.asked("make", "allow", "rule"),
        project.asked("npm test", "allow", "rule"),
        project.asked("rm d", "withdrawn", "nobody"),
        project.asked("rm e", "deny", "timer"),
        project.asked("rm f"),
    )
    assert dict(result.changes) == {
        (("you", "allow"), "deny"): 2,
        (("you", "deny"), "deny"): 1,
        (("you", "deny"), "allow"): 1,
        (("a rule", "allow"), "ask"): 1,
    }


def test_a_request_has_the_strictest_of_its_readings(project: Project) -> None:
    project.write('never_auto = ["Bash(rm *)"]\nauto_allow = ["Bash(npm test *)"]')
    result = replayed(project, recorded(project.call("npm test"), project.call("rm x")))
    assert dict(result.verdicts) == {"deny": 1}


def test_a_rule_is_offered_when_it_would_have_spared_three_questions(project: Project) -> None:
    tests = [project.asked(f"npm test {each}", "allow") for each in "abcd"]
    status = [project.asked("git status", "allow") for _ in range(3)]
    twice = [project.asked("make x", "allow"), project.asked("make x", "allow")]
    result = replayed(project, *tests, *status, *twice)
    assert rules(result) == [("Bash(npm test *)", 4), ("Bash(git status)", 3)]
    assert {offer.file for offer, _ in result.offers} == {str(project.file)}


def test_an_offer_counts_only_what_it_would_really_answer(project: Project) -> None:
    project.write('always_ask = ["Bash(npm test slow)"]\nnever_auto = ["Bash(npm test bad)"]')
    lines = ["npm test a", "npm test b", "npm test slow", "npm test bad", "npm test c", "npm test > out"]
    assert rules(replayed(project, *map(project.asked, lines))) == [("Bash(npm test *)", 3)]


def test_what_a_rule_answered_interrupted_nobody(project: Project) -> None:
    lines = [project.asked(f"npm test {each}", "allow", "rule") for each in "abcd"]
    result = replayed(project, *lines)
    assert result.reach_you == 4
    assert rules(result) == []


def test_a_rule_that_would_allow_what_a_person_refused_is_not_offered(project: Project) -> None:
    lines = [project.asked(f"npm test {each}", "allow") for each in "abc"]
    assert rules(replayed(project, *lines, project.asked("npm test d", "deny"))) == []


def test_calls_that_no_exact_rule_can_spell_count_for_their_family(project: Project) -> None:
    lines = [project.asked(f"ls *.{each}", "allow") for each in ("py", "ts", "md")]
    assert rules(replayed(project, *lines)) == [("Bash(ls *)", 3)]


def test_at_most_ten_are_offered_the_best_first(project: Project) -> None:
    lines = [project.asked(f"make t{n}", "allow") for n in range(12) for _ in range(3 + n)]
    result = rules(replayed(project, *lines))
    assert result == [(f"Bash(make t{n})", 3 + n) for n in range(11, 1, -1)]


def test_a_folder_that_is_gone_has_the_rules_of_the_machine(project: Project) -> None:
    project.write('auto_allow = ["Bash(npm test *)"]')
    project.home.policy_file.write_text('[policy]\nnever_auto = ["Bash(rm *)"]')
    record = [project.asked("npm test"), project.asked("rm x"), project.asked("npm test")]
    result = Replay(project.offering(), lambda run: "/nowhere").over(lambda: record)
    assert dict(result.verdicts) == {"undecided": 2, "deny": 1}
    assert list(result.gone) == ["/nowhere"]


def test_a_run_that_is_not_on_record_is_judged_where_its_call_was_made(project: Project) -> None:
    project.write('auto_allow = ["Bash(npm test *)"]')
    result = Replay(project.offering(), lambda run: None).over(lambda: [project.asked("npm test")])
    assert dict(result.verdicts) == {"allow": 1}


def test_requests_without_calls_are_counted_and_not_guessed(project: Project) -> None:
    result = replayed(project, recorded(verdict="allow"))
    assert (result.requests, result.without_calls) == (0, 1)


def test_a_long_record_costs_families_and_no_more(project: Project) -> None:
    replay = Replay(project.offering(), lambda run: str(project.folder))
    rare = [project.asked(f"./rare{n}", "allow") for n in range(module.KEPT_LIMIT)]
    common = [project.asked(f"npm test {n}", "allow") for n in range(5)]
    result = replay.over(lambda: [*common, *rare, *rare[:10]])
    assert result.offers == [(Offer("Bash(npm test *)", str(project.file)), 5)]
    assert len(replay._families) <= module.KEPT_LIMIT
