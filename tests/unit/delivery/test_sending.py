"""Sending: a row is `sending` before its first part leaves; each outcome leads where DESIGN.md 5 says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push.delivery.sending import send
from push.ledger import outbox, turns
from push.ledger.database import Database
from push.ledger.turns import Reply
from push.model.values import Delivered, Inbound, NotSent, Outbound, Plan, Refused, SendOutcome, Unknown


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    database = Database.open(home / "push.db")
    yield database
    database.close()


def _row(db: Database, *parts: str) -> Outbound:
    accepted = turns.accept(db, Inbound("local", "local:a", "a", "e1", "a", "hi", 0))
    turn = turns.get(db, accepted.turn_id)
    assert turn is not None
    turns.start(db, turn, Plan("command", None, True, 0, "/", ""))
    running = turns.get(db, turn.id)
    assert running is not None
    turns.answer(db, running, Reply(parts), "worker")
    return outbox.open_for(db, "local", "a")[0][0]


class Service:
    """Answers each part with the next outcome, and remembers what it was sent and in which state the row was."""

    def __init__(self, db: Database, row: Outbound, *outcomes: SendOutcome) -> None:
        self._db, self._row, self._outcomes = db, row, list(outcomes)
        self.sent: list[str] = []
        self.states: list[str] = []

    def __call__(self, _sequence: int, text: str) -> SendOutcome:
        self.sent.append(text)
        self.states.append(outbox.get(self._db, self._row.id).state)
        return self._outcomes.pop(0)


def test_the_row_is_committed_as_sending_before_each_part(db: Database) -> None:
    row = _row(db, "one", "two")
    service = Service(db, row, Delivered("r1"), Delivered("r2"))
    send(db, row, service)
    assert service.states == ["sending", "sending"]
    assert outbox.get(db, row.id).state == "delivered"
    assert outbox.open_for(db, "local", "a") == []


def test_delivered_parts_are_not_sent_again(db: Database) -> None:
    row = _row(db, "one", "two", "three")
    send(db, row, Service(db, row, Delivered("r1"), NotSent("offline", 0.0)))
    again = outbox.get(db, row.id)
    assert (again.state, [done for _, _, done in again.parts]) == ("waiting", [True, False, False])
    service = Service(db, again, Delivered("r2"), Delivered("r3"))
    send(db, again, service)
    assert service.sent == ["two", "three"]
    assert outbox.get(db, row.id).state == "delivered"


@pytest.mark.parametrize(
    ("outcome", "state", "reason"),
    [
        (NotSent("429", 37.0), "waiting", "429"),
        (Refused("403"), "failed", "403"),
        (Unknown("timeout"), "unknown", "timeout"),
    ],
)
def test_each_outcome_has_its_state_and_reason(db: Database, outcome: SendOutcome, state: str, reason: str) -> None:
    row = _row(db, "one")
    assert send(db, row, Service(db, row, outcome)) == outcome
    assert db.one("SELECT state, reason FROM outbound") == (state, reason)


def test_a_dead_sender_leads_to_one_marked_repeat_and_then_to_a_stop(db: Database) -> None:
    row = _row(db, "one")
    outbox.sending(db, row)
    assert outbox.lost_sender(db, outbox.get(db, row.id))
    once = outbox.get(db, row.id)
    assert (once.state, once.repeat) == ("waiting", True)
    outbox.sending(db, once)
    assert not outbox.lost_sender(db, outbox.get(db, row.id))
    assert outbox.get(db, row.id).state == "unknown"
