"""chat.db is read as it is now, and cheaply."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from push.providers.imessage import columns
from push.providers.imessage.chatdb import ChatDb, Snapshot, Version
from push.providers.imessage.rows import Row
from tests.imessage import databases
from tests.imessage.databases import FRIEND, change, make, writing
from tests.imessage.reading import opened, read, version

SAY = "INSERT INTO message (guid, text, handle_id, service, date) VALUES ('G', '{}', 1, 'iMessage', 1)"


def test_rows_come_in_their_order_up_to_the_limit(path: Path) -> None:
    make(path, rows=5)
    with opened(path) as db:
        first = read(db, after=1, limit=3)
        assert [row.rowid for row in first.rows] == [2, 3, 4]
        assert first.is_cut
        assert first.newest == 5
        rest = read(db, after=4, limit=3)
        assert [row.rowid for row in rest.rows] == [5]
        assert not rest.is_cut
        assert read(db, after=5) == Snapshot(version(db), (), (), 5)


def test_a_row_has_its_handle_and_its_chat(path: Path) -> None:
    make(path, rows=1)
    with opened(path) as db:
        (row,) = read(db).rows
    assert (row.guid, row.text, row.sender, row.service) == ("G1", "text 1", FRIEND, "iMessage")
    assert row.sent_ns == databases.DATE + 1
    assert row.chat is not None
    assert (row.chat.guid, row.chat.identifier, row.chat.is_group) == (f"any;-;{FRIEND}", FRIEND, False)


def test_rows_are_read_again_where_they_still_are(path: Path) -> None:
    make(path, rows=5)
    change(path, "DELETE FROM message WHERE ROWID = 2")
    with opened(path) as db:
        found = read(db, after=4, again=(3, 1, 2))
    assert [row.rowid for row in found.again] == [1, 3]
    assert [row.rowid for row in found.rows] == [5]


def test_a_join_that_comes_later_and_a_second_one(path: Path) -> None:
    make(path)
    change(path, SAY.format("late"))
    with opened(path) as db:
        assert read(db).rows[0].chats == ()
        change(path, "INSERT INTO chat_message_join VALUES (99, 1)")  # to a chat that is not there
        assert read(db).rows[0].chats == ()
        change(path, "INSERT INTO chat_message_join VALUES (1, 1)")
        assert read(db).rows[0].chat is not None
        change(path, "INSERT INTO chat VALUES (2, 'any;-;other', 'other')")
        change(path, "DELETE FROM chat_message_join", "INSERT INTO chat_message_join VALUES (2, 1), (1, 1)")
        (row,) = read(db).rows
    assert [chat.identifier for chat in row.chats] == [FRIEND, "other"]
    assert row.chat is None


def test_another_process_is_seen_at_once(path: Path) -> None:
    make(path)
    with opened(path) as db, writing(path) as messages:
        before = read(db).version
        assert version(db) == before
        messages.do(SAY.format("one"))
        assert version(db) != before
        assert [row.text for row in read(db).rows] == ["one"]
        messages.do("BEGIN IMMEDIATE")
        messages.do(SAY.format("two"))
        assert [row.text for row in read(db).rows] == ["one"], "nothing that may be rolled back"
        messages.do("COMMIT")
        assert [row.text for row in read(db, after=1).rows] == ["two"]
        messages.do("UPDATE message SET text = 'filled' WHERE ROWID = 1")
        assert [row.text for row in read(db, after=2, again=(1,)).again] == ["filled"]


def test_what_comes_during_a_read_is_read_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(path, rows=1)
    real = columns.row

    def meanwhile(lines: list[tuple[Any, ...]]) -> Row:
        monkeypatch.undo()
        change(path, SAY.format("meanwhile"))
        return real(lines)

    with opened(path) as db:
        version(db)
        monkeypatch.setattr(columns, "row", meanwhile)
        found = read(db)
        assert (len(found.rows), found.newest) == (1, 1)
        assert version(db) != found.version


def test_no_snapshot_outlives_a_read(path: Path) -> None:
    make(path, rows=3)
    with opened(path) as db, closing(sqlite3.connect(path)) as messages:
        read(db, limit=1)
        version(db)
        messages.execute("UPDATE message SET text = 'changed'")
        messages.commit()
        busy, in_wal, _ = messages.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert (busy, in_wal) == (0, 0), "a reader that is in the middle of something holds the WAL"
        assert [row.text for row in read(db).rows] == ["changed"] * 3


def test_nothing_can_be_written(path: Path) -> None:
    make(path, rows=1)
    before = path.read_bytes()
    with opened(path) as db:
        version(db)
        assert db._open is not None
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db._open.connection.execute("DELETE FROM message")
        db._open.connection.execute("PRAGMA query_only=0")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db._open.connection.execute("DELETE FROM message")
    assert path.read_bytes() == before


def test_c31_a_replaced_file_is_another_one(path: Path, tmp_path: Path) -> None:
    make(path, rows=5)
    with opened(path) as db:
        before = read(db)
        make(tmp_path / "restored", rows=2).replace(path)
        now = version(db)
        assert now.file != before.version.file
        after = read(db)
        assert after.newest == 2
        assert after.version == now


def test_polling_a_big_file_with_nothing_new_is_cheap(path: Path) -> None:
    make(path, rows=100_000)
    with opened(path) as db:
        known = read(db, after=99_990).version
        best = min(_seconds(db, known) for _ in range(50))
        assert best < 0.001
        began = time.process_time()
        assert len(read(db, after=99_000, limit=1000).rows) == 1000
        assert time.process_time() - began < 0.5, "not the whole table"


def _seconds(db: ChatDb, known: Version) -> float:
    began = time.perf_counter()
    assert db.version() == known
    return time.perf_counter() - began
