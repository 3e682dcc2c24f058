"""What holds of every policy and every line."""

from __future__ import annotations

import shlex

from hypothesis import assume, example, given
from hypothesis import strategies as st

from devplane.core.permission import Call, Ruling, Verdict
from devplane.core.policy import Policy, RuleFile, rule_file

PROGRAMS = ("rm", "git", "ls", "npm", "curl", "cat", "somewrapper")
WORDS = [
    "-rf",
    "-r",
    "-f",
    "--force",
    "push",
    "test",
    "run",
    "build",
    "src/a.py",
    ".env",
    "*",
    "$X",
    "x y",
    "a'b",
]
BASH_RULES = [
    "Bash",
    "Bash(rm *)",
    "Bash(rm -rf *)",
    "Bash(git push *)",
    "Bash(git *)",
    "Bash(ls *)",
    "Bash(npm test)",
    "Bash(npm run *)",
    "Bash(cat *)",
    "Bash(curl *)",
    "Bash(* --force *)",
    "!Bash(git push origin *)",
    "Bash(npm:*)",
]
OTHER_RULES = [
    "Read(.env)",
    "Read(src/**)",
    "Edit(src/**)",
    "Edit(/build/**)",
    "!Read(src/a.py)",
    "Read",
    "Edit",
    "WebFetch",
    "mcp__git",
    "mcp__*",
    "WebFetch(domain:example.com)",
    "WebFetch(domain:*.example.com)",
    "mcp__git__push",
    "*",
]

rules = st.lists(st.sampled_from(BASH_RULES + OTHER_RULES), max_size=4)
lists = st.tuples(rules, rules, rules)
simple = st.builds(
    lambda program, words: " ".join([program, *words]),
    st.sampled_from(PROGRAMS),
    st.lists(
        st.sampled_from([shlex.quote(each) if " " in each or "'" in each else each for each in WORDS]),
        max_size=4,
    ),
)
lines = st.lists(simple, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([" && ", "; ", " | ", " || ", "\n", " & "]).map(
        lambda sign: sign.join(parts)
    )
)
wrapped = lines.flatmap(
    lambda line: st.sampled_from(
        [line, f"({line})", f"bash -c {shlex.quote(line)}", f"if true; then {line}; fi", f"echo $({line})",
         f"{line} > out.txt", f"timeout 5 {line}", f"FOO=1 {line}", f"eval {shlex.quote(line)}"]
    )
)  # fmt: skip
paths = st.sampled_from(["src/a.py", ".env", "/repo/build/x", "../x", "~/x", "/repo/src/b/.env"])


calls = st.one_of(
    wrapped.map(lambda line: Call("Bash", line, "/repo", (), {"command": line})),
    st.tuples(st.sampled_from(["Read", "Edit"]), paths).map(lambda p: Call(p[0], p[1], "/repo", (p[1],))),
    st.sampled_from(
        ["https://example.com/x", "https://a.example.com", "http://example.com.evil.example/", "nonsense"]
    ).map(lambda url: Call("WebFetch", url, "/repo", (), {"url": url})),
    st.sampled_from(["mcp__git__push", "mcp__github__push", "", "switch_mode"]).map(
        lambda tool: Call(tool, "x", "/repo")
    ),
)


def made(never: list[str], ask: list[str], allow: list[str]) -> RuleFile:
    return rule_file("/repo/devplane.toml", "/repo", never_auto=never, always_ask=ask, auto_allow=allow)


def judge(file: RuleFile, call: Call) -> Verdict:
    return ruling(file, call).verdict


def ruling(file: RuleFile, call: Call) -> Ruling:
    policy = Policy([file], home="/home/u", devplane_home="/home/u/.devplane", root="/repo")
    return policy.judge(call)


@given(lists, st.sampled_from(BASH_RULES + OTHER_RULES), st.booleans(), calls)
def test_a_further_deny_or_ask_never_makes_an_answer_an_allow(
    given_lists: tuple[list[str], list[str], list[str]], more: str, as_ask: bool, call: Call
) -> None:
    assume(not more.startswith("!"))
    never, ask, allow = given_lists
    before = judge(made(never, ask, allow), call)
    after = judge(made(never if as_ask else [*never, more], [*ask, more] if as_ask else ask, allow), call)
    assert before is Verdict.ALLOW or after is not Verdict.ALLOW
    if before is Verdict.DENY:
        assert after is Verdict.DENY


@given(lists, st.sampled_from(BASH_RULES + OTHER_RULES), calls)
def test_a_further_allow_never_weakens_a_deny_or_an_ask(
    given_lists: tuple[list[str], list[str], list[str]], more: str, call: Call
) -> None:
    never, ask, allow = given_lists
    before = judge(made(never, ask, allow), call)
    after = judge(made(never, ask, [*allow, more]), call)
    if before in (Verdict.DENY, Verdict.ASK):
        assert after is before
    if before is Verdict.ALLOW and not more.startswith("!"):
        assert after is Verdict.ALLOW


@given(lists, calls)
def test_the_named_rules_alone_give_the_verdict(
    given_lists: tuple[list[str], list[str], list[str]], call: Call
) -> None:
    found = ruling(made(*given_lists), call)
    if found.verdict is Verdict.DENY and not found.builtin:
        assert judge(made([found.rule], [], []), call) is Verdict.DENY
    elif found.verdict is Verdict.ASK and not found.builtin:
        assert judge(made([], [found.rule], []), call) is Verdict.ASK
    elif found.verdict is Verdict.ALLOW:
        named = [found.rule, *(each.rule for each in found.others)]
        assert judge(made([], [], named), call) is Verdict.ALLOW
    elif found.verdict is Verdict.UNRESOLVED and found.rule:
        assert judge(made([found.rule], [], []), call) is Verdict.UNRESOLVED


@given(
    lists,
    st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)
@example(([], [], ["Bash"]), "\x00")
@example(([], [], ["Bash"]), "a\ud800b")
@example((["Read(.env)"], [], ["Bash"]), "cat [" * 30)
@example((["Bash(rm *)"], [], ["Bash"]), "\\")
def test_any_text_gets_a_verdict(given_lists: tuple[list[str], list[str], list[str]], text: str) -> None:
    for tool in ("Bash", "Read", "Edit", "WebFetch", "mcp__x", "", "switch_mode", text[:20]):
        assert judge(made(*given_lists), Call(tool, text, "/repo", (text,), {"x": text})) in Verdict


SHELLY = st.text(alphabet="rm ls$(){}[]`'\"\\;&|<>*?~#!=\n\t-.a/0:@%^,+", max_size=60)


@given(lists, SHELLY)
def test_any_shell_like_text_gets_a_verdict(
    given_lists: tuple[list[str], list[str], list[str]], text: str
) -> None:
    assert judge(made(*given_lists), Call("Bash", text, "/repo")) in Verdict


QUOTES = (
    lambda word: "'" + word.replace("'", "'\\''") + "'",
    lambda word: '"' + "".join("\\" + char if char in '"\\$`' else char for char in word) + '"',
    lambda word: "".join("\\" + char for char in word),
    lambda word: word[:1] + "''" + word[1:],
    lambda word: '""' + word,
    lambda word: "$'" + "".join(f"\\x{ord(char):02x}" for char in word) + "'",
    lambda word: "'" + word[:1] + "'\"" + word[1:] + '"' if '"' not in word else word,
)
plain = st.sampled_from(
    ["rm", "-rf", "--force", "git", "push", "build", "src/a.py", ".env", "cat", "npm", "test", "ls"]
)


@given(lists, st.lists(plain, min_size=1, max_size=5), st.data())
def test_quoting_a_word_as_the_shell_would_changes_nothing(
    given_lists: tuple[list[str], list[str], list[str]], words: list[str], data: st.DataObject
) -> None:
    file = made(*given_lists)
    spelt = [data.draw(st.sampled_from(QUOTES))(word) if data.draw(st.booleans()) else word for word in words]
    before = ruling(file, Call("Bash", " ".join(words), "/repo"))
    after = ruling(file, Call("Bash", " ".join(spelt), "/repo"))
    assert (after.verdict, after.rule) == (before.verdict, before.rule), spelt
