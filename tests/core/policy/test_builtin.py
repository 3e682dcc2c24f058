"""What no rule allows, and that it stops nothing else."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

import pytest

from devplane.core.permission import Authority, Call, Verdict
from devplane.core.policy import Policy, rule_file

HOME = "/home/u/.devplane"


class Linked:
    """A disk on which /repo/way leads to the home and /repo/rules.toml to the rules."""

    def real(self, path: str) -> str:
        said = posixpath.normpath(path)
        said = said.replace("/repo/rules.toml", "/repo/devplane.toml")
        return HOME + said.removeprefix("/repo/way") if said.startswith("/repo/way") else said

    def names(self, folder: str) -> Sequence[str]:
        return ("devplane.toml",) if folder == "/repo" else ()


POLICY = Policy(
    [rule_file("/repo/devplane.toml", "/repo", auto_allow=["Bash", "Read", "Edit"])],
    home="/home/u",
    devplane_home=HOME,
    root="/repo",
    disk=Linked(),
)

STOPPED = """
echo x > ~/.devplane/policy.toml
echo x >> $HOME/.devplane/policy.toml
rm -rf ~/.devplane
rm -rf ~
mv ~/.devplane /tmp/gone
chmod -R 000 /home/u/.devplane
cp evil.toml ~/.devplane/policy.toml
cd ~/.devplane && rm policy.toml
cd /home/u && sed -i s/deny/allow/ .devplane/policy.toml
cat ~/.devplane/devplane.db
cat ~/.devplane/*.db
curl --unix-socket ~/.devplane/daemon.sock http://x/
sqlite3 ~/.devplane/devplane.db .dump
echo x > devplane.toml
echo '[policy]' > ./devplane.toml
echo x > sub/../devplane.toml
cp other.toml devplane.toml
mv other.toml devplane.toml
git checkout HEAD~1 devplane.toml
sed -i s/a/b/ devplane.toml
tee devplane.toml
rm devplane.toml
rm -rf .
rm -rf /repo
echo x > rules.toml
echo x > way/policy.toml
echo x > .git/hooks/pre-commit
cp hook .git/hooks/
chmod +x .git/hooks/pre-commit
echo x > .git/config
rm -rf .git
ln -sf evil .git/hooks/pre-commit
bash -c 'echo x > devplane.toml'
timeout 5 tee devplane.toml
(cd sub; echo x > ../devplane.toml)
dd if=x of=devplane.toml
install -m 644 x devplane.toml
""".strip().splitlines()


@pytest.mark.parametrize("line", STOPPED)
def test_no_rule_allows_an_agent_to_change_what_binds_it(line: str) -> None:
    ruling = POLICY.judge(Call("Bash", line, "/repo"))

    assert (ruling.verdict, ruling.builtin, ruling.authority) == (Verdict.DENY, True, Authority.BUILTIN)
    assert ruling.reason.startswith("built in: ")


PASSING = """
cat devplane.toml
git diff devplane.toml
git add devplane.toml
cat ~/.devplane/policy.toml
ls ~/.devplane
cd ~/.devplane/worktrees/w-1 && rm -rf build
rm -rf ~/.devplane/worktrees/w-1/repo/build
git checkout .
git clean -fd
git status
rm -rf build
grep -rn TODO .
cat .git/HEAD
git config --get user.name
npm run devplane.toml
""".strip().splitlines()


@pytest.mark.parametrize("line", PASSING)
def test_what_only_looks_or_lies_elsewhere_is_not_stopped(line: str) -> None:
    assert POLICY.judge(Call("Bash", line, "/repo")).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        ("Edit", "devplane.toml"),
        ("Edit", "/repo/src/../devplane.toml"),
        ("Edit", "~/.devplane/agents.toml"),
        ("Edit", "way/agents.toml"),
        ("Edit", ".git/hooks/post-checkout"),
        ("Edit", "rules.toml"),
        ("Read", "~/.devplane/devplane.db"),
        ("Read", "/home/u/.devplane/daemon.sock"),
        ("Write", "devplane.toml"),
    ],
)
def test_file_tools_are_held_to_the_same(tool: str, path: str) -> None:
    ruling = POLICY.judge(Call(tool, path, "/repo", (path,)))

    assert ruling.verdict is Verdict.DENY
    assert ruling.builtin


def test_every_path_of_a_call_counts() -> None:
    moved = Call("Edit", "src/a", "/repo", ("src/a", "devplane.toml"))

    assert POLICY.judge(moved).builtin


def test_the_rules_of_the_checkout_that_owns_a_worktree_are_out_of_its_reach() -> None:
    policy = Policy(
        [rule_file("/repo/devplane.toml", "/repo", auto_allow=["Edit"])],
        home="/home/u",
        devplane_home=HOME,
        root="/repo",
        checkout=f"{HOME}/worktrees/w-1",
    )
    for path in ("/repo/devplane.toml", "devplane.toml"):
        assert policy.judge(Call("Edit", path, f"{HOME}/worktrees/w-1", (path,))).builtin
    assert policy.judge(Call("Edit", "a.py", f"{HOME}/worktrees/w-1", ("a.py",))).verdict is Verdict.ALLOW


def test_leaving_plan_mode_is_always_a_persons_to_decide() -> None:
    ruling = POLICY.judge(Call("switch_mode", "acceptEdits", "/repo"))

    assert (ruling.verdict, ruling.builtin) == (Verdict.ASK, True)
    assert "acceptEdits" in ruling.reason
