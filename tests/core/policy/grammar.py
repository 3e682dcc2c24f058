"""Command lines by chance: what bash can say, over programs that do nothing.

The same seed gives the same lines. Not all of them are right: a part is broken on purpose, for
two parsers disagree first about what is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

HARMLESS = ("ok1", "ok2", "true", "echo", "cat")
DENIED = ("bad1", "bad2")
DEPTH = 4
MARKS = "'\"`\\$;&|(){}<>\n \t#*!"
RARER_MARKS = (*"=[]~?\r,\u00a0", "\\\n", "$(", "<(", "${", "$'", "<<", "<<<", "((", "&&")
PLAIN_WORDS = ("x", "y", "-f", "-", "--", "--all=1", "1", "a.b", "x=1", "'a b'", '"a b"', "")
ODD_WORDS = (
    *("$v", '"$v"', "${v}", '"${v[@]}"', "$@", "$?", "$$", "${#v}", "${v%x}", "$(( 1 + (2) ))", "$(( n ))"),
    *("*", "*.txt", "{a,b}", "{1..3}", "~", "[ab]", "?", "a{,b}", "'*'", "#", "#x", "x#y", "!", "!x"),
    *("a\\ b", "\\;", "\\\n", "=x", "%1", "@", "$'a\\nb'", "$'\\''", '$"x"', "'\"'", '"\'"', "\\'", "''"),
)  # fmt: skip
REDIRECTS = (
    *(">out", "2>&1", ">>out", "<in", "2>out", ">|out", "&>out", "3<in", "<&-", ">&2", "1>&2", "> out"),
    *("{fd}>out", "<>in", "2>&-", "&>>out", ">& out"),
)
JOINTS = (";", " ; ", " && ", " || ", " | ", " & ", "\n", " |& ", "&&", "|", "&")
FED = ("cat", "sh", "bash", "ok1", "env sh", "cat | sh", "bash -s", "tee out")
ENDS = ("EOF", "'EOF'", '"EOF"', "\\EOF", "-EOF", "E\\OF", "- EOF", " EOF")
"""The start of a here-document as far as its end's name."""
NAMES = (
    *("\\PROG", "P1\\P2", "'PROG'", '"P1"P2', "P1''P2", "$'PROG'", "P1\\\nP2", "P1$noneP2", "P1${none}P2"),
    *("{PROG,x}", "${none:-PROG}", "$(echo PROG)", "P1?P3", '"PROG"', '$"PROG"'),
)  # fmt: skip
"""``PROG``, its first letter ``P1``, the rest ``P2`` and all from the third on, ``P3``."""
EXPANSIONS = (
    *("${v:RAN:1}", "${v/RAN/x}", "${v//x/RAN}", "${v#RAN}", "${v%%RAN}", "${v:+RAN}x", "${v?RAN}"),
    *("${v-RAN}", "${a[RAN]}", "${#a[RAN]}", "${v=RAN}", "${v:-a RAN b}", "${v:-'RAN'}", "${v:-${w:-RAN}}"),
    *("{a,RAN}", "$[RAN 1]", "$(( 1 + RAN ))", "$((RAN))", "$( RAN )", "x`echo RAN`y", "$(echo 'RAN')"),
    *("a[RAN]=1", "$(cat <<EOF\nRAN\nEOF\n)", "$(cat <<'EOF'\nRAN\nEOF\n)", "$(: # RAN\n)", "'RAN'", "\\RAN"),
    *("\\\\RAN", "$'RAN'", "$'\\'RAN", "@(a|RAN)", "~RAN", "#RAN", "x#RAN", "RANRAN", "`x`RAN", "=RAN"),
    "$1RAN",
)  # fmt: skip
"""Places for a substitution, ``RAN``."""
WRAPPERS = (
    *("env", "env A=1", "env -u A", "env -C .", "env --", "env -v", "env -S", "nohup", "nohup nice env"),
    *("nice", "nice -n 5", "nice -5", "timeout 5", "timeout -k 1 5", "timeout -s KILL 5s"),
    *("timeout --foreground 0.5m", "setsid -w", "stdbuf -oL", "stdbuf -o L -e0", "command", "command --"),
    *("command -v", "builtin", "builtin command", "exec", "exec -a x", "exec -l", "time", "time -p", "!"),
    *("coproc", "xargs", "xargs -n 1", "xargs -I{}", "xargs -0 env"),
)  # fmt: skip
"""What a command may stand behind."""
EVALUATED = (
    *("eval TEXT", "sh -c TEXT", "bash -c TEXT", "bash -ec TEXT x", "trap TEXT EXIT", "echo TEXT | sh"),
    *("sh <<< TEXT", "bash <(echo TEXT)", ". <(echo TEXT)", "env sh -c TEXT", "env -S TEXT", "X=TEXT; $X"),
    *("alias x=TEXT; x", "cat <<< TEXT", "xargs -I{} sh -c TEXT <<< x"),
    *("find . -maxdepth 0 -exec sh -c TEXT ;", "echo TEXT", "printf %s TEXT | bash -s"),
    *("X=TEXT; echo ${X@P}", "source /dev/stdin <<< TEXT", "find . -maxdepth 0 -exec SIMPLE \\;"),
    *("compgen -W TEXT", "ok1 -c TEXT"),
)  # fmt: skip
"""What reads a command line, ``TEXT``, as one quoted word; ``SIMPLE`` is a command."""
COMPOUNDS = (
    *("(INNER)", "{ INNER; }", "( INNER ) 2>&1", "((INNER) )", "{ INNER\n}", "if INNER; then OTHER; fi"),
    *("if OTHER; then :; else INNER; fi", "while INNER; do OTHER; break; done"),
    *("until false; do INNER; break; done", "for v in a b; do INNER; done", "for v in PROG; do $v x; done"),
    *("for v in $(OTHER); do INNER; done", "for ((;;)); do INNER; break; done"),
    *("case x in x) INNER;; esac", "case $(OTHER) in (a|b) ok1;; *) INNER ;; esac", "f() { INNER; }; f"),
    *("function f { INNER; }; f x", "f() (INNER); f", "f() { INNER; }", "echo() { INNER; }; OTHER"),
    *('f() { "$@"; }; f PROG x', "v=`PROG x` ok1 `PROG`", "[[ -n $(INNER) ]]", "[[ x == x ]] && INNER"),
    *("(( $(OTHER) 1 ))", "[ x = x ] && INNER", "coproc { INNER; }", "unset v; : ${v:=$(INNER)}"),
    *("v=$(INNER)", "v=(PROG x); ${v[@]}", "v=PROG; $v x", "export v=$(INNER)", "declare v=`PROG x`"),
    *("readonly v=(PROG)", "set -- PROG x; $1", "{ INNER; } > out", "INNER # PROG x"),
    *("v='a[$(PROG)]'; (( v ))", "select v in a; do INNER; break; done", "f() if INNER; then :; fi; f"),
    *("f() for v in a; do INNER; done; f", "f()\n{ INNER; }\nf", "function f() { INNER; } >out; f"),
    *("f() [[ -n $(INNER) ]]; f", "f() (( $(OTHER) )); f", "for ((i=$(OTHER); i<1; i++)); do INNER; done"),
    *("for v; do :; done; INNER", "time -p INNER", "case $(OTHER) in @(a|b)) ok1;; *) INNER;; esac"),
    *("case x in x) ;;& (*) INNER;& y) ok1;; esac", "cat <<A; cat <<'B'\n$(OTHER)\nA\n$(INNER)\nB"),
    *("cat <<A |\nx\nA\nINNER", "coproc n { INNER; }", "if\nOTHER\nthen\nINNER\nfi", "{\nINNER\n}"),
    *("(\nINNER\n)", "INNER &\nwait", "INNER &", "ok1 && { INNER; }"),
    *("ok1 | while read -r v; do INNER; break; done", "! ! INNER", "\n\nINNER", "printf -v 'a[$(PROG)]' x"),
    *("read 'a[$(PROG)]' <<< 1", "let 'v=a[$(PROG)]'", 'v=\'$(PROG x)\'; echo "${v@P}"'),
    *("v=a w=v; echo ${!w} $(OTHER)", "let 1+1 && INNER", "declare -A a=([$(PROG)]=1)"),
    *("a=([0]=$(PROG x) `PROG`)", "a+=($(OTHER))", "true;# x\nINNER", "ok1 \\\n  x; INNER", "! { INNER; }"),
    "time ( INNER )",
)  # fmt: skip
"""Two command lines, ``INNER`` and ``OTHER``, and a program, ``PROG``, in the grammar of bash."""
LOOPS = ("while", "until", "((;;))", "()", "function")


def may_end(line: str) -> bool:
    """Whether `line` holds nothing that could run for ever once a part of it is gone."""
    return not any(each in line for each in LOOPS)


class Grammar:
    """A source of command lines. `programs` are the names that it writes."""

    def __init__(self, seed: int, programs: Sequence[str] = (*HARMLESS, *HARMLESS, *DENIED)) -> None:
        self._chance = random.Random(seed)
        self._programs = programs

    def line(self) -> str:
        """A command line, whole or broken."""
        line = self._list(DEPTH)
        return self.broken(line) if self._in(4) else line

    def broken(self, line: str) -> str:
        """`line` with a mark or two gone, put in or doubled; as it is when it could then run for ever."""
        if not may_end(line):
            return line
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            at = self._chance.randrange(len(line) + 1)
            to = min(len(line), at + self._chance.choice((0, 0, 0, 1, 1, 2)))
            marks = MARKS if self._chance.random() < 0.7 else RARER_MARKS
            line = line[:at] + (self._chance.choice(marks) if self._in(1.5) else "") + line[to:]
        return line

    def _in(self, times: float) -> bool:
        """Whether what happens once in so many times happens now."""
        return self._chance.random() * times < 1

    def _one(self, *makers: Callable[[], str]) -> str:
        return self._chance.choice(makers)()

    # Words

    def _program(self) -> str:
        return self._respelt(self._chance.choice(self._programs))

    def _respelt(self, name: str) -> str:
        if not self._in(5):
            return name
        spelt = self._chance.choice(NAMES)
        spelt = spelt.replace("PROG", name).replace("P1", name[:1])
        return spelt.replace("P2", name[1:]).replace("P3", name[2:])

    def _word(self, depth: int) -> str:
        if depth <= 0 or self._in(2):
            return self._chance.choice(PLAIN_WORDS)
        name = self._chance.choice(self._programs)
        return self._one(
            lambda: f"'{name} x'",
            lambda: f'"a; {name} x"',
            lambda: f"$({self._list(depth - 2)})",
            lambda: f'"$({self._list(depth - 2)})"',
            lambda: f"`{name} x`",
            lambda: f"<({self._list(depth - 2)})",
            lambda: f"${{none:-{self._word(depth - 2)}}}",
            lambda: self._chance.choice(ODD_WORDS),
            lambda: self._chance.choice(ODD_WORDS),
            lambda: self._expanded(name),
            lambda: name,
        )

    def _expanded(self, name: str) -> str:
        """A command in a place of an expansion where few look."""
        ran = self._chance.choice((f"$({name} x)", f"`{name} x`", f"<({name} x)", f"$({name})"))
        expanded = self._chance.choice(EXPANSIONS).replace("RAN", ran)
        return f'"{expanded}"' if self._in(2) else expanded

    def _words(self, depth: int) -> str:
        return " ".join(self._word(depth) for _ in range(self._chance.choice((0, 1, 1, 2, 3))))

    # Commands

    def _redirect(self, depth: int) -> str:
        return self._one(
            lambda: self._chance.choice(REDIRECTS),
            lambda: self._chance.choice(REDIRECTS),
            lambda: f"<<< '{self._chance.choice(self._programs)} x'",
            lambda: f'<<< "$({self._list(depth - 2)})"',
            lambda: f"< <({self._list(depth - 2)})",
            lambda: f"> >({self._list(depth - 2)})",
        )

    def _simple(self, depth: int) -> str:
        parts = [self._program(), self._words(depth)]
        if self._in(8):
            parts.insert(0, self._chance.choice(("A=1", "A=", "A='x y'", "A=(1)", "A[1]=2", "A+=1", "A=$v")))
        if depth > 0 and self._in(16):
            parts.insert(0, f"A=$({self._list(depth - 2)})")
        if self._in(6):
            parts.insert(self._chance.randrange(len(parts) + 1), self._redirect(depth))
        return " ".join(part for part in parts if part)

    def _wrapped(self, depth: int) -> str:
        return f"{self._chance.choice(WRAPPERS)} {self._simple(depth - 1)}"

    def _text(self, depth: int) -> str:
        """A command line as one quoted word."""
        line = self._list(depth - 2)
        if "'" not in line:
            return f"'{line}'"
        return '"' + "".join(f"\\{each}" if each in '\\"$`' else each for each in line) + '"'

    def _evaluated(self, depth: int) -> str:
        evaluated = self._chance.choice(EVALUATED).replace("SIMPLE", self._simple(0))
        return evaluated.replace("TEXT", self._text(depth))

    def _document(self, depth: int) -> str:
        program, end = self._chance.choice(FED), self._chance.choice(ENDS)
        body = self._chance.choice(("LINE", "LINE", "$(LINE)", "$1`x`LINE", "a `LINE`", "\tx `ok2`"))
        body = body.replace("LINE", self._list(depth - 2))
        tab = "\t" if end.startswith("-") and self._in(2) else ""
        after = self._chance.choice(("", "\n", f"\n{self._simple(0)}"))
        return f"{program} <<{end}\n{tab}{body}\n{tab}EOF{after}"

    def _compound(self, depth: int) -> str:
        compound = self._chance.choice(COMPOUNDS).replace("PROG", self._chance.choice(self._programs))
        return compound.replace("OTHER", self._list(depth - 2)).replace("INNER", self._list(depth - 1))

    def _command(self, depth: int) -> str:
        if depth <= 0:
            return self._simple(0)
        kind = self._chance.choices(
            (self._simple, self._wrapped, self._compound, self._evaluated, self._document), (9, 4, 4, 2, 1)
        )[0]
        return kind(depth)

    def _list(self, depth: int) -> str:
        line = self._command(depth)
        while self._in(4):
            joined = self._chance.choice(JOINTS)
            line += joined + self._command(depth - 1)
        return line
