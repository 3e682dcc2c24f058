"""The one rule that is offered for a request, put to the rules in force before anybody sees it."""

from __future__ import annotations

from pathlib import Path

from devplane.core.permission import Call
from devplane.policies.offering import Families, Offer, origin_of
from tests.policies.record import Project


def offered(project: Project, line: str, *before: str, refused: str = "") -> str | None:
    """The rule that is offered for `line` after `before` were seen."""
    origin = origin_of(str(project.folder))
    families = Families()
    for each in before:
        families.note([project.call(each)], origin, was_refused=each == refused)
    offer = project.offering().offer([project.call(line)], origin, families)
    return offer.rule if offer is not None else None


def test_the_very_call_is_offered_until_three_of_its_family_were_seen(project: Project) -> None:
    assert offered(project, "npm test a") == "Bash(npm test a)"
    assert offered(project, "npm test a", "npm test a", "npm test b") == "Bash(npm test a)"
    assert offered(project, "npm test a", "npm test a", "npm test b", "npm test c") == "Bash(npm test *)"


def test_the_same_call_three_times_is_no_family(project: Project) -> None:
    assert offered(project, "npm test", "npm test", "npm test", "npm test") == "Bash(npm test)"


def test_a_family_in_which_somebody_said_no_is_not_offered(project: Project) -> None:
    seen = ("npm test a", "npm test b", "npm test c")
    assert offered(project, "npm test a", *seen, refused="npm test b") == "Bash(npm test a)"


def test_what_rules_deny_or_ask_about_has_no_offer(project: Project) -> None:
    project.write('never_auto = ["Bash(rm *)"]\nalways_ask = ["Bash(git push *)"]')
    assert offered(project, "rm -rf build") is None
    assert offered(project, "git push") is None
    assert offered(project, "npm test && rm x") is None
    assert offered(project, "$X") is None


def test_what_the_rules_allow_by_now_has_no_offer(project: Project) -> None:
    project.write('auto_allow = ["Bash(npm test *)"]')
    assert offered(project, "npm test") is None
    assert offered(project, "npm run x") == "Bash(npm run x)"


def test_nothing_is_offered_that_would_not_count(tmp_path: Path, project: Project) -> None:
    project.write('auto_allow = ["Bash(npm test"]')
    assert offered(project, "npm test") is None
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    assert offered(Project(nobody, is_trusted=False), "npm test") is None


def test_nothing_is_offered_for_what_is_built_in(project: Project) -> None:
    origin = origin_of(str(project.folder))
    for path in ("devplane.toml", str(project.home.root / "devplane.db")):
        call = Call("Edit", path, str(project.folder), (path,))
        assert project.offering().offer([call], origin, Families()) is None


def test_a_request_that_reads_as_several_calls_needs_one_rule_for_all(project: Project) -> None:
    origin = origin_of(str(project.folder))
    lines = [project.call("npm test"), project.call("npm run x")]
    assert project.offering().offer(lines, origin, Families()) is None
    project.write('auto_allow = ["Bash(npm run *)"]')
    offer = project.offering().offer(lines, origin, Families())
    assert offer == Offer("Bash(npm test)", str(project.file))


def test_a_file_is_offered_from_the_folder_of_the_rules_wherever_in_it_the_call_is_made(
    project: Project,
) -> None:
    below = project.folder / "src"
    for folder in (below, project.folder / ".git" / "objects", project.folder / ".git" / "refs"):
        folder.mkdir(parents=True)
    (project.folder / ".git" / "HEAD").write_text("ref: refs/heads/main")
    for cwd, path in ((project.folder, "src/x.py"), (below, "x.py"), (below, f"{below}/x.py")):
        call = Call("Edit", path, str(cwd), (path,))
        offer = project.offering().offer([call], origin_of(str(cwd)), Families())
        assert offer == Offer("Edit(/src/x.py)", str(project.file))


def test_a_link_out_of_the_project_is_not_offered_as_what_it_looks_like(
    tmp_path: Path, project: Project
) -> None:
    (project.folder / "src").mkdir()
    (project.folder / "src" / "out").symlink_to(tmp_path)
    call = Call("Edit", "src/out/x", str(project.folder), ("src/out/x",))
    assert project.offering().offer([call], origin_of(str(project.folder)), Families()) is None


def test_a_rule_for_a_folder_that_is_gone_belongs_to_the_machine(project: Project) -> None:
    origin = origin_of("/nowhere/at/all")
    offer = project.offering().offer([Call("Bash", "npm test", "/nowhere/at/all")], origin, Families())
    assert offer == Offer("Bash(npm test)", str(project.home.policy_file))
