"""What a participant that may not write can do: commands of which it is certain that they change nothing."""

from __future__ import annotations

from devplane.core.policy import words
from devplane.core.policy.files import INERT, READERS, Access, is_nothing
from devplane.core.policy.hides import is_run_changing
from devplane.core.policy.line import Command
from devplane.core.policy.opening import Inside
from devplane.core.policy.reading import Reading
from devplane.core.policy.rules import EDIT_TOOLS

_READS = (READERS | INERT | {"grep", "egrep", "fgrep", "rg", "jq", "sort", "sed", "awk", "dirname"}) - {
    "kill",
    "pkill",
    "source",
    ".",
    "trap",
    "alias",
    "hash",
    "let",
    "popd",
    "stty",
    "man",
    "mapfile",
    "readarray",
    "export",
    "declare",
    "typeset",
    "readonly",
    "unalias",
    "yes",
    "umask",
    "ulimit",
    "clear",
    "tput",
    "less",
    "more",
    "zless",
    "bat",
    "batcat",
}
_GIT_READS: dict[str, frozenset[str] | None] = {
    "status": None,
    "log": None,
    "show": None,
    "blame": None,
    "ls-files": None,
    "ls-tree": None,
    "rev-parse": None,
    "describe": None,
    "shortlog": None,
    "diff": None,
    "cat-file": None,
    "grep": None,
    "rev-list": None,
    "merge-base": None,
    "name-rev": None,
    "show-ref": None,
    "for-each-ref": None,
    "check-ignore": None,
    "count-objects": None,
    "whatchanged": None,
    "branch": frozenset(
        {"-a", "-r", "-v", "-vv", "--list", "--show-current", "--all", "--remotes", "--merged", "--no-merged"}
    ),
    "tag": frozenset({"-l", "--list"}),
    "remote": frozenset({"-v", "show", "get-url"}),
    "stash": frozenset({"list", "show"}),
    "config": frozenset({"--get", "--list", "-l", "get", "list", "--get-all"}),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"status"}),
    "reflog": frozenset({"show"}),
    "version": None,
}
_WRITING_FLAGS = {
    "sort": ("-o", "--output", "-T", "--compress-program"),
    "find": ("-delete", "-fprint", "-fls", "-exec", "-ok"),
    "rg": ("--pre",),
    "git": ("--output", "-O", "--open-files-in-pager", "--ext-diff", "--textconv"),
    "date": ("-s", "--set"),
    "hostname": (),
    "sed": ("-i", "--in-place"),
    "fd": ("-x", "-X", "--exec"),
    "fdfind": ("-x", "-X", "--exec"),
    "xxd": ("-r",),
    "tree": ("-o",),
    "file": ("-C", "--compile"),
    "printf": ("-v",),
    "jq": (),
    "base64": ("-o",),
    "command": (),
}


def why_not_read_only(tool: str, reading: Reading | None) -> str | None:
    """Return why a call could change something, or ``None`` when it surely does not.

    `tool` in small letters; `reading` for a command line.
    """
    if tool in EDIT_TOOLS:
        return "it edits a file"
    if reading is None:
        return None
    if not reading.is_readable or reading.doubts or reading.scripts:
        said = reading.doubts[0].why if reading.doubts else "runs a script that nobody has read"
        return f"the line {said}"
    if not reading.tops:
        return "there is no command to read"
    for part in reading.parts:
        why = _why(part.command, part.inside)
        if why is not None:
            return why
        if any(target.access is Access.WRITE for target in part.targets):
            return "it writes a file"
    return None


def _why(command: Command, inside: Inside) -> str | None:
    for redirect in command.redirects:
        if redirect.writes and not is_nothing(redirect):
            return f"it writes {words.shown(redirect.target)}"
    for variable, value in command.assignments:
        if is_run_changing(variable, value):
            return f"it sets {variable}"
    if not command.words:
        return None
    name, given = command.program.rpartition("/")[2], command.words[1:]
    shown = words.shown(name)
    if "/" in command.program and command.program.rpartition("/")[0] not in ("/bin", "/usr/bin"):
        return f"{words.shown(command.program)} is a program of its own"
    for flag in _WRITING_FLAGS.get(name, ()):
        for word in given:
            is_short = (
                len(flag) == 2 and not word.startswith("--") and word.startswith("-") and flag[1] in word
            )
            if word.partition("=")[0] == flag or word.startswith(flag) or is_short:
                return f"{shown} {flag} can write"
    if any(words.is_hidden(word) for word in given) and name in ("git", "find", "sort", "sed", "fd", "rg"):
        return f"an expansion could make {shown} write"
    if name == "git":
        return _why_git(given)
    if inside.commands and inside.cover == "inside":
        return None
    if name == "hostname" and given:
        return "hostname can be set"
    if name == "uniq" and len([each for each in given if not each.startswith("-")]) > 1:
        return "uniq writes its second file"
    return None if name in _READS else f"{shown} is not known to only read"


def _why_git(given: tuple[str, ...]) -> str | None:
    at = 0
    while at < len(given) and given[at].startswith("-"):
        if given[at] not in ("--no-pager", "-C", "--no-optional-locks", "--literal-pathspecs", "-P"):
            return f"git {words.shown(given[at])} is not known to only read"
        at += 2 if given[at] == "-C" else 1
    verb = given[at] if at < len(given) else "version"
    if verb not in _GIT_READS:
        return f"git {words.shown(verb)} is not known to only read"
    wanted = _GIT_READS[verb]
    rest = given[at + 1 :]
    if wanted is None or (not rest and verb in ("branch", "tag", "remote", "reflog", "submodule")):
        return None
    if not any(word in wanted for word in rest):
        return f"git {verb} can change something"
    if verb in ("branch", "tag") and not all(
        word in wanted or word.startswith("--format") for word in rest[:1]
    ):
        return f"git {verb} can change something"
    return None
