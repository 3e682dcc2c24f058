"""One daemon a home, whatever files say, and however long the home's path is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from devplane.control import client
from devplane.control import requests as r
from devplane.daemon.main import AnotherDaemon
from devplane.errors import NoDaemon
from devplane.paths import SOCKET_PATH_LIMIT_BYTES, Home
from tests.daemon.harness import LIMIT_S, SERVE, caller, end_daemon, environment, kill_daemon, start_daemon


@contextmanager
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "999"]) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_g34_no_file_with_a_pid_in_it_plays_any_role(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    with sleeping() as stranger:
        texts = [str(stranger.pid), "1", "0", "-1", "", "not a number"]
        for turn in range(0, len(texts), 2):
            for n, name in enumerate(("daemon.lock", "daemon.pid", "daemon.sock")):
                with suppress(FileNotFoundError):
                    (home.root / name).unlink()
                (home.root / name).write_text(texts[(turn + n) % len(texts)])
            with pytest.raises(NoDaemon, match="no daemon is running"):
                async with client.connect(home, start=False):
                    pass
            process = start_daemon(home)
            try:
                async with caller(home, tmp_path) as person:
                    assert (await person.ask(r.Status()))["pid"] == process.pid
                    await person.ask(r.Shutdown())
                process.communicate(timeout=LIMIT_S)
                assert process.returncode == 0
            finally:
                if process.poll() is None:
                    end_daemon(process)
            assert stranger.poll() is None


async def test_g34_a_second_daemon_of_a_home_says_so_and_fails(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = start_daemon(home)
    try:
        env = {**environment(), "DEVPLANE_HOME": str(home.root)}
        with anyio.fail_after(LIMIT_S):
            second = await anyio.run_process(SERVE, env=env, check=False)
        assert second.returncode == AnotherDaemon.exit_status
        said = second.stderr.decode()
        assert f"another daemon serves {home.root}" in said
        assert "Traceback" not in said
        async with caller(home, tmp_path) as person:
            assert (await person.ask(r.Status()))["pid"] == first.pid
    finally:
        end_daemon(first)


async def test_a_lock_ends_with_its_daemon_by_whichever_signal(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = start_daemon(home)
    kill_daemon(first)
    assert home.socket().exists(), "what it left behind must not matter"
    second = start_daemon(home)
    try:
        async with caller(home, tmp_path) as person:
            assert (await person.ask(r.Status()))["pid"] == second.pid
    finally:
        end_daemon(second)
    assert not home.socket().exists()


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, for homes of an exact length; the user's runtime folder is in it too."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="dp", dir="/tmp") as folder:
        runtime = Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        yield Path(folder)


def home_of(folder: Path, size_bytes: int, filler: str) -> Home:
    """A home whose path has exactly `size_bytes`."""
    room = size_bytes - len(os.fsencode(folder)) - 1
    unit = len(filler.encode())
    name = "x" * (room % unit) + filler * (room // unit)
    home = Home(folder / name)
    assert len(os.fsencode(home.root)) == size_bytes
    return home


@pytest.mark.parametrize("size_bytes", [91, 92, 100, 107, 108, 120])
@pytest.mark.parametrize("filler", ["h", "é"], ids=["ascii", "not-ascii"])
def test_g35_a_socket_path_always_fits_and_its_folder_is_private(
    short: Path, size_bytes: int, filler: str
) -> None:
    home = home_of(short, size_bytes, filler)
    home.prepare()
    path = home.socket()
    assert len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES
    assert (path.parent == home.root) == (size_bytes + len("/daemon.sock") <= SOCKET_PATH_LIMIT_BYTES)
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_g35_homes_with_long_paths_work_and_never_share_a_daemon(short: Path) -> None:
    homes = [
        home_of(short, 100, "h"),
        home_of(short, 107, "h"),
        home_of(short, 108, "h"),
        home_of(short, 120, "允"),
    ]
    processes = [start_daemon(home) for home in homes]
    try:
        for home, process in zip(homes, processes, strict=True):
            async with caller(home, short) as person:
                said = await person.ask(r.Status())
                assert (said["pid"], said["home"]) == (process.pid, str(home.root))
        async with caller(homes[0], short) as person:
            await person.ask(r.Shutdown())
        processes[0].wait(LIMIT_S)
        with pytest.raises(NoDaemon):
            async with client.connect(homes[0], start=False):
                pass
        async with caller(homes[1], short) as person:
            assert (await person.ask(r.Status()))["pid"] == processes[1].pid
    finally:
        for process in processes:
            end_daemon(process)
