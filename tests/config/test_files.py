"""Reading what others wrote without being held up by it; replacing our own whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from devplane.files import Unreadable, read_text, replace_private


def test_a_pipe_that_nobody_writes_to_does_not_hold_up_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="not an ordinary file"):
        read_text(tmp_path / "pipe")


def test_an_endless_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(Unreadable, match="not an ordinary file"):
        read_text(tmp_path / "zero")


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_text("x" * 11)
    with pytest.raises(Unreadable, match="too large"):
        read_text(tmp_path / "big", limit_bytes=10)
    assert read_text(tmp_path / "big", limit_bytes=11) == "x" * 11


def test_nothing_there_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert read_text(tmp_path / "missing") is None
    assert read_text(tmp_path / "file" / "below") is None


def test_a_replaced_file_is_private_and_a_link_to_it_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o644)
    link.symlink_to(real)
    replace_private(link, "new")
    assert (link.is_symlink(), real.read_text(), stat.S_IMODE(real.stat().st_mode)) == (True, "new", 0o600)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_failed_replacement_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        replace_private(tmp_path / "file", "\ud800")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]
