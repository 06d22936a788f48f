"""What came in is stored with the cursor that passes it: once, whole, or not at all."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import peewee
import pytest
from freezegun import freeze_time

from push.errors import TemporaryError
from push.ledger import arrivals, turns
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.ledger.verify import verify
from push.model.values import Accepted, Duplicate, Inbound
from tests.ledger import lives

BOT = Reading("telegram", "4711", 100)


def said(text: str = "hello", event: str = "e1", **more: object) -> Inbound:
    known = Inbound("telegram", "telegram:1", "1", event, "7", text, 1_000)
    return replace(known, **more)  # type: ignore[arg-type]


def position(db: Database) -> int | None:
    return arrivals.position(db, "telegram", "4711")


def count(db: Database, table: str = "turn") -> int:
    [(found,)] = db.rows(f"SELECT count(*) FROM {table}")
    return int(found)


def test_a_message_is_kept_with_all_that_its_channel_knows(db: Database) -> None:
    message = said("a\0\x1b[31m é 😀", sender="7", message_ref="m1", context="> quoted", hold_ms=1_500)
    with freeze_time("2026-03-01T12:00:00Z"):
        outcome = arrivals.accept(db, message)
    assert outcome == Accepted(1, 1, "turns", ahead=False)
    turn = lives.now(db, 1)
    assert (turn.text, turn.context, turn.target, turn.sender) == (message.text, "> quoted", "1", "7")
    assert (turn.received_at, turn.not_before) == (1_000, 1_772_366_401_500)
    assert (turn.lane, turn.ahead, turn.state) == ("turns", False, "queued")


def test_its_lane_and_its_hurry_are_kept_and_told(db: Database) -> None:
    assert arrivals.accept(db, said(lane="control", kind="command")) == Accepted(1, 1, "control", ahead=False)
    assert arrivals.accept(db, said(event="e2", ahead=True)) == Accepted(2, 1, "turns", ahead=True)
    assert (lives.now(db, 1).lane, lives.now(db, 2).ahead) == ("control", True)


def test_the_cursor_stands_in_the_same_commit(db: Database) -> None:
    assert position(db) is None
    arrivals.accept(db, said(), BOT)
    assert position(db) == 100
    assert arrivals.position(db, "telegram", "another bot") is None


def test_a_duplicate_moves_the_cursor_and_nothing_else(db: Database) -> None:
    arrivals.accept(db, said(), BOT)
    again = arrivals.accept(db, said("another text", conversation="telegram:2"), replace(BOT, position=101))
    assert again == Duplicate(1, 1)
    assert (count(db), count(db, "conversation"), position(db)) == (1, 1, 101)
    assert lives.now(db, 1).text == "hello"


def test_c3_what_cannot_be_stored_leaves_the_cursor(tmp_path: Path) -> None:
    """The disk is full: the service is asked again for the same update, and then it is there, once."""
    with closing(Database.open(tmp_path / "push.db")) as db:
        arrivals.accept(db, said(), BOT)
        pages = db.one("PRAGMA page_count")
        assert pages is not None
        db.rows(f"PRAGMA max_page_count = {pages[0]}")
        large = said("x" * 100_000, "e2")
        with pytest.raises(TemporaryError):
            arrivals.accept(db, large, replace(BOT, position=101))
        assert (count(db), position(db)) == (1, 100)
        db.rows("PRAGMA max_page_count = 1000000")
        arrivals.accept(db, large, replace(BOT, position=101))
        assert (count(db), position(db)) == (2, 101)


def test_c3_a_defect_between_cursor_and_row_leaves_the_cursor(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(arrivals, "born", broken)
    with pytest.raises(ZeroDivisionError):
        arrivals.accept(db, said(), BOT)
    assert (count(db), count(db, "conversation"), position(db)) == (0, 0, None)


def test_what_can_never_be_stored_is_kept_raw_and_passed(db: Database) -> None:
    with freeze_time("2026-03-01T12:00:00Z"):
        assert arrivals.reject(db, BOT, '{"update_id": 100}', "message_too_long") == 1
    assert position(db) == 100
    assert db.rows("SELECT channel, position, raw, reason, rejected_at, dismissed_at FROM rejected") == [
        ("telegram", 100, '{"update_id": 100}', "message_too_long", 1_772_366_400_000, None)
    ]


def test_c3_what_cannot_even_be_rejected_is_not_passed(db: Database) -> None:
    with pytest.raises(peewee.IntegrityError):
        arrivals.reject(db, BOT, None, "no text")  # type: ignore[arg-type]
    assert position(db) is None


def test_what_is_nothing_to_store_is_passed(db: Database) -> None:
    arrivals.passed(db, BOT)
    arrivals.passed(db, replace(BOT, position=105))
    assert position(db) == 105


def test_each_owner_has_a_place_of_his_own(db: Database) -> None:
    other = Reading("telegram", "4712", 7)
    with freeze_time("2026-03-01T12:00:00Z") as now:
        arrivals.passed(db, other)
        now.tick(1)
        arrivals.passed(db, BOT)
    assert arrivals.positions(db) == [other, BOT]
    assert arrivals.position(db, "telegram", "4712") == 7


def test_the_seams_are_passed_before_and_after_the_commit(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[tuple[str, int, int | None]] = []
    monkeypatch.setattr(arrivals, "seam", lambda name: passed.append((name, count(db), position(db))))
    arrivals.accept(db, said(message_ref="m1"), BOT)
    arrivals.edit(db, "telegram", ("m1", "7", "other"), replace(BOT, position=101))
    arrivals.reject(db, replace(BOT, position=102), "{}", "no")
    assert passed == [
        ("intake.before_commit", 0, None),
        ("intake.committed", 1, 100),
        ("intake.edited", 1, 101),
        ("intake.rejected", 1, 102),
    ]


def test_nothing_of_it_contradicts_itself(db: Database) -> None:
    arrivals.accept(db, said(), BOT)
    arrivals.accept(db, said(), BOT)
    turns.cancel(db, lives.now(db, 1), "operator")
    assert verify(db, {}, (), lambda what: None).damages == ()
