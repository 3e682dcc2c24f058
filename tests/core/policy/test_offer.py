"""Which rule would do for a call: narrow, readable, and never one for anything at all."""

from __future__ import annotations

import pytest

from devplane.core.permission import Call, Verdict
from devplane.core.policy import Policy, rule_file
from devplane.core.policy.offer import family, offers, runs_anything
from tests.core.policy.ordinary import PASSING, STOPPED

FAMILIES = {
    "npm run build -- --x": "Bash(npm run *)",
    "pytest tests/x -q": "Bash(pytest *)",
    "git status": "Bash(git status *)",
    "git commit -m 'it (works)'": "Bash(git commit *)",
    "npx tsc --noEmit": "Bash(npx tsc *)",
    "uv run pytest -q": "Bash(uv run pytest *)",
    "gh pr view 12": "Bash(gh pr view *)",
    "make test": "Bash(make test *)",
    "./scripts/check.sh --fast": "Bash(./scripts/check.sh *)",
    "CI=1 npm test": "Bash(npm test *)",
    "npm test 2>&1": "Bash(npm test *)",
    "grep 'a*' f": "Bash(grep *)",
}
NO_FAMILY = (
    *("python x.py", "python -m pytest", "node x.js", "bash -c ls", "sh x.sh", "uv run python x"),
    *("sudo ls", "env A=1 ls", "xargs ls", "timeout 5 ls", "nohup ls", "ssh host ls", "docker run x"),
    *("perl -e 1", "eval ls", "rm -rf build", "mv a b", "cp a b", "chmod +x a", "dd if=a of=b", "kill 1"),
    *("find . -name x", "export X=1", "cmake -P x", "coverage run x"),
    *("curl https://example.com", "wget x", "psql -c x", "kubectl get pods", "terraform plan"),
    *("git push", "git reset --hard", "git -C x status", "git config a b", "npm install x"),
    *("npm exec python x", "gh api x", "npm", "make -j4"),
    *("pip install x", "go run ./x", "cargo run", "cargo install x", "bun run x"),
    *("npm test && npm run lint", "npm test | tail", "npm test > out.txt", "(npm test)", "npm test &"),
    *("! npm test", "$X build", "echo $(ls)", "npm test\nls", 'npm "unterminated', "", "command:x"),
)
NOT_WRITABLE = (
    "ls *.py",
    "echo hi:*",
    "echo $X",
    "npm test # all",
    "npm test\nnpm run lint",
    "echo \x1b[2K",
    "CI=1 npm test",
    "echo " + "x" * 400,
    'npm "unterminated',
    "",
)


def bash(line: str) -> Call:
    return Call("Bash", line, "/repo")


def alone(rule: str) -> Policy:
    """A policy in which `rule` is all that there is."""
    rules = rule_file("/repo/devplane.toml", "/repo", auto_allow=[rule])
    return Policy([rules], home="/home/me", devplane_home="/home/me/.devplane", root="/repo")


@pytest.mark.parametrize(("line", "rule"), FAMILIES.items())
def test_a_command_belongs_to_the_family_of_its_subcommand_or_program(line: str, rule: str) -> None:
    assert family(bash(line)) == rule
    assert alone(rule).judge(bash(line)).verdict is Verdict.ALLOW


@pytest.mark.parametrize("line", NO_FAMILY)
def test_what_can_run_or_reach_anything_has_no_family(line: str) -> None:
    assert family(bash(line)) is None


@pytest.mark.parametrize("line", NOT_WRITABLE)
def test_a_line_that_no_rule_can_spell_has_no_exact_rule(line: str) -> None:
    assert offers(bash(line))[0] is None


@pytest.mark.parametrize(
    "line",
    ["npm test", "rm -rf build", "python x.py", "npm test && npm run lint", "npm test | tail -5",
     "git -C x status", "npm test > out.txt", "git commit -m 'it (works)'", 'git commit -m "say \\"hi\\""',
     "grep 'a*' f", "cat ~/x"],
)  # fmt: skip
def test_the_exact_rule_is_the_line_itself(line: str) -> None:
    exact = offers(bash(line))[0]
    assert exact == f"Bash({line})"
    assert alone(exact).judge(bash(line)).verdict is Verdict.ALLOW
    assert alone(exact).judge(bash(f"{line} --more")).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("line", [*PASSING, *STOPPED])
def test_an_exact_rule_allows_its_line_unless_something_built_in_forbids_it(line: str) -> None:
    exact = offers(bash(line))[0]
    if exact is not None:
        ruling = alone(exact).judge(bash(line))
        assert ruling.verdict is Verdict.ALLOW or ruling.builtin


def test_all_families_of_a_day_together_allow_nothing_of_what_must_be_stopped() -> None:
    families = sorted({found for line in PASSING if (found := family(bash(line))) is not None})
    assert len(families) > 50
    rules = rule_file("/repo/devplane.toml", "/repo", auto_allow=families)
    policy = Policy([rules], home="/home/me", devplane_home="/home/me/.devplane", root="/repo")
    dangerous = ("rm", "sudo", "curl", "wget", "ssh", "chmod", "kubectl", "docker", "python", "node", "dd")
    for line in STOPPED:
        if line.split(" ")[0] in dangerous:
            assert policy.judge(bash(line)).verdict is not Verdict.ALLOW, line


@pytest.mark.parametrize(
    ("path", "exact", "wide"),
    [
        ("/repo/src/x.py", "Edit(/src/x.py)", "Edit(/src/**)"),
        ("src/deep/x.py", "Edit(/src/deep/x.py)", "Edit(/src/deep/**)"),
        ("src/../lib/a b.py", "Edit(/lib/a b.py)", "Edit(/lib/**)"),
        ("x.py", "Edit(/x.py)", None),
        ("/etc/hosts", "Edit(//etc/hosts)", None),
        ("~/notes", "Edit(~/notes)", None),
        ("src/[id].tsx", None, None),
        ("src/a*b", None, None),
        ("src/a\nb", None, None),
        (".", None, None),
    ],
)
def test_a_file_is_spelt_from_the_folder_of_the_rules(path: str, exact: str | None, wide: str | None) -> None:
    call = Call("Edit", path, "/repo", (path,))
    assert offers(call, "/repo") == (exact, wide)
    for rule in (exact, wide):
        if rule is not None:
            assert alone(rule).judge(call).verdict is Verdict.ALLOW


def test_several_files_have_the_folder_that_holds_them_all() -> None:
    assert offers(Call("Edit", "", "/repo", ("src/a/x", "src/b/y")), "/repo") == (None, "Edit(/src/**)")
    assert offers(Call("Edit", "", "/repo", ("src/x", "lib/y")), "/repo") == (None, None)
    assert offers(Call("Read", "", "/repo", ()), "/repo") == (None, None)


def test_without_a_folder_of_rules_a_file_has_no_family() -> None:
    assert offers(Call("Read", "", "/repo", ("src/x",))) == ("Read(//repo/src/x)", None)


def test_other_tools_are_named_by_what_rules_can_say_of_them() -> None:
    page = "WebFetch(domain:example.com)"
    assert offers(Call("WebFetch", "https://me@Example.com:8080/x?y", "/repo")) == (page, page)
    assert offers(Call("WebFetch", "https://exa\\mple.com", "/repo")) == (None, None)
    assert offers(Call("mcp__github__create_issue", "", "/repo")) == ("mcp__github__create_issue",) * 2
    assert offers(Call("mcp__a b", "", "/repo")) == (None, None)
    assert offers(Call("switch_mode", "yolo", "/repo")) == (None, None)
    assert offers(Call("", "", "/repo")) == (None, None)


def test_programs_that_run_what_they_are_given_are_known() -> None:
    for name in ("bash", "python3.12", "/usr/bin/node", "sudo", "env", "npx", "ssh", "docker", "Deno"):
        assert runs_anything(name), name
    for name in ("npm", "git", "pytest", "ls", "cargo", "unheard-of"):
        assert not runs_anything(name), name
