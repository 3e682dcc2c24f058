"""Which editor has a directory open, and the program that raises its window.

Decided from what the caller has seen: the environment, the editors that run, the programs on PATH.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Editor:
    """One editor that Devplane knows."""

    name: str
    launchers: tuple[str, ...]
    """Programs that raise the window of the directory they are given; the first that is on PATH is used."""
    programs: tuple[str, ...]
    """How the file of the running program is named, in lower case."""
    bundle: str = ""
    """Its folder on macOS, where programs inside are named otherwise."""
    selectors: tuple[str, ...] = ()
    """How the settings folder begins that a Java process of it names."""


CODE = Editor("VS Code", ("code",), ("code",), "Visual Studio Code.app")
INSIDERS = Editor(
    "VS Code Insiders", ("code-insiders",), ("code-insiders",), "Visual Studio Code - Insiders.app"
)
CODIUM = Editor("VSCodium", ("codium",), ("codium", "vscodium"), "VSCodium.app")
CURSOR = Editor("Cursor", ("cursor",), ("cursor",), "Cursor.app")
WINDSURF = Editor("Windsurf", ("windsurf",), ("windsurf",), "Windsurf.app")
# `zeditor` first, since `zed` may be a daemon of the file system ZFS.
ZED = Editor("Zed", ("zeditor", "zed"), ("zed-editor", "zeditor"), "Zed.app")
JETBRAINS = (
    Editor("IntelliJ IDEA", ("idea",), ("idea",), selectors=("IntelliJIdea", "Idea")),
    Editor("PyCharm", ("pycharm",), ("pycharm",), selectors=("PyCharm",)),
    Editor("WebStorm", ("webstorm",), ("webstorm",), selectors=("WebStorm",)),
    Editor("GoLand", ("goland",), ("goland",), selectors=("GoLand",)),
    Editor("CLion", ("clion",), ("clion",), selectors=("CLion",)),
    Editor("RustRover", ("rustrover",), ("rustrover",), selectors=("RustRover",)),
    Editor("PhpStorm", ("phpstorm",), ("phpstorm",), selectors=("PhpStorm",)),
    Editor("RubyMine", ("rubymine",), ("rubymine",), selectors=("RubyMine",)),
)
EDITORS = (CODE, INSIDERS, CODIUM, CURSOR, WINDSURF, ZED, *JETBRAINS)

_FAMILY = (("insider", INSIDERS), ("codium", CODIUM), ("cursor", CURSOR), ("windsurf", WINDSURF))
"""Words in what the terminals of the VS Code family say of themselves; plain VS Code has none of them."""
_FAMILY_HINTS = (
    "VSCODE_GIT_ASKPASS_NODE",
    "VSCODE_GIT_ASKPASS_MAIN",
    "TERM_PROGRAM_VERSION",
    "__CFBundleIdentifier",
)
_JAVA_SETTINGS = "-Didea.paths.selector="

NO_DESKTOP = "there is no desktop here: neither DISPLAY nor WAYLAND_DISPLAY is set"
NONE_RUNS = "no editor that Devplane knows is running"


@dataclass(frozen=True, slots=True)
class Running:
    """A process of an editor."""

    editor: Editor
    folders: tuple[str, ...] = ()
    """The absolute paths that its command line and working directory name, symbolic links resolved."""
    started_s: float = 0.0
    is_above: bool = False
    """Whether this process descends from it."""


@dataclass(frozen=True, slots=True)
class Window:
    """What to do: run `launcher` with `folder`."""

    editor: Editor
    launcher: str
    folder: str
    """The run's directory, or the one around it that the editor has open."""


def editor_of(program: str, words: Sequence[str] = ()) -> Editor | None:
    """Return the editor that a process is, by the path (or name) of its program and its command line."""
    # The system says so of a program that was replaced by an update while it ran.
    path = program.removesuffix(" (deleted)")
    name = os.path.basename(path).lower()
    for editor in EDITORS:
        if name in editor.programs or (editor.bundle and f"/{editor.bundle}/" in path):
            return editor
    if name == "java":
        settings = next((word for word in words if word.startswith(_JAVA_SETTINGS)), "")
        named = settings.removeprefix(_JAVA_SETTINGS)
        return next((each for each in JETBRAINS if named and named.startswith(each.selectors)), None)
    return None


def paths_in(words: Sequence[str], cwd: str) -> Iterator[str]:
    """Yield the absolute paths that a command line and its working directory name."""
    if os.path.isabs(cwd):
        yield os.path.normpath(cwd)
    for word in words[1:]:
        named = word.partition("=")[2] if word.startswith("--folder-uri=") else word
        if named.startswith("file://"):
            named = unquote(urlsplit(named).path)
        if named and not named.startswith("-") and "\0" not in named:
            path = os.path.normpath(os.path.join(cwd, named))
            if os.path.isabs(path):
                yield path


def has_desktop(environ: Mapping[str, str], platform: str) -> bool:
    """Whether a window can be shown, as far as the environment tells; `platform` is ``sys.platform``."""
    return platform != "linux" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def choose(
    environ: Mapping[str, str],
    running: Iterable[Running],
    folders: Sequence[str],
    *,
    is_desktop: bool,
    find: Callable[[str], str | None],
) -> Window | str:
    """Return the window to raise, or why there is none, in half a sentence.

    The editor whose terminal this is comes first, then one that has one of `folders` open, then the
    only one that runs. `folders` are the run's directory and the checkouts that it belongs to, the
    nearest first. `find` returns the path of a program that is on PATH.
    """
    seen = list(running)
    editor = _of_this_terminal(environ, seen, folders)
    if editor is None and not is_desktop:
        return NO_DESKTOP
    editor = editor or _open_in(seen, folders)
    if editor is None:
        kinds = list(dict.fromkeys(each.editor.name for each in seen))
        if not kinds:
            return NONE_RUNS
        if len(kinds) > 1:
            return f"several editors run ({', '.join(kinds)}), and none is known to have it open"
        editor = seen[0].editor
    launcher = next(filter(None, map(find, editor.launchers)), None)
    if launcher is None:
        return f"{editor.name} runs, but its launcher {' or '.join(editor.launchers)} is not on PATH"
    return Window(editor, launcher, _folder(editor, seen, folders))


def _of_this_terminal(
    environ: Mapping[str, str], seen: Sequence[Running], folders: Sequence[str]
) -> Editor | None:
    if environ.get("TERM_PROGRAM") == "vscode":
        return _of_family(environ)
    if environ.get("ZED_TERM") == "true":
        return ZED
    if environ.get("TERMINAL_EMULATOR") == "JetBrains-JediTerm":
        # They all say the same.
        own = [each for each in seen if each.editor in JETBRAINS]
        above = [each for each in own if each.is_above]
        kinds = {each.editor for each in above or own}
        return kinds.pop() if len(kinds) == 1 else _open_in(own, folders)
    return None


def _of_family(environ: Mapping[str, str]) -> Editor:
    if environ.get("CURSOR_TRACE_ID"):
        return CURSOR
    home = environ.get("HOME") or "/"
    # What the person is called says nothing of the editor.
    said = " ".join(environ.get(name, "").removeprefix(home) for name in _FAMILY_HINTS).lower()
    return next((editor for word, editor in _FAMILY if word in said), CODE)


def _open_in(seen: Iterable[Running], folders: Sequence[str]) -> Editor | None:
    """The editor that names the nearest of `folders`; of several that do, the one that started last."""
    found = [
        (-folders.index(folder), each.started_s, each.editor)
        for each in seen
        for folder in folders
        if folder in each.folders
    ]
    return max(found, key=lambda each: each[:2])[2] if found else None


def _folder(editor: Editor, seen: Iterable[Running], folders: Sequence[str]) -> str:
    """A directory inside of what the editor has open would get a window of its own."""
    named = {folder for each in seen if each.editor == editor for folder in each.folders}
    around = (each for each in folders if each in named and _is_in(folders[0], each))
    return next(around, folders[0])


def _is_in(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder
