"""A ledger of schema 1, written by a Push that knew only the terminal, goes on under this one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from push.errors import DependencyError
from push.ledger import database as module
from push.ledger import line, listing, outbox, retries, sessions, turns
from push.ledger.database import Database
from push.ledger.schema import MIGRATIONS, VERSION
from push.ledger.verify import verify
from tests.ledger import lives

#: (id, conversation, kind, text, state, attempt, interruptions, delays, reason, finished_at, session)
TURNS = [
    (1, 1, "message", "hello", "answered", 1, 0, 0, None, 20, "s1"),
    (2, 1, "command", "/new", "answered", 0, 0, 0, None, 21, None),
    (3, 1, "message", "fails", "failed", 2, 1, 0, "agent_error", 22, "s2"),
    (4, 1, "message", "stopped", "cancelled", 0, 0, 0, None, 23, None),
    (5, 2, "message", "answer not printed yet", "answered", 1, 0, 0, None, 24, "s3"),
    (6, 2, "message", "twice killed while printing", "answered", 1, 0, 0, None, 25, "s3"),
    (7, 2, "message", "comes back", "waiting", 1, 0, 1, "in_use", None, "s3"),
    (8, 2, "message", "waits", "queued", 0, 0, 0, None, None, None),
    (9, 3, "message", "runs", "running", 1, 0, 0, None, None, "s4"),
]
#: (id, turn, conversation, target, state, attempt, repeat, reason, goes_after, finished_at, steps, parts)
#: The counting was another one: every send was an attempt, and one that was not sent too.
BORN = [(None, "pending", "worker")]
SENT = [("pending", "sending", "sender"), ("sending", "delivered", "sender")]
RESENT = [
    ("pending", "sending", "sender"),
    ("sending", "unknown", "recovery"),
    ("unknown", "waiting", "sender"),
    ("waiting", "sending", "sender"),
]
OUTBOUND = [
    (1, 1, 1, "ann", "delivered", 1, 0, None, None, 30, SENT, [("hi", "r1"), (" there", "r2")]),
    (2, 2, 1, "ann", "delivered", 2, 1, None, None, 31, [*RESENT, ("sending", "delivered", "sender")], [("new", "r3")]),
    (3, 3, 1, "ann", "pending", 0, 0, None, None, None, [], [("sorry", None)]),
    (
        4,
        5,
        2,
        "bob",
        "waiting",
        1,
        0,
        "the terminal is gone (Broken pipe)",
        None,
        None,
        [("pending", "sending", "sender"), ("sending", "waiting", "sender")],
        [("one", "r4"), ("two", None)],
    ),
    (5, 6, 2, "bob", "unknown", 2, 1, None, None, 32, [*RESENT, ("sending", "unknown", "recovery")], [("six", None)]),
]
TURN_STEPS = {
    "queued": [],
    "running": [("queued", "running", "worker")],
    "waiting": [("queued", "running", "worker"), ("running", "waiting", "worker")],
    "answered": [("queued", "running", "worker"), ("running", "answered", "worker")],
    "cancelled": [("queued", "cancelled", "operator")],
    "failed": [
        ("queued", "running", "worker"),
        ("running", "interrupted", "recovery"),
        ("interrupted", "queued", "recovery"),
        ("queued", "running", "worker"),
        ("running", "failed", "worker"),
    ],
}


def write_schema_1(path: Path) -> None:
    """A file as the version before wrote it."""
    with closing(sqlite3.connect(path)) as raw, raw:
        for statement in MIGRATIONS[0]:
            raw.execute(statement)
        raw.execute("PRAGMA user_version = 1")
        people = ((1, "local:ann"), (2, "local:bob"), (3, "local:cyd"))
        raw.executemany("INSERT INTO conversation VALUES (?, ?, 'local', 1)", people)
        for turn in TURNS:
            _write_turn(raw, turn)
        for row in OUTBOUND:
            _write_outbound(raw, row)


def _write_turn(raw: sqlite3.Connection, turn: tuple[object, ...]) -> None:
    number, conversation, kind, text, state, attempt, interruptions, delays, reason, finished, session = turn
    user = "abc"[int(str(conversation)) - 1] + ("nn", "ob", "yd")[int(str(conversation)) - 1]
    ran = attempt != 0
    raw.execute(
        "INSERT INTO turn (id, conversation_id, channel, event_id, sender, target, kind, text, state, attempt, "
        "interruptions, delays, reason, finished_at, session_id, received_at, queued_at, started_at, agent, is_new, "
        "epoch, work_dir, instructions_sha256, rehydrated) "
        "VALUES (?, ?, 'local', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 2, 3, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(number, conversation, f"t:{number}", user, user, kind, text, state, attempt, interruptions, delays),
            *(reason, finished, session, 4 if state != "queued" else None),
            *(("claude", 1, 0, "/assistant", "ab", 0) if ran else (None,) * 6),
        ),
    )
    _write_steps(raw, "turn", number, [(None, "queued", "channel"), *TURN_STEPS[str(state)]])


def _write_outbound(raw: sqlite3.Connection, row: tuple[object, ...]) -> None:
    number, turn, conversation, target, state, attempt, repeat, reason, goes_after, finished, steps, _ = row
    raw.execute(
        "INSERT INTO outbound (id, turn_id, conversation_id, channel, target, state, attempt, repeat, reason, "
        "goes_after, finished_at, created_at) VALUES (?, ?, ?, 'local', ?, ?, ?, ?, ?, ?, ?, 5)",
        (number, turn, conversation, target, state, attempt, repeat, reason, goes_after, finished),
    )
    for sequence, (text, receipt) in enumerate(_parts(row)):
        values = (number, sequence, text, receipt, 6 if receipt else None)
        raw.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", values)
    assert isinstance(steps, list)
    _write_steps(raw, "outbound", number, [*BORN, *steps])


def _parts(row: tuple[object, ...]) -> list[tuple[str, str | None]]:
    parts = row[11]
    assert isinstance(parts, list)
    return parts


def _write_steps(raw: sqlite3.Connection, machine: str, number: object, steps: list[tuple[object, ...]]) -> None:
    sql = "INSERT INTO transition (machine, row_id, source, target, actor, at) VALUES (?, ?, ?, ?, ?, 7)"
    raw.executemany(sql, [(machine, number, *step) for step in steps])


@pytest.fixture
def path(tmp_path: Path, library: str) -> Path:
    file = tmp_path / "push.db"
    write_schema_1(file)
    return file


@pytest.fixture
def old(path: Path) -> Iterator[Database]:
    """Opened, and so brought up to date."""
    database = Database.open(path)
    yield database
    database.close()


def test_it_is_brought_up_to_date_and_proves_itself(old: Database) -> None:
    assert old.one("PRAGMA user_version") == (VERSION,)
    assert old.one("PRAGMA integrity_check") == ("ok",)
    assert verify(old, {}, (), lambda what: None).damages == ()


def test_it_has_the_tables_of_a_new_one(old: Database, tmp_path: Path) -> None:
    """A new ledger goes through the same steps; what this shows is that they do not depend on rows."""
    (tmp_path / "new").mkdir()
    sql = "SELECT name, sql FROM sqlite_master ORDER BY name"
    with closing(Database.open(tmp_path / "new" / "push.db")) as new:
        assert [tuple(row) for row in old.rows(sql)] == [tuple(row) for row in new.rows(sql)]


def test_every_row_is_there_as_it_was(old: Database) -> None:
    found = old.rows(
        "SELECT id, conversation_id, kind, text, state, attempt, interruptions, delays, reason, finished_at, "
        "session_id FROM turn ORDER BY id"
    )
    assert [tuple(row) for row in found] == TURNS
    sent = old.rows(
        "SELECT o.id, state, attempt, repeat, text, receipt FROM outbound o JOIN part p ON p.outbound_id = o.id "
        "ORDER BY o.id, seq"
    )
    assert [tuple(row) for row in sent] == [
        (row[0], row[4], row[5], row[6], text, receipt) for row in OUTBOUND for text, receipt in _parts(row)
    ]


def test_it_reads_as_rows_of_the_plain_lane(old: Database) -> None:
    turn = lives.now(old, 8)
    assert (turn.lane, turn.ahead, turn.context, turn.text) == ("turns", False, None, "waits")
    assert [row.id for row in line.of(old, 2)] == [7, 8]
    assert turns.open_controls(old) == []
    row = outbox.get(old, 4)
    assert (row.urgent, row.late, row.delays, row.since) == (False, False, 0, row.created_at)
    assert [part.delivered for part in row.parts] == [True, False]
    assert turns.recent_messages(old, lives.now(old, 8), 20)[0] == ("user", "answer not printed yet")
    assert turns.recent_messages(old, lives.now(old, 3), 1) == [("assistant", "hi there")]


def test_what_was_sent_again_before_is_known_to_be_a_repeat(old: Database) -> None:
    """Else it would go out unmarked, and a second time."""
    assert [row[:2] for row in old.rows("SELECT outbound_id, seq FROM part WHERE repeats > 0")] == [(2, 0), (5, 0)]
    assert outbox.get(old, 5).parts[0].repeats == 1


def test_everything_that_lists_can_read_it(old: Database) -> None:
    assert [line.id for line in listing.turns(old, listing.Selection())] == list(range(9, 0, -1))
    assert all(listing.turn_record(old, number) for number in range(1, 10))
    assert {line.conversation for line in listing.conversations(old, 10)} == {"local:ann", "local:bob", "local:cyd"}
    assert {row.id for row in retries.waiting_or_failed(old, 10)} >= {"t3", "t7", "d4", "d5"}
    assert sessions.last_sessions(old, lambda text: text == "/new")["local:cyd"].uuid == "s4"


def test_what_was_on_its_way_goes_on(old: Database) -> None:
    for number in (3, 4):
        lives.deliver(old, outbox.get(old, number))
    assert retries.send_again(old, 5) is retries.Done.DONE
    assert outbox.get(old, 5).late
    lives.deliver(old, outbox.get(old, 5))
    lives.answer(old, lives.now(old, 9))
    turns.resume_waiting(old, lives.now(old, 7), "worker")
    for number in (7, 8):
        lives.answer(old, lives.start(old, lives.now(old, number)))
    lives.accept(old)
    assert verify(old, {}, (), lambda what: None).damages == ()


def test_the_version_before_refuses_it_and_leaves_it_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database.open(path).close()
    content = path.read_bytes()
    monkeypatch.setattr(module, "VERSION", 1)
    monkeypatch.setattr(module, "MIGRATIONS", MIGRATIONS[:1])
    with pytest.raises(DependencyError) as caught:
        Database.open(path)
    assert (caught.value.code, caught.value.exit_code) == ("schema_newer", 4)
    assert path.read_bytes() == content


def test_an_upgrade_that_breaks_off_leaves_a_file_of_the_version_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        broken = (MIGRATIONS[0], (*MIGRATIONS[1], "ALTER TABLE nothing ADD COLUMN b INTEGER"))
        patch.setattr(module, "MIGRATIONS", broken)
        with pytest.raises(Exception, match=r"cannot use .*push\.db"):
            Database.open(path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (1,)
        assert raw.execute("SELECT count(*) FROM pragma_table_info('turn') WHERE name = 'lane'").fetchone() == (0,)
    with closing(Database.open(path)) as db:
        assert verify(db, {}, (), lambda what: None).damages == ()
