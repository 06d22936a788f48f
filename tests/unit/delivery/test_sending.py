"""Sending: a row is `sending` before its first part leaves; each outcome leads where DESIGN.md 5 says."""

from __future__ import annotations

import pytest
from freezegun import freeze_time

from push.delivery.sending import MAX_ATTEMPTS, Ended, Policy, Sender, Waits
from push.ledger import outbox, pace, retries
from push.ledger.database import Database
from push.model.values import Delivered, NotSent, Outbound, Pace, Refused, Unknown
from tests.ledger import lives
from tests.unit.delivery.scripted import HOLD, ONCE, Service, send

NOON = "2026-03-01T12:00:00Z"
NOON_MS = 1_772_366_400_000
PACES = (Pace("ann", ((1, 1.0),)), Pace("", ((30, 1.0),)))
DAY = Policy(expire_after=86_400, resend_unknown=True)


def now(db: Database, row: Outbound) -> Outbound:
    return outbox.get(db, row.id)


def summary(db: Database, row: Outbound) -> tuple[str, int, int, bool, str | None]:
    found = now(db, row)
    return found.state, found.attempt, found.delays, found.repeat, found.reason


def test_the_row_is_committed_as_sending_before_each_part(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    service = Service(db)
    assert Sender(db, ONCE, service).send(row) == Ended(delivered=True)
    assert service.committed == [[row.id], [row.id]]
    assert service.sent == [("one", ""), ("two", "")]
    assert summary(db, row) == ("delivered", 1, 0, False, None)
    assert db.rows("SELECT receipt FROM part ORDER BY seq") == [("r1",), ("r2",)]


def test_delivered_parts_are_not_sent_again(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two", "three")
    outcome = send(db, row, Delivered("r1"), NotSent("offline", 0.0))
    assert isinstance(outcome, Waits)
    assert [part.delivered for part in now(db, row).parts] == [True, False, False]
    service = Service(db)
    Sender(db, ONCE, service).send(now(db, row))
    assert service.texts == ["two", "three"]
    assert now(db, row).state == "delivered"


# -- proven not executed ---------------------------------------------------------------------------------------------


def test_what_was_not_sent_backs_off_and_does_not_count(db: Database) -> None:
    row = lives.answered(db)
    with freeze_time(NOON) as clock:
        for delays, seconds in enumerate((1, 2, 4, 8, 16, 32, 60, 60)):
            begun = NOON_MS + int((clock().timestamp() - 1_772_366_400) * 1000)
            outcome = send(db, row, NotSent("offline"))
            assert isinstance(outcome, Waits)
            assert 0.8 * seconds <= (outcome.until - begun) / 1000 <= 1.2 * seconds
            assert summary(db, row) == ("waiting", 0, delays + 1, False, "offline")
            assert now(db, row).not_before == outcome.until
            clock.tick(100)


def test_what_the_service_asks_to_wait_holds_the_whole_chat(db: Database) -> None:
    row, other = lives.answered(db), lives.answered(db, "bob")
    with freeze_time(NOON) as clock:
        assert send(db, row, NotSent("429", 37.0), paces=PACES) == Waits(NOON_MS + 37_000)
        assert [(found.key, found.until, found.reason) for found in pace.pauses(db)] == [
            ("ann", NOON_MS + 37_000, "429")
        ]
        assert send(db, row, paces=PACES) == Waits(NOON_MS + 37_000), "nothing was sent"
        assert summary(db, row) == ("waiting", 0, 1, False, "429")
        clock.tick(1)
        assert send(db, other, paces=(Pace("bob", PACES[0].limits), PACES[1])) == Ended(delivered=True)
        clock.tick(36)
        assert send(db, row, paces=PACES) == Ended(delivered=True)


def test_a_wait_of_more_than_a_day_is_a_day(db: Database) -> None:
    """Beyond that an instant is taken for one of a clock that was wrong, and would be no wait at all."""
    with freeze_time(NOON):
        assert send(db, lives.answered(db), NotSent("429", 1e6), paces=PACES) == Waits(NOON_MS + 86_400_000)


# -- refused ---------------------------------------------------------------------------------------------------------


def test_what_is_refused_for_good_is_tried_once(db: Database) -> None:
    row = lives.answered(db)
    assert send(db, row, Refused("blocked")) == Ended(delivered=False)
    assert summary(db, row) == ("failed", 1, 0, False, "blocked")


def test_what_may_not_be_refused_for_good_is_tried_three_times(db: Database) -> None:
    row = lives.answered(db)
    with freeze_time(NOON) as clock:
        for attempt in range(1, MAX_ATTEMPTS):
            outcome = send(db, row, Refused("500", final=False))
            assert isinstance(outcome, Waits)
            assert outcome.until == NOON_MS + (attempt - 1) * 60_000 + attempt * 5_000
            assert summary(db, row) == ("waiting", attempt, 0, False, "500")
            clock.tick(60)
        assert send(db, row, Refused("500", final=False)) == Ended(delivered=False)
    assert summary(db, row) == ("failed", MAX_ATTEMPTS, 0, False, "500")


def test_what_was_not_sent_in_between_is_no_attempt(db: Database) -> None:
    row = lives.answered(db)
    for outcome in (Refused("500", final=False), NotSent("offline", 0.0), Refused("500", final=False)):
        assert isinstance(send(db, row, outcome), Waits)
    assert summary(db, row)[:3] == ("waiting", 2, 1)


# -- unknown ---------------------------------------------------------------------------------------------------------


def test_what_may_have_been_sent_is_sent_once_more_marked_and_then_held(db: Database) -> None:
    row = lives.answered(db)
    outcome = send(db, row, Unknown("timeout"))
    assert isinstance(outcome, Waits)
    assert summary(db, row) == ("waiting", 1, 0, True, "timeout")
    service = Service(db, Unknown("timeout"))
    assert Sender(db, ONCE, service).send(now(db, row)) == Ended(delivered=False)
    assert "repeat" in service.notes[0]
    assert summary(db, row) == ("unknown", 2, 0, True, "timeout")


def test_the_second_time_it_may_arrive(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    send(db, row, Delivered("r0"), Unknown("timeout"))
    service = Service(db)
    assert Sender(db, ONCE, service).send(now(db, row)) == Ended(delivered=True)
    assert service.texts == ["two"]
    assert summary(db, row) == ("delivered", 2, 0, True, None)


def test_each_part_may_be_repeated_once(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    send(db, row, Unknown("timeout"))
    service = Service(db, Delivered("r0"), Unknown("timeout"))
    assert isinstance(Sender(db, ONCE, service).send(now(db, row)), Waits)
    assert [bool(note) for note in service.notes] == [True, False]
    service = Service(db)
    Sender(db, ONCE, service).send(now(db, row))
    assert [(text, bool(note)) for text, note in service.sent] == [("two", True)]


def test_with_hold_a_person_decides(db: Database) -> None:
    row, behind = lives.answered(db), lives.answered(db)
    assert send(db, row, Unknown("timeout"), policy=HOLD) == Ended(delivered=False)
    assert summary(db, row) == ("unknown", 1, 0, False, "timeout")
    assert outbox.head(db, "local", "ann", 0) == behind
    retries.send_again(db, row.id)
    service = Service(db)
    assert Sender(db, HOLD, service).send(now(db, row)) == Ended(delivered=True)
    assert "repeat" in service.notes[0]


def test_a_dead_sender_leads_to_one_marked_repeat_and_then_to_a_stop(db: Database) -> None:
    row = lives.sending(db, lives.answered(db, "ann", "one", "two"))
    outbox.part_delivered(db, row, 0, "r0")
    service = Service(db)
    assert isinstance(Sender(db, ONCE, service).send(now(db, row)), Waits)
    assert service.sent == [], "first it is recorded"
    assert summary(db, row) == ("waiting", 1, 0, True, "sender_died")
    assert db.rows("SELECT actor FROM transition WHERE target = 'unknown'") == [("recovery",)]
    lives.sending(db, now(db, row))
    assert send(db, row) == Ended(delivered=False)
    assert summary(db, row) == ("unknown", 2, 0, True, "sender_died")


def test_a_dead_sender_with_hold_leads_to_a_stop(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    assert send(db, row, policy=HOLD) == Ended(delivered=False)
    assert summary(db, row) == ("unknown", 1, 0, False, "sender_died")


# -- budgets ---------------------------------------------------------------------------------------------------------


def test_parts_keep_the_pace(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two", "three")
    with freeze_time(NOON) as clock:
        services = [Service(db) for _ in range(3)]
        ends = []
        for service in services:
            ends.append(Sender(db, ONCE, service, PACES).send(now(db, row)))
            clock.tick(1)
    assert ends == [Waits(NOON_MS + 1_000), Waits(NOON_MS + 2_000), Ended(delivered=True)]
    assert [service.texts for service in services] == [["one"], ["two"], ["three"]]
    assert summary(db, row) == ("delivered", 1, 0, False, None)


def test_a_slow_service_needs_no_waiting(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    with freeze_time(NOON, auto_tick_seconds=1):
        assert send(db, row, paces=PACES) == Ended(delivered=True)


def test_without_a_free_budget_nothing_is_touched(db: Database) -> None:
    first, row = lives.answered(db), lives.answered(db)
    with freeze_time(NOON):
        send(db, first, paces=PACES)
        before = now(db, row)
        assert send(db, row, paces=PACES) == Waits(NOON_MS + 1_000)
        assert now(db, row) == before


# -- expiry ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "state"), [(86_400, "delivered"), (86_401, "failed")])
def test_what_could_not_be_sent_for_a_day_is_given_up(db: Database, seconds: int, state: str) -> None:
    with freeze_time(NOON) as clock:
        row = lives.answered(db)
        send(db, row, NotSent("offline"))
        clock.tick(seconds)
        service = Service(db)
        Sender(db, DAY, service).send(now(db, row))
    assert (now(db, row).state, len(service.sent)) == (state, state == "delivered")
    if state == "failed":
        assert summary(db, row) == ("failed", 0, 1, False, "expired")


def test_what_was_never_tried_is_tried_once_however_old(db: Database) -> None:
    """It waited behind others, or for a gateway that was off."""
    with freeze_time(NOON) as clock:
        row = lives.answered(db)
        clock.tick(10 * 86_400)
        assert send(db, row, policy=DAY) == Ended(delivered=True)


def test_the_day_of_what_a_person_sends_again_begins_anew(db: Database) -> None:
    with freeze_time(NOON) as clock:
        row = lives.answered(db)
        send(db, row, Refused("blocked"))
        clock.tick(10 * 86_400)
        retries.send_again(db, row.id)
        assert isinstance(send(db, row, NotSent("offline"), policy=DAY), Waits)
        clock.tick(86_000)
        service = Service(db)
        assert Sender(db, DAY, service).send(now(db, row)) == Ended(delivered=True)
        assert "Late, written 01 Mar 12:00 UTC" in service.notes[0]


# -- what it counts --------------------------------------------------------------------------------------------------


def test_attempts_are_what_may_have_arrived_or_was_refused(db: Database) -> None:
    """DESIGN.md 5: what is proven not executed does not count, however often."""
    outcomes = (NotSent("a", 0.0), Refused("b", final=False), NotSent("c", 0.0), Unknown("d"), Delivered("e"))
    row = lives.answered(db)
    found = []
    for outcome in outcomes:
        send(db, row, outcome)
        found.append(summary(db, row)[:3])
    assert found == [
        ("waiting", 0, 1),
        ("waiting", 1, 1),
        ("waiting", 1, 2),
        ("waiting", 2, 2),
        ("delivered", 3, 2),
    ]
    assert len(db.rows("SELECT 1 FROM transition WHERE target = 'sending'")) == 5
