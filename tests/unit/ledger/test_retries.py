"""What is listed as waiting or failed, and what a person's wish does to it."""

from __future__ import annotations

import pytest
from freezegun import freeze_time

from push.ledger import arrivals, outbox, retries, turns
from push.ledger.database import Database
from push.ledger.retries import Done
from push.model.values import Pace
from tests.ledger import lives, network


def listed(db: Database) -> list[tuple[str, str, str | None]]:
    return [(row.id, row.state, row.reason) for row in retries.waiting_or_failed(db, 100)]


def test_what_runs_waits_in_line_or_ended_well_is_not_listed(db: Database) -> None:
    lives.deliver(db, lives.answered(db))
    lives.answered(db, "bob")
    lives.sending(db, lives.answered(db, "cyd"))
    lives.start(db, lives.accept(db))
    lives.accept(db)
    assert listed(db) == []


def test_what_waits_comes_first_then_the_newest_failures(db: Database) -> None:
    waiting = lives.answered(db)
    outbox.not_sent(db, lives.sending(db, waiting), "offline", 60)
    for _ in range(2):
        outbox.end(db, lives.sending(db, lives.answered(db)), "unknown", "timeout")
    for user in ("bob", "cyd"):
        lives.fail(db, lives.accept(db, lives.message(user)), "no_agent")
    turns.delay(db, lives.start(db, lives.accept(db)), "in_use", 60)
    turns.postpone(db, lives.accept(db, lives.message("dan")), "disk_full", 60)
    assert listed(db) == [
        ("t6", "waiting", "in_use"),
        ("t7", "queued", "disk_full"),
        ("d1", "waiting", "offline"),
        ("d3", "unknown", "timeout"),
        ("d2", "unknown", "timeout"),
        ("t5", "failed", "no_agent"),
        ("t4", "failed", "no_agent"),
    ]
    assert [row.id for row in retries.waiting_turns(db, 1)] == ["t6"]
    assert len(retries.waiting_or_failed(db, 1)) == 4


def test_a_postponed_turn_that_runs_again_is_listed_no_more(db: Database) -> None:
    turn = lives.accept(db)
    turns.postpone(db, turn, "disk_full", 60)
    assert listed(db) == [("t1", "queued", "disk_full")]
    lives.start(db, turn)
    assert listed(db) == []


@freeze_time("2026-03-01T12:00:00Z")
def test_a_row_is_found_by_its_name_in_any_state(db: Database) -> None:
    lives.deliver(db, lives.answered(db, "ann"))
    found = retries.find(db, "delivery", 1)
    assert found == retries.Retry(
        "delivery", 1, "delivered", 1, 0, None, None, "local:ann", "local", "ann", 1_772_366_400_000
    )
    assert retries.find(db, "delivery", 2) is None
    assert retries.find(db, "turn", 2) is None


@pytest.mark.parametrize(("state", "repeat"), [("failed", False), ("unknown", True)])
def test_a_delivery_that_ended_badly_is_sent_again(db: Database, state: str, *, repeat: bool) -> None:
    row = lives.answered(db)
    outbox.end(db, lives.sending(db, row), state, "blocked")
    assert retries.send_again(db, row.id) is Done.DONE
    again = outbox.get(db, row.id)
    assert (again.state, again.repeat) == ("waiting", repeat)
    assert db.rows("SELECT finished_at, not_before FROM outbound") == [(None, None)]
    lives.deliver(db, again)


def test_a_delivery_that_waits_is_made_due(db: Database) -> None:
    row = lives.answered(db)
    outbox.not_sent(db, lives.sending(db, row), "offline", 3600)
    assert retries.send_again(db, row.id) is Done.DONE
    assert db.rows("SELECT state, not_before FROM outbound") == [("waiting", None)]


def test_a_delivery_is_given_up_in_any_state_but_under_way(db: Database) -> None:
    pending, waiting, failed, unknown, under_way, delivered = (lives.answered(db) for _ in range(6))
    outbox.not_sent(db, lives.sending(db, waiting), "offline", 3600)
    outbox.end(db, lives.sending(db, failed), "failed", "blocked")
    outbox.end(db, lives.sending(db, unknown), "unknown", "timeout")
    lives.sending(db, under_way)
    lives.deliver(db, delivered)
    for row in (pending, waiting, failed, unknown):
        assert retries.drop_delivery(db, row.id) is Done.DONE
        assert retries.drop_delivery(db, row.id) is Done.OVER
        assert retries.send_again(db, row.id) is Done.OVER
        assert outbox.get(db, row.id).state == "dropped"
    for wish in (retries.drop_delivery, retries.send_again):
        assert wish(db, under_way.id) is Done.UNDER_WAY
        assert wish(db, delivered.id) is Done.OVER
        assert wish(db, 99) is Done.MISSING
    assert outbox.get(db, under_way.id).state == "sending"


def test_a_failed_turn_leaves_the_list_and_stays_failed(db: Database) -> None:
    turn = lives.accept(db)
    lives.fail(db, turn)
    waits = lives.accept(db)
    assert retries.dismiss_turn(db, turn.id) is Done.DONE
    assert listed(db) == []
    assert lives.now(db, turn.id).state == "failed"
    assert retries.dismiss_turn(db, turn.id) is Done.OVER
    assert retries.dismiss_turn(db, waits.id) is Done.OVER


def test_what_was_possibly_delivered_twice_is_listed_until_a_person_has_seen_it(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    outbox.unknown(db, row, 0, "timeout", "sender")
    assert listed(db) == [("d1", "waiting", "timeout")]
    lives.deliver(db, outbox.get(db, row.id))
    assert listed(db) == [("d1", "delivered", "possibly_twice")]
    assert retries.drop_delivery(db, row.id) is Done.DONE
    assert listed(db) == []
    assert retries.drop_delivery(db, row.id) is Done.OVER
    assert outbox.get(db, row.id).state == "delivered"


def test_a_row_between_two_of_its_parts_is_on_its_way(db: Database) -> None:
    row = lives.answered(db, "ann", "one", "two")
    budget = (Pace("ann", ((1, 60.0),)),)
    assert outbox.claim(db, row, budget) is None
    assert outbox.part_delivered(db, outbox.get(db, row.id), 0, "r", budget) is not None
    assert (outbox.get(db, row.id).state, listed(db)) == ("waiting", [])


def test_an_answer_that_nobody_could_send_for_a_minute_is_listed(db: Database) -> None:
    network.command(db)
    lives.answered(db, "ann")  # the terminal's waits for a terminal
    assert listed(db) == []
    with db.write():
        db.execute("UPDATE outbound SET created_at = created_at - 61000")
    assert listed(db) == [("d1", "pending", "behind_others")]


def test_a_rejected_update_is_kept_as_it_came_and_leaves_the_list(db: Database) -> None:
    number = arrivals.reject(db, network.reading(9), '{"update_id": 9}', "malformed")
    assert listed(db) == [("x1", "rejected", "malformed")]
    found = retries.find(db, "rejected", number)
    assert found is not None
    assert (found.channel, found.conversation, found.target) == ("telegram", None, None)
    assert retries.dismiss_rejected(db, number) is Done.DONE
    assert listed(db) == []
    assert retries.dismiss_rejected(db, number) is Done.OVER
    kept = retries.rejected(db, number)
    assert kept is not None
    assert (kept.raw, kept.position) == ('{"update_id": 9}', 9)
    assert retries.rejected(db, 2) is None
