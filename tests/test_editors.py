"""Which window is raised: decided by tables from what a desktop shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from devplane import editors
from devplane.editors import CODE, CURSOR, INSIDERS, JETBRAINS, WINDSURF, ZED, Running, Window

IDEA, PYCHARM = JETBRAINS[:2]


def finds(*programs: str) -> Callable[[str], str | None]:
    """PATH with `programs` on it."""
    return lambda name: f"/bin/{name}" if name in programs else None


def choose(
    seen: tuple[Running, ...] = (),
    environ: Mapping[str, str] | None = None,
    folders: tuple[str, ...] = ("/p",),
    *programs: str,
    is_desktop: bool = True,
) -> Window | str:
    on_path = programs or tuple(each for editor in editors.EDITORS for each in editor.launchers)
    return editors.choose(environ or {}, seen, folders, is_desktop=is_desktop, find=finds(*on_path))


@pytest.mark.parametrize(
    ("program", "words", "editor"),
    [
        ("/usr/share/code/code", (), CODE),
        ("/usr/share/code/code (deleted)", (), CODE),
        ("/usr/bin/Code-Insiders", (), INSIDERS),
        ("/opt/Cursor/cursor", (), CURSOR),
        ("/Applications/Visual Studio Code.app/Contents/MacOS/Electron", (), CODE),
        ("/Applications/Windsurf.app/Contents/MacOS/Electron", (), WINDSURF),
        ("/Applications/Zed.app/Contents/MacOS/zed", (), ZED),
        ("/usr/lib/zed/zed-editor", (), ZED),
        ("/usr/sbin/zed", (), None),
        ("/opt/idea/bin/idea", (), IDEA),
        ("/opt/jbr/bin/java", ("java", "-Didea.paths.selector=PyCharm2026.1"), PYCHARM),
        ("/opt/jbr/bin/java", ("java", "-Didea.paths.selector=IdeaIC2025.3"), IDEA),
        ("/opt/jbr/bin/java", ("java", "-Didea.paths.selector="), None),
        ("/usr/bin/java", ("java", "-jar", "code.jar"), None),
        ("/usr/bin/codex", ("codex",), None),
    ],
)
def test_an_editor_is_known_by_its_program(program: str, words: tuple[str, ...], editor: object) -> None:
    assert editors.editor_of(program, words) == editor


@pytest.mark.parametrize(
    ("words", "cwd", "found"),
    [
        (["code", "/p"], "/home", ["/home", "/p"]),
        (["code", "."], "/p", ["/p", "/p"]),
        (["code", "--folder-uri=file:///a%20b"], "/", ["/", "/a b"]),
        (["code", "file:///x"], "/", ["/", "/x"]),
        (["code", "--new-window", "../q"], "/p", ["/p", "/q"]),
        (["code", "bad\0word"], "", []),
    ],
)
def test_the_paths_that_a_command_line_names(words: list[str], cwd: str, found: list[str]) -> None:
    assert list(editors.paths_in(words, cwd)) == found


@pytest.mark.parametrize(
    ("environ", "platform", "has"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_where_windows_can_be_shown(environ: dict[str, str], platform: str, has: bool) -> None:
    assert editors.has_desktop(environ, platform) is has


def test_the_editor_whose_terminal_this_is_comes_first() -> None:
    seen = (Running(ZED, ("/p",)),)
    assert choose(seen, {"TERM_PROGRAM": "vscode"}) == Window(CODE, "/bin/code", "/p")
    cursor = {"TERM_PROGRAM": "vscode", "CURSOR_TRACE_ID": "1"}
    assert choose(seen, cursor) == Window(CURSOR, "/bin/cursor", "/p")
    insider = {"TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.99.0-insider"}
    assert choose(seen, insider) == Window(INSIDERS, "/bin/code-insiders", "/p")
    assert choose(seen, {"ZED_TERM": "true"}) == Window(ZED, "/bin/zeditor", "/p")


def test_a_person_whose_name_is_an_editors_is_not_misread() -> None:
    environ = {
        "TERM_PROGRAM": "vscode",
        "HOME": "/home/cursor",
        "VSCODE_GIT_ASKPASS_NODE": "/home/cursor/apps/code/code",
    }
    assert choose((), environ) == Window(CODE, "/bin/code", "/p")


def test_a_terminal_that_this_editor_holds_needs_no_display() -> None:
    """By ssh, the launcher inside of a remote window reaches the desktop at the other end."""
    found = choose((), {"TERM_PROGRAM": "vscode"}, is_desktop=False)
    assert found == Window(CODE, "/bin/code", "/p")


def test_of_the_jetbrains_editors_the_one_above_this_terminal() -> None:
    environ = {"TERMINAL_EMULATOR": "JetBrains-JediTerm"}
    seen = (Running(IDEA), Running(PYCHARM, is_above=True))
    assert choose(seen, environ) == Window(PYCHARM, "/bin/pycharm", "/p")
    assert choose((Running(IDEA),), environ) == Window(IDEA, "/bin/idea", "/p")


def test_one_that_has_the_directory_open_comes_before_others() -> None:
    seen = (Running(CODE, ("/other",)), Running(ZED, ("/p",)))
    assert choose(seen) == Window(ZED, "/bin/zeditor", "/p")


def test_the_nearest_directory_counts_then_the_latest_start() -> None:
    around = ("/p/worktree", "/p")
    seen = (Running(CODE, ("/p",), 9.0), Running(ZED, ("/p/worktree",), 1.0))
    assert choose(seen, None, around) == Window(ZED, "/bin/zeditor", "/p/worktree")
    seen = (Running(CODE, ("/p",), 1.0), Running(ZED, ("/p",), 9.0))
    assert choose(seen) == Window(ZED, "/bin/zeditor", "/p")


def test_a_directory_inside_of_what_is_open_gets_no_window_of_its_own() -> None:
    found = choose((Running(CODE, ("/p",)),), None, ("/p/src", "/p"))
    assert found == Window(CODE, "/bin/code", "/p")


def test_a_worktree_elsewhere_is_shown_itself_though_its_repository_is_open() -> None:
    found = choose((Running(CODE, ("/repo",)),), None, ("/home/worktrees/w", "/repo"))
    assert found == Window(CODE, "/bin/code", "/home/worktrees/w")


def test_the_only_one_that_runs_is_taken() -> None:
    assert choose((Running(CODE, ("/other",)),)) == Window(CODE, "/bin/code", "/p")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: choose((Running(CODE),), is_desktop=False), editors.NO_DESKTOP),
        (choose, editors.NONE_RUNS),
        (
            lambda: choose((Running(CODE), Running(ZED))),
            "several editors run (VS Code, Zed), and none is known to have it open",
        ),
        (
            lambda: choose((Running(ZED),), None, ("/p",), "code"),
            "Zed runs, but its launcher zeditor or zed is not on PATH",
        ),
    ],
)
def test_why_no_window_is_raised(found: Callable[[], Window | str], why: str) -> None:
    assert found() == why
