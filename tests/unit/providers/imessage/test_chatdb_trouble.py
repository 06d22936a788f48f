"""What is wrong with chat.db is a value, and is over as soon as it is over."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.providers.imessage.chatdb import Unavailable
from tests.imessage.databases import change, make, writing
from tests.imessage.reading import opened, read, version

NOBODY = 65534


def test_a_file_that_is_replaced_while_it_is_opened(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path, rows=5)
    make(tmp_path / "restored", rows=2)
    real = sqlite3.connect

    def connect(*args: object, **options: object) -> sqlite3.Connection:
        if (tmp_path / "restored").exists():
            (tmp_path / "restored").replace(path)
        return real(*args, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", connect)
    with opened(path) as db:
        assert db.version() == Unavailable("replaced")
        assert read(db).newest == 2


def test_a_file_that_comes_late_goes_and_comes_back(path: Path, tmp_path: Path) -> None:
    with opened(path) as db:
        assert db.read(0, 10) == db.version() == Unavailable("missing")
        make(path, rows=1)
        before = read(db).version
        path.rename(tmp_path / "away")
        assert db.read(0, 10) == Unavailable("missing")
        (tmp_path / "away").rename(path)
        assert version(db) != before, "what was committed meanwhile is not known"
        assert read(db).newest == 1


def test_a_lock_is_waited_for_a_moment_only(path: Path) -> None:
    make(path, rows=1)
    change(path, "PRAGMA journal_mode=DELETE")
    with opened(path) as db, writing(path) as messages:
        messages.do("BEGIN EXCLUSIVE")
        began = time.monotonic()
        assert db.read(0, 10) == Unavailable("locked")
        assert time.monotonic() - began < 5
        messages.do("COMMIT")
        assert read(db).newest == 1


def test_a_lock_that_comes_after_the_opening(path: Path) -> None:
    make(path, rows=1)
    change(path, "PRAGMA journal_mode=DELETE")
    with opened(path) as db, writing(path) as messages:
        read(db)
        messages.do("BEGIN EXCLUSIVE")
        assert db.read(0, 10) == Unavailable("locked")
        messages.do("COMMIT")
        assert read(db).newest == 1


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with opened(path) as db:
        assert db.read(0, 10) == db.version() == Unavailable("not_a_database")
        path.unlink()
        make(path, rows=1)
        assert read(db).newest == 1


def test_a_damaged_database(path: Path) -> None:
    make(path, rows=2000)
    content = bytearray(path.read_bytes())
    content[8 * 4096 :] = b"\xff" * (len(content) - 8 * 4096)
    path.write_bytes(content)
    with opened(path) as db:
        assert db.read(0, 5000) == Unavailable("damaged")


def test_a_folder_and_a_pipe_are_no_database(path: Path) -> None:
    path.mkdir()
    with opened(path) as db:
        assert db.version() == Unavailable("not_a_database")
        path.rmdir()
        os.mkfifo(path)
        assert db.version() == Unavailable("not_a_database")


def test_a_missing_column_that_is_needed_is_named(path: Path) -> None:
    path.touch()
    with opened(path) as db:
        empty = db.version()
        assert isinstance(empty, Unavailable)
        assert empty.reason == "schema"
        assert "message.guid" in empty.detail
        make(path)
        change(path, "ALTER TABLE message RENAME COLUMN item_type TO sort")
        assert db.version() == Unavailable("schema", "message.item_type")
        change(path, "ALTER TABLE message RENAME COLUMN sort TO item_type")
        assert read(db).rows == ()


def test_a_table_that_goes_while_the_file_is_open(path: Path) -> None:
    make(path, rows=1)
    with opened(path) as db:
        read(db)
        change(path, "ALTER TABLE message RENAME TO gone")
        assert db.read(0, 10) == Unavailable("schema")


@pytest.fixture
def forbidden() -> Iterator[Path]:
    """A chat.db that the one who asks may not open, whoever runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="p", dir="/tmp"))
    make(folder / "chat.db", rows=1)
    folder.chmod(0o755)
    (folder / "chat.db").chmod(0)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(NOBODY)
    yield folder / "chat.db"
    if was_root:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_no_permission_and_then_a_grant(forbidden: Path) -> None:
    def set_modes(folder: int, file: int) -> None:
        me = os.geteuid()
        if me == NOBODY:
            os.seteuid(0)
        forbidden.parent.chmod(folder)
        forbidden.chmod(file)
        os.seteuid(me)

    with opened(forbidden) as db:
        assert db.read(0, 10) == db.version() == Unavailable("no_permission")
        set_modes(0o600, 0o644)  # not even looked at
        assert db.version() == Unavailable("no_permission")
        set_modes(0o555, 0o644)  # may be read, but the index of its WAL cannot be made
        assert db.version() == Unavailable("folder_not_writable")
        set_modes(0o777, 0o644)
        assert read(db).newest == 1
