"""Outbound rows: parts are checkpoints, and every outcome leads where it should."""

from __future__ import annotations

import pytest
from freezegun import freeze_time

from push.ledger import outbox, retries
from push.ledger.database import Database
from push.ledger.moves import StaleRow
from tests.ledger import lives


def order(db: Database, user: str = "ann") -> list[int]:
    return [row.id for row, _, _ in outbox.open_for(db, "local", user)]


def test_open_rows_are_a_targets_own_in_the_order_of_their_commits(db: Database) -> None:
    first, second, other = (lives.answered(db, user) for user in ("ann", "ann", "bob"))
    assert order(db) == [first.id, second.id]
    assert order(db, "bob") == [other.id]
    lives.deliver(db, first)
    assert order(db) == [second.id]


def test_a_row_knows_the_event_that_caused_it(db: Database) -> None:
    inbound = lives.message()
    with freeze_time("2026-03-01T12:00:00Z"):
        lives.answer(db, lives.start(db, lives.accept(db, inbound)))
    [(_, event, committed_at)] = outbox.open_for(db, "local", "ann")
    assert (event, committed_at) == (inbound.event_id, 1_772_366_400_000)


def test_a_delivered_part_is_not_to_be_sent_again(db: Database) -> None:
    row = lives.sending(db, lives.answered(db, "ann", "one", "two"))
    outbox.part_delivered(db, row, 0, "r0")
    outbox.not_sent(db, row, "offline", 5)
    again = outbox.get(db, row.id)
    assert again.parts == ((0, "one", True), (1, "two", False))
    assert (again.state, again.attempt) == ("waiting", 1)


def test_the_last_part_delivers_the_row(db: Database) -> None:
    row = lives.sending(db, lives.answered(db, "ann", "one", "two"))
    outbox.part_delivered(db, row, 0, "r0")
    assert outbox.get(db, row.id).state == "sending"
    assert outbox.is_open_for_turn(db, 1)
    outbox.part_delivered(db, row, 1, "r1")
    assert outbox.get(db, row.id).state == "delivered"
    assert not outbox.is_open_for_turn(db, 1)
    assert db.rows("SELECT receipt FROM part") == [("r0",), ("r1",)]


def test_two_senders_cannot_both_claim_a_row(db: Database) -> None:
    row = lives.answered(db)
    outbox.sending(db, row)
    with pytest.raises(StaleRow):
        outbox.sending(db, row)
    assert outbox.get(db, row.id).attempt == 1


@freeze_time("2026-03-01T12:00:00Z")
def test_what_was_not_sent_waits(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    outbox.not_sent(db, row, "429", 2.5)
    assert db.rows("SELECT state, reason, not_before, finished_at FROM outbound") == [
        ("waiting", "429", 1_772_366_402_500, None)
    ]


@pytest.mark.parametrize("state", ["failed", "unknown"])
def test_a_row_that_ends_badly_releases_those_behind_it(db: Database, state: str) -> None:
    row, behind = lives.answered(db), lives.answered(db)
    outbox.end(db, lives.sending(db, row), state, "blocked")
    assert order(db) == [behind.id]


def test_what_a_dead_sender_left_is_sent_once_more_and_marked(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    assert outbox.lost_sender(db, row)
    again = outbox.get(db, row.id)
    assert (again.state, again.repeat) == ("waiting", True)
    assert not outbox.lost_sender(db, lives.sending(db, again))
    assert outbox.get(db, row.id).state == "unknown"
    assert order(db) == []


def test_what_is_sent_again_by_hand_goes_behind_those_that_wait(db: Database) -> None:
    late, later, waiting = (lives.answered(db) for _ in range(3))
    for row in (later, late):
        outbox.end(db, lives.sending(db, row), "failed", "blocked")
        assert retries.send_again(db, row.id) is retries.Done.DONE
    newer = lives.answered(db)
    assert order(db) == [waiting.id, late.id, later.id, newer.id]
