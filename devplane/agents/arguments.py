"""What the arguments of a tool call name: commands, folders, URLs and files.

Every agent has keys of its own, and none says so in advance. A value of a type that
nobody expects names nothing; nothing here raises, whatever JSON it is given.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

COMMAND_KEYS = ("command", "cmd")
FOLDER_KEYS = ("cwd", "workdir", "working_directory", "workingDirectory", "dir_path", "directory")
"""Where a command runs; of any other call they are paths."""
PATH_KEYS = (
    *("file_path", "filepath", "filePath", "fileName", "filename", "file", "path", "notebook_path"),
    *("absolute_path", "absolutePath", "target_file", "uri", "parentDir", "dir", "folder", "root"),
    *("old_path", "new_path", "oldPath", "newPath", "source", "destination", "src", "dst", "dest", "target"),
    *("source_path", "destination_path", "target_path", "from", "to", "move_path", "movePath"),
    *("paths", "files", "file_paths", "filePaths", "directories", "roots"),
)
"""Each may hold one path, or a list of paths."""
PART_KEYS = ("edits", "changes", "files", "operations")
"""A list of objects that each name a file, or an object whose keys are the files."""
PATTERN_KEYS = ("pattern", "glob", "include", "regex")
"""What a search looks for; one that has any and no path starts at the call's folder."""
PATCH_KEYS = ("diff", "patch", "patch_text", "patchText", "input")

_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da|k|a)?sh", re.DOTALL)
_RUN = re.compile(r"-[lieux]*c")
_WILD = re.compile(r"[*?\[{]")


def command_lines(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every command line that would run, the one under ``command`` first; () when there is none."""
    found: dict[str, None] = {}
    for key in COMMAND_KEYS:
        if line := _line(arguments.get(key), arguments.get("args")):
            found[line] = None
    # Copilot sends both; where they differ nobody can tell which it runs.
    several = arguments.get("commands")
    for each in several if isinstance(several, list) else ():
        if line := _line(each, None):
            found[line] = None
    return tuple(found)


def hides_commands(arguments: Mapping[str, Any]) -> bool:
    """Whether commands are there that cannot be read as such."""
    several = arguments.get("commands")
    if several is not None and not isinstance(several, list):
        return True
    values = [*(arguments.get(key) for key in COMMAND_KEYS), *(several or ())]
    return any(value is not None and value != "" and not _line(value, None) for value in values)


def folders(arguments: Mapping[str, Any], cwd: str) -> tuple[str, ...]:
    """Return the folders that a command's paths start from: those it names, joined to `cwd`, else `cwd`."""
    named = (_path(arguments.get(key)) for key in FOLDER_KEYS)
    return tuple(dict.fromkeys(str(PurePosixPath(cwd, path)) for path in named if path)) or (cwd,)


def urls(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every URL under ``url`` and ``urls``."""
    values = [arguments.get("url"), *_items(arguments.get("urls"))]
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def named_paths(arguments: Mapping[str, Any], *, with_folders: bool = True) -> tuple[str, ...]:
    """Return every path that `arguments` name, as they spell it, the call's own first."""
    keys = (*PATH_KEYS, *FOLDER_KEYS) if with_folders else PATH_KEYS
    found = dict.fromkeys(_paths_under(arguments, keys))
    for key in PART_KEYS:
        parts = arguments.get(key)
        if isinstance(parts, dict):
            found.update(
                dict.fromkeys(name for name, part in parts.items() if name and isinstance(part, dict))
            )
            parts = list(parts.values())
        for part in _items(parts):
            if isinstance(part, dict):
                found.update(dict.fromkeys(_paths_under(part, PATH_KEYS)))
    return tuple(found)


def searches(arguments: Mapping[str, Any]) -> bool:
    """Whether `arguments` say what to look for in files."""
    return any(isinstance(arguments.get(key), str) for key in PATTERN_KEYS)


def pattern_roots(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where patterns lead that leave the call's folder, such as ``/etc`` for ``/etc/*.conf``."""
    found: list[str] = []
    for key in PATTERN_KEYS:
        pattern = arguments.get(key)
        wild = _WILD.search(pattern) if isinstance(pattern, str) else None
        if wild is None:
            continue
        fixed = wild.string[: wild.start()].rpartition("/")[0]
        if wild.string.startswith(("/", "~/")) or ".." in fixed.split("/"):
            found.append(fixed or "/")
    return tuple(found)


def patches(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that may be patches."""
    values = (arguments.get(key) for key in PATCH_KEYS)
    return tuple(value for value in values if isinstance(value, str) and value)


def _line(command: Any, words: Any) -> str:
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if len(command) == 3 and _SHELL.fullmatch(command[0]) and _RUN.fullmatch(command[1]):
            return str(command[2])
        return shlex.join(command)
    if not isinstance(command, str) or not command.strip():
        return ""
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        return f"{command} {shlex.join(words)}"
    return command


def _paths_under(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = arguments.get(key)
        for each in _items(value) if isinstance(value, list) else (value,):
            if path := _path(each):
                yield path


def _path(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return unquote(value[7:]) if value.startswith("file:///") else value


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
