"""The rules that would have answered a call: for that very call, and for the family that it belongs to.

Only texts that read back as what they were made from. Whether a rule really answers is for the
whole policy to say, since other rules hold too: whoever shows one puts it to the evaluator first.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from devplane.core.permission import Call
from devplane.core.policy import words
from devplane.core.policy.files import AFTER_FIRST, COPIERS, WRITERS, is_nothing
from devplane.core.policy.hides import doubts_of
from devplane.core.policy.hosts import host_of
from devplane.core.policy.line import Command, Line
from devplane.core.policy.opening import SHELLS, opened
from devplane.core.policy.paths import normal
from devplane.core.policy.rules import Rule, RuleBroken, parse
from devplane.core.policy.walk import read
from devplane.core.policy.words import names
from devplane.core.policy.wrappers import WRAPPERS

RULE_LIMIT_CHARS = 300
"""A longer rule is one that nobody reads before copying it."""

# Known for reaching far: other machines, other people's code, whatever lies on the disk.
_FAR = names(
    """
    find fd fdfind curl wget http nc ncat socat kill pkill killall reboot shutdown halt mount umount mkfs dd
    crontab systemctl service launchctl apt apt-get brew dnf yum pacman apk snap npx nix-env port
    aws gcloud az kubectl oc helm terraform pulumi ansible ansible-playbook heroku fly vercel netlify
    docker podman nerdctl psql mysql sqlite3 redis-cli mongo mongosh mongodump pg_restore
    java scp svn hg nix gem gpg openssl ssh-keygen tar unzip zip 7z patch xdg-open open git-filter-repo
    sed gsed awk gawk cmake coverage export set unset
    """
)
_BY_SUBCOMMAND = names(
    """
    git npm pnpm yarn cargo go pip pip3 poetry pdm hatch uv make gmake just task mvn gradle gradlew dotnet
    bazel mix rake rails composer swift flutter gh glab
    """
)
_TWO_DEEP = frozenset({"gh", "glab"})
_GIT = names(
    """
    status log diff show add commit fetch blame describe rev-parse ls-files shortlog cat-file merge-base
    rev-list show-ref ls-tree name-rev
    """
)
"""Those that neither throw work away, nor send it elsewhere, nor change how git works."""
_NO_FAMILY = names(
    """
    exec dlx x create init install add i ci get uninstall remove update upgrade publish login logout config
    set run-script link unlink link-global tool generate env self workspace run-many api alias extension
    secret auth ssh-key gpg-key delete merge close edit
    """
)
_RUNS_PROJECT = frozenset({"npm", "pnpm", "yarn"})
"""Of which ``run`` runs what the project's own file names; with others it runs any file or package."""
_PLAIN = re.compile(r"(?:~/)?[\w@+.,:%/-]+")
_SUBCOMMAND = re.compile(r"[A-Za-z][\w.:-]*")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_MCP = re.compile(r"mcp__[\w.-]+")
_PATH = re.compile(r"[^\x00-\x1f\x7f*?\[\]\\!#]+")
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f]")
_SIMPLE = ("command",)
"""The shape of a line that is one command and nothing around it."""
_PROBES = ((), ("x",), ("-c", "x"), ("-e", "x"), ("run", "x"), ("exec", "x"))


def family(call: Call, root: str = "") -> str | None:
    """Return the rule for everything of the call's kind; ``None`` when its kind is anything at all.

    `root`: the folder that one leading slash stands for; "" for none.
    """
    return offers(call, root)[1]


def offers(call: Call, root: str = "") -> tuple[str | None, str | None]:
    """Return the rule for this very call, and the one for its family; ``None`` where none can be written."""
    tool = call.tool.casefold()
    if tool == "bash":
        return _for_line(call.subject)
    if tool in ("read", "edit"):
        return _for_paths(call, root)
    if tool == "webfetch":
        host = host_of(call.subject)
        rule = f"WebFetch(domain:{host})" if host is not None and _HOST.fullmatch(host) else None
        return rule, rule
    if _MCP.fullmatch(call.tool):
        return call.tool, call.tool
    return None, None


@lru_cache(maxsize=1024)
def runs_anything(program: str) -> bool:
    """Whether what `program` does is up to its arguments: a shell, an interpreter, a wrapper."""
    name = program.rpartition("/")[2].casefold()
    if name in SHELLS or (name in WRAPPERS and not WRAPPERS[name].words):
        return True
    return any(True for rest in _PROBES for _ in doubts_of(Command(words=(name, *rest))))


# Commands


def _for_line(text: str) -> tuple[str | None, str | None]:
    short = text.strip()
    if len(short) > RULE_LIMIT_CHARS or _UNWRITABLE.search(short):
        return None, None
    return _for_short_line(short)


@lru_cache(maxsize=4096)
def _for_short_line(text: str) -> tuple[str | None, str | None]:
    line = read(text)
    if not line.is_readable or line.doubts or not line.commands:
        return None, None
    exact = f"Bash({text})"
    return (exact if _is_exactly(exact, line) else None), _family_of(line)


def _is_exactly(rule_text: str, line: Line) -> bool:
    """Whether the rule reads back as that line and no other."""
    rule = _parsed(rule_text)
    if rule is None:
        return False
    if rule.exact is not None:
        return rule.allows_line(line)
    (command, *others) = line.commands
    if others or command.redirects or command.assignments or line.shape != _SIMPLE:
        return False
    return rule.command_words == command.words and all(words.is_literal(each) for each in command.words)


def _parsed(rule_text: str) -> Rule | None:
    try:
        return parse(rule_text, "", 0, folder="")
    except RuleBroken:
        return None


def _family_of(line: Line) -> str | None:
    if len(line.commands) != 1 or line.shape != _SIMPLE:
        return None
    command = line.commands[0]
    if command.is_fed or not all(is_nothing(each) for each in command.redirects):
        return None
    start = _start(command)
    rule = _parsed(f"Bash({' '.join(start)} *)") if start else None
    wanted = tuple(words.HOME + each[1:] if each.startswith("~") else each for each in start)
    return rule.text if rule is not None and rule.command_words == (*wanted, words.STAR) else None


def _start(command: Command) -> tuple[str, ...]:
    """The words that say what kind of thing a command does; () when none do."""
    given = tuple(word.replace(words.HOME, "~") for word in command.words)
    if not given or not _PLAIN.fullmatch(given[0]):
        return ()
    inside = opened(command, lambda code: ([], [], False))
    if inside.head and inside.cover == "outside" and len(inside.commands) == 1:
        head, inner = given[: inside.head], _start(inside.commands[0].command)
        return (*head, *inner) if inner and all(_SUBCOMMAND.fullmatch(each) for each in head) else ()
    name = command.name
    if name in _FAR | WRITERS | COPIERS | AFTER_FIRST or runs_anything(name):
        return ()
    if name not in _BY_SUBCOMMAND:
        return given[:1]
    depth = 3 if name in _TWO_DEEP else 2
    subcommands = given[1:depth]
    if len(subcommands) < depth - 1 or not all(_SUBCOMMAND.fullmatch(each) for each in subcommands):
        return ()
    if any(each in _NO_FAMILY for each in subcommands):
        return ()
    if (name == "git" and subcommands[0] not in _GIT) or (
        subcommands[0] == "run" and name not in _RUNS_PROJECT
    ):
        return ()
    return given[:depth]


# Files


def _for_paths(call: Call, root: str) -> tuple[str | None, str | None]:
    tool = "Read" if call.tool.casefold() == "read" else "Edit"
    paths = [_spelt(path, call.cwd, root) for path in dict.fromkeys(call.paths)]
    if not paths or not all(_is_writable(path) for path in paths):
        return None, None
    exact = f"{tool}({paths[0]})" if len(set(paths)) == 1 else None
    if not root or not all(path.startswith("/") and not path.startswith("//") for path in paths):
        return exact, None
    common = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    # The family of what lies at the top would be everything.
    return exact, f"{tool}({common}/**)" if common != "/" else None


def _spelt(path: str, cwd: str, root: str) -> str:
    """The path as a rule has it: from `root` where it lies in it, else from the home or the top."""
    if path == "~" or path.startswith("~/"):
        return path
    whole = normal(posixpath.join(cwd or "/", path))
    top = normal(root).rstrip("/") if root else ""
    if top and whole.startswith(top + "/"):
        return whole[len(top) :]
    return "/" if whole == top else "/" + whole


def _is_writable(path: str) -> bool:
    return (
        len(path) < RULE_LIMIT_CHARS
        and path == path.strip()
        and path not in ("/", "//")
        and _PATH.fullmatch(path) is not None
    )
