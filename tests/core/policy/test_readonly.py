"""A participant that may not write: what it still may do, and what it is told of the rest."""

from __future__ import annotations

import pytest

from devplane.core.permission import Call, Verdict
from devplane.core.policy import Policy, rule_file

POLICY = Policy(
    [rule_file("/repo/devplane.toml", "/repo", auto_allow=["Bash", "Read", "Edit", "WebFetch"])],
    home="/home/u",
    devplane_home="/home/u/.devplane",
    root="/repo",
    writes=False,
)

READS = """
ls -la src
cat a.py | head -20
grep -rn TODO src
rg -n TODO
find . -name '*.py'
git status
git log --oneline -5
git diff HEAD~1 -- src
git show HEAD:a.py
git branch -a
git blame a.py
wc -l src/*.py
cd src && ls
sed -n 1,20p a.py
test -f a.py && echo yes
ls 2>/dev/null
timeout 5 git log
""".strip().splitlines()

WRITES = """
rm a.py
echo x > a.py
sed -i s/a/b/ a.py
touch a
git commit -m x
git checkout main
git branch -D x
git stash
git config user.name x
git diff --output=x
git log --ext-diff
npm test
pytest
python x.py
make
cat a | tee b
find src -delete
find . -exec rm {} +
sort -o a a
xargs rm
bash script.sh
curl http://example.com
PAGER=x git log
git -c core.pager=x log
./ls
$X
cat $(touch a)
sed 's/a/b/w out' a.py
awk 'BEGIN{system("x")}'
rg --pre x y
env X=1 rm a
dd if=a of=b
kill 1
""".strip().splitlines()


@pytest.mark.parametrize("line", READS)
def test_reading_is_left_to_it(line: str) -> None:
    assert POLICY.judge(Call("Bash", line, "/repo")).verdict is Verdict.ALLOW


@pytest.mark.parametrize("line", WRITES)
def test_whatever_is_not_surely_reading_is_denied_with_that_reason(line: str) -> None:
    ruling = POLICY.judge(Call("Bash", line, "/repo"))

    assert ruling.verdict is Verdict.DENY
    assert "may not write" in ruling.reason


def test_every_edit_is_denied_and_every_read_is_not() -> None:
    assert POLICY.judge(Call("Edit", "a", "/repo", ("a",))).verdict is Verdict.DENY
    assert POLICY.judge(Call("Write", "a", "/repo", ("a",))).verdict is Verdict.DENY
    assert POLICY.judge(Call("Read", "a", "/repo", ("a",))).verdict is Verdict.ALLOW
    assert POLICY.judge(Call("WebFetch", "https://example.com", "/repo")).verdict is Verdict.ALLOW
