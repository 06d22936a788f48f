"""Where the home is."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from push.errors import ConfigError, ConflictError
from push.paths import Home, default_home, open_plain, way_in


def test_push_home_wins_and_an_empty_one_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PUSH_HOME", "~/elsewhere")
    assert default_home() == tmp_path / "elsewhere"
    monkeypatch.setenv("PUSH_HOME", "")
    assert default_home() == tmp_path / ".push"


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUSH_HOME", "~nobody-of-this-name/push")
    with pytest.raises(ConfigError) as caught:
        default_home()
    assert (caught.value.code, caught.value.exit_code) == ("home_unknown", 3)


def test_only_a_regular_file_is_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"words")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    os.mkfifo(tmp_path / "fifo")
    before = len(list(Path("/dev/fd").iterdir()))
    with open_plain(tmp_path / "plain") as file:
        assert file.read() == b"words"
    for name in ("folder", "link", "fifo", "missing", "plain/below"):
        with pytest.raises(FileNotFoundError):
            open_plain(tmp_path / name)
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a home that is somebody else's")
def test_a_home_of_another_user_is_refused_and_left_alone(home: Path) -> None:
    os.chown(home, 65534, 65534)
    with pytest.raises(ConflictError, match="belongs to another user") as caught:
        Home.at(home).make()
    assert caught.value.exit_code == 6
    assert list(home.iterdir()) == []


def test_the_next_command_of_a_path_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    missing = tmp_path / "none" / "below"
    file.touch()
    assert way_in(missing, OSError(errno.ENOSPC, "full")) == "push doctor --fix"
    assert way_in(file, OSError(errno.EACCES, "no")) == f"chmod u+rwX {tmp_path}"  # it is open itself
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert way_in(file, OSError(errno.EACCES, "no")) == f"chmod u+rwX '{file}'"
    assert way_in(missing, OSError(errno.EROFS, "no")) == f"ls -ld {tmp_path}"
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert way_in(file, OSError(errno.EACCES, "no")) == f"ls -ld '{file}'"
