"""Commands that hide what they run: code in a string or on stdin, other machines, variables that run.

A doubt is no verdict. Where a rule constrains commands, a person decides on a line that has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from devplane.core.policy import words
from devplane.core.policy.interpreters import INTERPRETER, awk_doubts, interpreter_doubts, sed_doubts
from devplane.core.policy.line import Command, Doubt
from devplane.core.policy.words import names

_EVALUATES = names(
    """
    eval source . alias trap enable bind complete compgen fc history parallel sem dispatch autoload
    """
)
_RESERVED = names("{ } then do done fi esac elif else in case if while until for function select [[ ]] (( ))")
_DECLARES = names("export declare typeset local readonly read mapfile readarray getopts unset")
_ELSEWHERE = names(
    """
    ssh mosh rsh telnet nix-shell sudoedit osascript at batch crontab systemctl-run screen tmux
    expect adb vagrant wsl pwsh powershell cmd
    """
)
_CONTAINERS = frozenset(
    {"docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "docker-compose", "podman-compose"}
)
_CONTAINER_RUNS = frozenset({"run", "exec", "debug", "attach", "start-build", "rsh", "create"})
_FED_RUNS = names(
    """
    make gmake psql mysql sqlite3 gdb lldb ed ex vi vim nvim m4 bc gnuplot octave gawk ftp sftp nc
    ncat socat tclsh irb ipython julia scala ghci erl iex elixir clojure R
    """
)
_RUNS_VALUE: dict[str, tuple[str, ...]] = {
    "tar": (
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "-I",
        "--rsh-command",
        "-F",
        "--info-script",
        "--new-volume-script",
    ),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S", "-o", "-D"),
    "sftp": ("-S", "-o", "-D"),
    "sort": ("--compress-program",),
    "zip": ("-T", "-TT", "--unzip-command"),
    "man": ("-P", "--pager", "-H", "--html"),
    "rg": ("--pre", "--hostname-bin"),
    "vim": ("-c", "--cmd", "-S", "-u", "+"),
    "vi": ("-c", "+"),
    "nvim": ("-c", "--cmd", "-S", "-u", "+"),
    "ex": ("-c", "+"),
    "view": ("-c", "+"),
    "emacs": ("--eval", "-eval", "--execute", "-f", "-l", "--load", "--script"),
    "less": ("+", "--lesskey-content"),
    "gdb": ("-ex", "-x", "--eval-command", "-iex", "--command"),
    "lldb": ("-o", "-s", "--one-line"),
    "sqlite3": ("-cmd", "-init"),
    "psql": (),
    "mysql": (),
    "curl": ("-K", "--config"),
    "wget": ("--use-askpass", "-e", "--execute"),
    "nc": ("-e", "-c", "--exec", "--sh-exec"),
    "ncat": ("-e", "-c", "--exec", "--sh-exec", "--lua-exec"),
    "make": ("--eval", "-E"),
    "cmake": ("-P", "-E"),
    "hyperfine": ("",),
    "nodemon": ("-x", "--exec", "-e"),
    "concurrently": ("",),
    "npm-run-all": (),
    "start-server-and-test": ("",),
    "watchexec": ("",),
    "reflex": ("",),
    "tmux": ("",),
    "ctags": ("--options",),
    "openssl": ("-engine",),
    "split": ("--filter",),
    "csplit": (),
    "dd": (),
    "date": (),
    "env": (),
    "cpulimit": ("",),
    "logrotate": ("",),
    "run-parts": ("",),
    "start-stop-daemon": ("",),
    "ionice": (),
    "ip": ("netns",),
    "capsh": ("",),
    "setpriv": ("",),
    "daemonize": ("",),
    "dpkg": ("--pre-invoke", "-D"),
    "apt": ("-o",),
    "apt-get": ("-o",),
    "pip": (),
    "gcc": ("-wrapper",),
    "ansible": ("-a", "-m"),
    "go": ("-exec", "-toolexec", "-vettool"),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "hash": ("-p",),
    "npm": ("--script-shell", "--node-options"),
    "java": (),
    "awk": (),
}
_GIT_RUNS = {
    "clone": ("-u", "--upload-pack", "-c", "--config", "--template"),
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "push": ("--receive-pack", "--exec"),
    "ls-remote": ("--upload-pack", "--exec"),
    "grep": ("-O", "--open-files-in-pager"),
    "archive": ("--exec", "--remote"),
    "init": ("--template",),
    "send-email": (),
    "daemon": (),
    "mergetool": ("-t", "--tool"),
    "difftool": ("-t", "--tool"),
    "log": ("--ext-diff",),
    "diff": ("--ext-diff",),
    "show": ("--ext-diff",),
}
_GIT_KEY = re.compile(
    r"alias\.|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy)|pager\.|sequence\.editor|"
    r".*\.(?:cmd|path|command|textconv|driver|clean|smudge|process|helper|program|browser|sshcommand|editor|proxy)$|"
    r"diff\.external|credential\.|gpg\.|protocol\.|include|http\.|url\.|uploadpack\.|receive|trailer\.|filter\.|remote\.|branch\.",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"PATH|IFS|CDPATH|HOME|ENV|SHELL|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|VISUAL|ZDOTDIR|"
    r"LD_.*|DYLD_.*|GLOBIGNORE|GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$|OPTIONAL_LOCKS$|PAGER$|TRACE|MERGE_AUTOEDIT$).*|"
    r"PYTHON(?:STARTUP|PATH|HOME|INSPECT|WARNINGS|BREAKPOINT|EXECUTABLE)|PERL5?(?:OPT|LIB|5LIB|DB)|RUBY(?:OPT|LIB)|"
    r"NODE_(?:OPTIONS|PATH)|NPM_CONFIG_.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS|"
    r"CC|CXX|LD|AR|CPP|MAKEFLAGS|GNUMAKEFLAGS|RUSTC|RUSTC_WRAPPER|RUSTFLAGS|CARGO_.*|GOFLAGS|GOROOT|GOPATH|"
    r".*_COMMAND|.*EDITOR|.*PAGER|.*ASKPASS|.*BROWSER|LESSOPEN|LESSCLOSE|XDG_CONFIG_.*|TAR_OPTIONS|RSYNC_RSH|"
    r"MANPAGER|SSH_.*|SUDO_.*|DOCKER_HOST|KUBECONFIG|VIMINIT|EXINIT|INPUTRC|TERMINFO|.*_PRELOAD|OPTIND|DIRSTACKSIZE",
    re.IGNORECASE,
)
_GIT_PAGER_OFF = frozenset({"", "cat", "less"})


def is_run_changing(variable: str, value: str) -> bool:
    """Whether setting `variable` changes what a later command runs."""
    name = variable.rstrip("+")
    if name.upper().endswith("PAGER") and value in _GIT_PAGER_OFF:
        return False
    return _VARIABLE.fullmatch(name) is not None


def sets_of(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the variables that a command sets, with their values as far as they are known."""
    yield from command.assignments
    if command.name in _DECLARES:
        for word in command.words[1:]:
            name, sign, value = word.partition("=")
            if sign or command.name not in ("export", "declare", "typeset", "local", "readonly"):
                yield name, value


def doubts_of(command: Command) -> Iterator[Doubt]:
    """Yield why nobody can tell what `command` runs; nothing for the many that are what they seem."""
    for variable, value in command.assignments:
        if is_run_changing(variable, value):
            yield Doubt(f"sets {variable}, which changes what runs")
    if not command.words:
        return
    if not words.is_literal(command.program) or not command.program:
        yield Doubt("names a program by an expansion or a pattern")
        return
    name = command.name
    if command.program in _RESERVED or "=" in command.program:
        yield Doubt("holds a compound command where it cannot be read")
    if name in _DECLARES or (name == "printf" and "-v" in command.words):
        yield from _declared(command)
    if command.program.startswith("=") or words.HOME in command.program[1:]:
        yield Doubt("names a program in a way that cannot be read")
    if name in _EVALUATES or (
        name in ("hash", "export", "declare") and any("()" in each for each in command.words)
    ):
        yield Doubt(f"runs what {name} is given")
    elif name in _ELSEWHERE:
        yield Doubt(f"runs a command elsewhere ({name})")
    elif name in _CONTAINERS:
        yield from _container(command)
    elif name == "git":
        yield from _git(command)
    elif name in ("sed", "gsed"):
        yield from sed_doubts(command)
    elif name in ("awk", "gawk", "mawk", "nawk"):
        yield from awk_doubts(command)
    elif (found := INTERPRETER.fullmatch(name)) is not None:
        yield from interpreter_doubts(command, found.group(1))
    elif command.is_fed and name in _FED_RUNS:
        yield Doubt(f"feeds code to {name}")
    if name in _RUNS_VALUE:
        yield from _value_runs(command, _RUNS_VALUE[name])
    if name == "shopt" and any(each.startswith("-") and "s" in each for each in command.words[1:]):
        yield Doubt("changes how the shell reads patterns")
    if (
        name == "jobs"
        and len(command.words) > 1
        and not command.words[1].startswith(("-l", "-p", "-r", "-s", "%"))
    ):
        yield Doubt("runs what jobs is given")
    if name == "make" and any(
        _VARIABLE.fullmatch(each.partition("=")[0]) for each in command.words[1:] if "=" in each
    ):
        yield Doubt("gives make a variable that runs")
    if name in ("psql", "mysql", "sqlite3") and any(
        re.search(
            r"\\!|\\\||\bsystem\b|\.shell|\.system|copy\b.*\bprogram\b|load_extension", each, re.IGNORECASE
        )
        for each in command.words[1:]
    ):
        yield Doubt(f"has {name} run a command")
    if (
        name == "printf"
        and "-v" in command.words
        and any(each in ("PATH", "BASH_ENV", "ENV") or "[" in each for each in command.words)
    ):
        yield Doubt("sets a variable that runs")
    if name in (
        "read",
        "mapfile",
        "readarray",
        "getopts",
        "printf",
        "let",
        "local",
        "declare",
        "typeset",
        "unset",
    ):
        for each in command.words[1:]:
            if "[" in each and ("$(" in each or "`" in each):
                yield Doubt("calculates with a value that can hold a command")


def _declared(command: Command) -> Iterator[Doubt]:
    """What a builtin that sets variables sets, where the grammar sees only words."""
    for word in command.words[1:]:
        name, _, value = word.partition("=")
        if words.is_hidden(name):
            yield Doubt(f"hides what {command.name} sets")
        elif is_run_changing(name.partition("[")[0], value):
            yield Doubt(f"sets {name}, which changes what runs")


def _value_runs(command: Command, flags: tuple[str, ...]) -> Iterator[Doubt]:
    for word in command.words[1:]:
        for flag in flags:
            if (
                not flag
                or word == flag
                or (
                    flag.startswith("--") and len(word) > 3 and word.partition("=")[0] in _abbreviations(flag)
                )
                or (len(flag) == 2 and flag[0] == "-" and not word.startswith("--") and word.startswith(flag))
                or (flag == "+" and word.startswith("+"))
            ):
                yield Doubt(f"has {command.name} run what {word.partition('=')[0] or flag} names")
                return


@lru_cache(maxsize=512)
def _abbreviations(flag: str) -> frozenset[str]:
    return frozenset(flag[:end] for end in range(4, len(flag) + 1))


def _container(command: Command) -> Iterator[Doubt]:
    operands = [each for each in command.words[1:] if not each.startswith("-")]
    if any(each in _CONTAINER_RUNS for each in operands[:3]):
        yield Doubt(f"runs a command elsewhere ({command.name})")
    elif any(words.is_hidden(each) for each in operands[:2]):
        yield Doubt(f"hides what {command.name} does")


def _git(command: Command) -> Iterator[Doubt]:
    given = command.words
    at = 1
    while at < len(given) and given[at].startswith("-"):
        word = given[at]
        value = given[at + 1] if at + 1 < len(given) else words.ANY
        if word == "-c" or (word.startswith("-c") and word[2:3].isalpha()):
            setting = value if word == "-c" else word[2:]
            key = setting.partition("=")[0]
            runs = _GIT_KEY.match(key) is not None or not words.is_literal(key)
            if runs and not (key.lower().endswith("pager") and setting.partition("=")[2] in _GIT_PAGER_OFF):
                yield Doubt(f"has git run what {words.shown(key)} names")
        elif word.startswith(("--exec-path=", "--config-env", "--git-dir", "--work-tree")):
            yield Doubt(f"has git look elsewhere for what it runs ({word.partition('=')[0]})")
        at += 2 if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    if at >= len(given):
        return
    verb, rest = given[at], given[at + 1 :]
    if words.is_hidden(verb):
        yield Doubt("hides what git does")
    for word in rest:
        name = word.partition("=")[0]
        for flag in _GIT_RUNS.get(verb, ()):
            if name in (flag, *(_abbreviations(flag) if flag.startswith("--") else ())) or (
                len(flag) == 2 and word.startswith(flag) and not word.startswith("--")
            ):
                yield Doubt(f"has git run what {flag} names")
        if word.startswith(("ext::", "fd::")) or (
            verb in ("clone", "fetch", "pull", "push") and "::" in word
        ):
            yield Doubt("has git run a transport helper")
    if verb in ("for-each-repo", "maintenance", "hook", "credential", "remote-ext"):
        yield Doubt(f"has git run what git {verb} is given")
    if verb == "config":
        keys = [
            each for each in rest if not each.startswith("-") and each not in ("set", "get", "unset", "list")
        ]
        is_asked = any(
            each in ("--get", "--list", "-l", "get", "list", "--get-all", "--get-regexp") for each in rest
        )
        if not is_asked and len(keys) > 1 and (_GIT_KEY.match(keys[0]) or not words.is_literal(keys[0])):
            yield Doubt(f"has git run what {words.shown(keys[0])} names")


def may_run(command: Command, programs: frozenset[str]) -> Doubt | None:
    """Say whether a program that nobody knows may run one of `programs`, which it names among its words."""
    for word in command.words[1:]:
        if word.rpartition("/")[2].casefold() in programs:
            return Doubt(f"gives {words.shown(word)} to {command.name}, which may run it")
        named = re.split(r"[^\w./+-]+", word) if re.search(r"[ \n;]", word) else ()
        if any(part.rpartition("/")[2].casefold() in programs for part in named):
            return Doubt(f"gives {command.name} a text that names a program with a rule")
    return None
