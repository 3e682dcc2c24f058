"""Files inside one folder: what gets out, and what is left when a write fails (G-27, G-29)."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from devplane.daemon import inside
from devplane.daemon.inside import FileTrouble, Missing, place_of, read, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return root


def names(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.parametrize(
    "path",
    [
        "../outside/new.txt",
        "/etc/hostname",
        "link/new.txt",
        "link/x/y.txt",
        "dangling",
        "chain",
        "a/../../outside/z",
    ],
)
def test_g27_a_path_that_leads_out_is_neither_read_nor_written(root: Path, path: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    (root / "dangling").symlink_to(root.parent / "outside" / "made.txt")
    (root / "chain").symlink_to("dangling")
    place = place_of(str(root), path)
    assert not place.is_inside
    with pytest.raises(FileTrouble, match="outside of"):
        read(place)
    with pytest.raises(FileTrouble, match="outside of"):
        write(place, b"x")
    assert names(root.parent / "outside") == ["secret.txt"]
    assert names(root) == ["chain", "dangling", "link"]


def test_g27_a_link_that_stays_inside_works_and_stays(root: Path) -> None:
    (root / "real").mkdir()
    (root / "by").symlink_to("real")
    (root / "new").symlink_to(root / "real" / "made.txt")
    write(place_of(str(root), "by/a.txt"), b"a")
    write(place_of(str(root), "new"), b"b")
    assert read(place_of(str(root), str(root / "by" / "a.txt"))) == b"a"
    assert (root / "real" / "made.txt").read_bytes() == b"b"
    assert (root / "new").is_symlink()


def test_g27_a_root_that_is_named_through_a_link_is_the_same_root(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    place = place_of(str(root.parent / "alias"), str(root.parent / "alias" / "a.txt"))
    write(place, b"a")
    assert (root / "a.txt").read_bytes() == b"a"


@pytest.mark.parametrize("what", ["parent", "file"])
def test_g27_a_link_that_is_put_there_after_the_look_gains_nothing(root: Path, what: str) -> None:
    (root / "sub").mkdir()
    place = place_of(str(root), "sub/secret.txt")
    assert place.is_inside
    if what == "parent":
        (root / "sub").rmdir()
        (root / "sub").symlink_to(root.parent / "outside")
    else:
        (root / "sub" / "secret.txt").symlink_to(root.parent / "outside" / "secret.txt")
    with pytest.raises(FileTrouble):
        read(place)
    with pytest.raises(FileTrouble):
        write(place, b"overwritten")
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"
    assert names(root.parent / "outside") == ["secret.txt"]


def test_g27_a_loop_of_links_is_an_error(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(FileTrouble):
        read(place_of(str(root), "a"))


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 300, "y/" * 3000])
def test_what_is_no_path_is_an_error_and_no_bug(root: Path, path: str) -> None:
    with pytest.raises(FileTrouble):
        write(place_of(str(root), path), b"x")


def test_what_is_not_there_is_missing(root: Path) -> None:
    for path in ("none.txt", "no/such/folder.txt"):
        with pytest.raises(Missing, match="no such file"):
            read(place_of(str(root), path))


def test_only_ordinary_files_are_read_and_replaced(root: Path) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    for path in ("folder", "pipe", ".", ""):
        with pytest.raises(FileTrouble):
            read(place_of(str(root), path))
        with pytest.raises(FileTrouble):
            write(place_of(str(root), path), b"x")
    assert stat.S_ISFIFO((root / "pipe").stat().st_mode)
    assert names(root) == ["folder", "pipe"]


def test_g29_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(root: Path) -> None:
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o751)
    write(place_of(str(root), "run.sh"), b"new")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
    write(place_of(str(root), "plain.txt"), b"x")
    (root / "usual.txt").write_text("x")
    assert (root / "plain.txt").stat().st_mode == (root / "usual.txt").stat().st_mode


def test_g29_missing_folders_are_made_inside(root: Path) -> None:
    write(place_of(str(root), "a/b/c.txt"), b"x")
    assert (root / "a" / "b" / "c.txt").read_bytes() == b"x"


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_g29_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (root / "a.txt").write_text("old")
    monkeypatch.setattr(f"devplane.daemon.inside.os.{call}", full)
    with pytest.raises(FileTrouble, match="No space left"):
        write(place_of(str(root), "a.txt"), b"new")
    assert (root / "a.txt").read_text() == "old"
    assert names(root) == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the superuser")
def test_g29_what_is_read_only_is_not_replaced(root: Path) -> None:
    (root / "kept.txt").write_text("old")
    (root / "kept.txt").chmod(0o444)
    (root / "closed").mkdir(0o555)
    for path in ("kept.txt", "closed/new.txt"):
        with pytest.raises(FileTrouble, match="Permission denied"):
            write(place_of(str(root), path), b"new")
    assert (root / "kept.txt").read_text() == "old"


def test_too_much_is_refused_both_ways(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "LIMIT_BYTES", 10)
    (root / "big").write_bytes(b"x" * 11)
    with pytest.raises(FileTrouble, match="larger than"):
        read(place_of(str(root), "big"))
    with pytest.raises(FileTrouble, match="more than"):
        write(place_of(str(root), "big"), b"y" * 11)
    assert (root / "big").read_bytes() == b"x" * 11
