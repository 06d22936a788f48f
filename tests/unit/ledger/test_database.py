"""Opening push.db, and what is said where it cannot be opened, read or written."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from push.errors import ConfigError, DependencyError, PushError, TemporaryError
from push.ledger import engine, turns
from push.ledger.database import Database, unavailable
from push.ledger.schema import MIGRATIONS, VERSION
from push.ledger.verify import verify
from tests.ledger import lives

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    db.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""

WRITE = """
import sys
from dataclasses import replace
from pathlib import Path
from push.ledger import engine
from push.ledger.database import Database
from tests.ledger import lives
engine.CYSQLITE = sys.argv[2] == "cysqlite"
db = Database.open(Path(sys.argv[1]))
for number in range(int(sys.argv[4])):
    event = f"{sys.argv[3]}:{number}"
    lives.accept(db, replace(lives.message(sys.argv[3]), event_id=event))
"""


@pytest.fixture
def path(tmp_path: Path, library: str) -> Path:
    return tmp_path / "push.db"


@contextmanager
def held(path: Path, *statements: str) -> Iterator[None]:
    """Another process holds the file: locks do not count within one."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *statements], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.communicate()


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, to whom nothing is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def refusal(path: Path, kind: type[PushError] = TemporaryError) -> PushError:
    """What opening it says."""
    with pytest.raises(kind) as caught:
        Database.open(path, busy_seconds=0.1)
    return caught.value


# -- a healthy file --------------------------------------------------------------------------------------------------


def test_the_promises_of_the_connection_are_set(path: Path) -> None:
    with closing(Database.open(path)) as db:
        wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000, "fullfsync": 1}
        wanted["secure_delete"] = 1
        assert {name: (db.one(f"PRAGMA {name}") or ())[0] for name in wanted} == wanted
        assert db.one("PRAGMA user_version") == (VERSION,)


def test_the_library_is_the_one_that_was_chosen(path: Path, library: str) -> None:
    with closing(Database.open(path)) as db:
        assert db.one("SELECT sqlite_version()") == (".".join(map(str, engine.version())),)
        ours = library == "cysqlite"
        assert (engine.version() == sqlite3.sqlite_version_info) != ours


def test_files_are_private(path: Path) -> None:
    with closing(Database.open(path)) as db:
        lives.accept(db)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(("push.db", "push.db-wal", "push.db-shm", "push.db.writer"), 0o600)


def test_a_write_begins_immediate(path: Path) -> None:
    """Its transaction holds the write lock from the start, so that a read in it can never turn out to be stale."""
    with closing(Database.open(path, busy_seconds=0.1)) as db, held(path, "BEGIN IMMEDIATE"):
        entered = False
        with pytest.raises(TemporaryError), db.write():
            entered = True
        assert not entered


def test_a_failed_write_leaves_nothing(path: Path) -> None:
    def fail(db: Database) -> None:
        with db.write():
            db.insert("INSERT INTO conversation (key, channel, created_at) VALUES ('local:ann', 'local', 1)")
            raise ZeroDivisionError

    with closing(Database.open(path)) as db:
        with pytest.raises(ZeroDivisionError):
            fail(db)
        assert db.rows("SELECT * FROM conversation") == []


def test_a_snapshot_does_not_see_what_is_committed_meanwhile(path: Path) -> None:
    with closing(Database.open(path)) as db, closing(Database.open(path)) as other:
        with db.snapshot():
            before = db.rows("SELECT count(*) FROM turn")
            lives.accept(other)
            assert db.rows("SELECT count(*) FROM turn") == before == [(0,)]
        assert db.rows("SELECT count(*) FROM turn") == [(1,)]


def test_only_looking_makes_no_file(path: Path) -> None:
    assert Database.open_existing(path) is None
    assert list(path.parent.iterdir()) == []


def test_two_processes_write_side_by_side(path: Path, library: str) -> None:
    Database.open(path).close()
    root = Path(__file__).resolve().parents[3]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(path), library, user, "40"], cwd=root)
        for user in ("ann", "bob")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    with closing(Database.open(path)) as db:
        assert db.rows("SELECT id FROM turn ORDER BY id") == [(number,) for number in range(1, 81)]
        assert verify(db, {}, (), lambda what: None).damages == ()


# -- another's file --------------------------------------------------------------------------------------------------


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    Database.open(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    content = path.read_bytes()
    found = refusal(path, DependencyError)
    assert (found.code, found.exit_code) == ("schema_newer", 4)
    assert str(VERSION + 1) in found.message
    assert path.read_bytes() == content


@pytest.mark.parametrize("version", [0, VERSION])
def test_another_programs_database_is_left_alone(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE conversations (id INTEGER)")
        raw.execute(f"PRAGMA user_version = {version}")
    found = refusal(path, ConfigError)
    assert (found.code, found.exit_code) == ("foreign_database", 3)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("conversations",)]


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    with closing(Database.open(path)) as db:
        assert lives.accept(db).id == 1


@pytest.mark.parametrize("content", [b"not a database at all" * 99, b"SQLite format 3\0" + b"\xff" * 8192])
def test_what_is_no_database_is_said_to_be_none(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    found = refusal(path)
    assert (found.code, found.hint) == ("ledger_damaged", "push backup restore --help")
    assert path.read_bytes() == content


# -- locked, closed, full --------------------------------------------------------------------------------------------


def test_one_that_another_process_keeps_to_itself_is_not_waited_for_long(path: Path) -> None:
    with closing(Database.open(path)) as db:
        lives.accept(db)
    with held(path, "PRAGMA locking_mode = EXCLUSIVE", "UPDATE turn SET reason = NULL"):
        found = refusal(path)
    assert (found.code, found.exit_code, found.why) == ("ledger_locked", 5, "another program holds it")


def test_a_writer_that_does_not_end_is_not_waited_for_for_ever(path: Path) -> None:
    with closing(Database.open(path, busy_seconds=0.1)) as db:
        turn = lives.accept(db)
        with held(path, "BEGIN IMMEDIATE"):
            with pytest.raises(TemporaryError) as caught:
                turns.cancel(db, turn, "operator")
            assert lives.now(db, turn.id).state == "queued"  # reading goes on
        assert caught.value.code == "ledger_locked"
        turns.cancel(db, turn, "operator")


def test_a_full_disk_is_said_and_nothing_is_half_written(path: Path) -> None:
    with closing(Database.open(path)) as db:
        lives.accept(db)
        pages = db.one("PRAGMA page_count")
        assert pages is not None
        db.rows(f"PRAGMA max_page_count = {pages[0]}")
        with pytest.raises(TemporaryError) as caught:
            lives.accept(db, lives.message("bob", "x" * 100_000))
        assert (caught.value.code, caught.value.why) == ("disk_full", "the disk is full")
        assert db.rows("SELECT count(*) FROM turn") == [(1,)]
        db.rows("PRAGMA max_page_count = 1000000")
        assert lives.accept(db, lives.message("bob", "x" * 100_000)).id == 2
        assert verify(db, {}, (), lambda what: None).damages == ()


@pytest.mark.parametrize("mode", [0o444, 0o000])
def test_a_file_that_is_not_ours_to_write_is_said_to_be_so(path: Path, mode: int) -> None:
    Database.open(path).close()
    for folder in (path.parent, *path.parents[1:4]):
        folder.chmod(folder.stat().st_mode | 0o055)
    path.chmod(mode)
    with nobody():
        found = refusal(path)
    assert (found.code, found.exit_code) == ("ledger_not_writable", 5)
    assert str(path) in found.hint


def test_a_folder_that_is_not_there_is_said(path: Path) -> None:
    assert refusal(path.parent / "gone" / "push.db").code == "ledger_unavailable"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_is_full_before_anything_is_open(number: int) -> None:
    assert unavailable(Path("push.db"), OSError(number, "")).code == "disk_full"


def test_what_the_library_says_is_not_repeated(path: Path) -> None:
    """Its text may quote the statement."""
    with closing(Database.open(path)) as db:
        with pytest.raises(TemporaryError) as caught:
            db.rows("SELECT secret FROM nowhere")
        told = caught.value
        assert "secret" not in f"{told.message}{told.why}{told.hint}"


def test_an_upgrade_goes_through_every_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Database.open(path)) as db:
        lives.accept(db)
    later = (*MIGRATIONS, ("ALTER TABLE turn ADD COLUMN a INTEGER",), ("ALTER TABLE turn ADD COLUMN b INTEGER",))
    monkeypatch.setattr("push.ledger.database.MIGRATIONS", later)
    monkeypatch.setattr("push.ledger.database.VERSION", VERSION + 2)
    with closing(Database.open(path)) as db:
        assert db.rows("SELECT id, a, b FROM turn") == [(1, None, None)]
        assert db.one("PRAGMA user_version") == (VERSION + 2,)


def test_an_upgrade_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database.open(path).close()
    broken = (*MIGRATIONS, ("ALTER TABLE turn ADD COLUMN a INTEGER", "ALTER TABLE nothing ADD COLUMN b INTEGER"))
    with monkeypatch.context() as patch:
        patch.setattr("push.ledger.database.MIGRATIONS", broken)
        patch.setattr("push.ledger.database.VERSION", VERSION + 1)
        refusal(path)
    with closing(Database.open(path)) as db:
        assert db.one("PRAGMA user_version") == (VERSION,)
        assert "a" not in {name for _, name, *_ in db.rows("PRAGMA table_info(turn)")}


def test_nothing_is_written_to_a_file_that_was_taken_away(path: Path) -> None:
    db, aside = Database.open(path), path.with_name("aside")
    lives.accept(db)
    path.rename(aside)
    with pytest.raises(TemporaryError, match="deleted or replaced") as caught:
        lives.accept(db)
    assert caught.value.code == "ledger_replaced"
    aside.rename(path)
    assert lives.accept(db).id == 2, "it was put back"
    db.close()


def test_nothing_is_written_to_a_file_that_was_replaced(path: Path) -> None:
    db, other = Database.open(path), path.with_name("other")
    Database.open(other).close()
    other.replace(path)
    with pytest.raises(TemporaryError, match="deleted or replaced"):
        lives.accept(db)
    db.close()
