"""What stands before a part: that it is a repeat, or late, or that an earlier answer did not arrive, told once."""

from __future__ import annotations

from freezegun import freeze_time

from push.delivery import notes
from push.delivery.sending import Sender
from push.ledger import outbox, retries
from push.ledger.arrivals import units
from push.ledger.database import Database
from push.model.values import Delivered, NotSent, Outbound, Refused, Unknown
from tests.ledger import lives
from tests.unit.delivery.scripted import HOLD, ONCE, Service, send


def sent(db: Database, row: Outbound, service: Service | None = None) -> list[tuple[str, str]]:
    service = service or Service(db)
    Sender(db, ONCE, service).send(outbox.get(db, row.id))
    return service.sent


def test_what_did_not_arrive_is_told_with_the_next_answer_and_no_more(db: Database) -> None:
    send(db, lives.answered(db), Refused("blocked"))
    nxt, last = lives.answered(db, "ann", "one", "two"), lives.answered(db, "ann", "three")
    assert sent(db, nxt) == [("one", notes.undelivered(1)), ("two", "")]
    assert sent(db, last) == [("three", "")]


def test_several_are_counted(db: Database) -> None:
    send(db, lives.answered(db), Refused("blocked"))
    send(db, lives.answered(db), Unknown("timeout"), policy=HOLD)
    [(_, note)] = sent(db, lives.answered(db))
    assert note.startswith("⚠️ 2 earlier answers")


def test_it_is_told_again_where_the_telling_did_not_arrive(db: Database) -> None:
    send(db, lives.answered(db), Refused("blocked"))
    row = lives.answered(db)
    assert sent(db, row, Service(db, NotSent("offline", 0.0))) == [("hi", notes.undelivered(1))]
    assert sent(db, row) == [("hi", notes.undelivered(1))]


def test_it_is_told_after_a_repeat_and_not_instead_of_its_mark(db: Database) -> None:
    send(db, lives.answered(db), Refused("blocked"))
    row = lives.answered(db)
    send(db, row, Unknown("timeout"))
    [(_, note)] = sent(db, row)
    assert "repeat" in note
    assert sent(db, lives.answered(db)) == [("hi", notes.undelivered(1))]


def test_nobody_is_told_of_another_conversation(db: Database) -> None:
    send(db, lives.answered(db, "bob"), Refused("blocked"))
    assert sent(db, lives.answered(db)) == [("hi", "")]


@freeze_time("2026-03-01T12:00:00Z")
def test_a_late_one_says_when_it_was_written_before_its_first_part(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    send(db, row, Refused("blocked"))
    retries.send_again(db, row.id)
    late = "⏳ Late, written 01 Mar 12:00 UTC:"
    assert sent(db, row) == [("one", late), ("two", "")]


def test_the_rest_of_a_late_one_says_nothing(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    send(db, row, Delivered("r"), Refused("blocked"))
    outbox.told(db, [row.id])
    retries.send_again(db, row.id)
    assert sent(db, row) == [("two", "")]


def test_a_note_is_short(db: Database) -> None:
    """The parts leave room for one of 90 units."""
    row = lives.answered(db)
    send(db, row, Refused("blocked"))
    retries.send_again(db, row.id)
    late = outbox.get(db, row.id)
    send(db, row, Unknown("timeout"))
    repeated = outbox.get(db, row.id)
    found = [
        notes.before(late, late.parts[0], 3),
        notes.before(repeated, repeated.parts[0], 3),
        notes.undelivered(1),
        notes.undelivered(999_999),
    ]
    assert all(0 < units(note) <= 90 for note in found)
    assert len(set(found)) == 4
