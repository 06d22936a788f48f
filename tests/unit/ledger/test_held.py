"""A restored copy: what was open is left alone until a person says otherwise, and others pass it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from push import clock
from push.ledger import arrivals, backlog, conversations, held, line, outbox, retries, turns
from push.ledger.arrivals import Reading
from push.ledger.database import Database
from push.ledger.held import Held
from push.ledger.verify import verify
from push.model.values import Accepted, Inbound, Merged
from tests.ledger import lives
from tests.unit.ledger.test_query_plans import walks

READING = Reading("local", "1", 5)


def sound(db: Database) -> None:
    proof = verify(db, {}, (), lambda _: None)
    assert proof.damages == ()


def read(db: Database, inbound: Inbound) -> Accepted:
    outcome = arrivals.accept(db, inbound, READING)
    assert isinstance(outcome, Accepted)
    return outcome


@pytest.fixture
def copy(db: Database) -> Database:
    """Four conversations in which something was open: a running turn, one postponed, an answer half sent, commands."""
    lives.start(db, lives.accept(db, lives.message("ann", "runs")))
    lives.accept(db, lives.message("ann", "waits"))
    delayed = lives.start(db, lives.accept(db, lives.message("bob", "comes back")))
    turns.delay(db, delayed, "in_use", 60)
    lives.sending(db, lives.answered(db, "cyd", "one", "two"))
    lives.answered(db, "cyd", "pending")
    put_off = lives.sending(db, lives.answered(db, "dan", "put off"))
    outbox.not_sent(db, put_off, "offline", 60)
    lives.accept(db, replace(lives.message("eve", "/stop", "command"), lane="control"))
    lives.accept(db, replace(lives.message("eve", "now", "message"), ahead=True))
    assert held.hold_everything(db) == Held(turns=5, deliveries=3)
    sound(db)
    return db


def test_nothing_of_it_is_worked_on(copy: Database) -> None:
    ids = [int(row[0]) for row in copy.rows("SELECT id FROM conversation")]
    assert [turns.head(copy, number) for number in ids] == [None] * len(ids)
    assert [turns.control_head(copy, number) for number in ids] == [None] * len(ids)
    assert [line.of(copy, number) for number in ids] == [[]] * len(ids)
    assert (turns.open_conversations(copy), turns.open_controls(copy), outbox.open_targets(copy)) == ([], [], [])
    assert [outbox.open_for(copy, "local", user) for user in ("cyd", "dan")] == [[], []]
    assert [outbox.untold(copy, number) for number in ids] == [[]] * len(ids)
    assert line.open_commands(copy) == 0
    assert conversations.paused(copy) == []


def test_it_counts_as_held_and_is_listed_first_as_such(copy: Database) -> None:
    found = backlog.read(copy)
    assert (found.turns, found.running, found.deliveries, found.stuck, found.postponed) == ({}, (), {}, {}, 0)
    assert found.held == Held(5, 3)
    rows = retries.waiting_or_failed(copy, 100)
    assert [(row.kind, row.state, row.reason) for row in rows] == [("turn", "held", "restored")] * 5 + [
        ("delivery", "held", "restored")
    ] * 3
    assert retries.waiting_turns(copy, 5) == []


def test_no_statement_walks_through_what_ended(copy: Database) -> None:
    assert walks(copy, lambda db: (held.count(db), held.release_everything(db, lambda _: None))) == []


def test_a_new_message_is_answered_past_it_and_it_is_answered_when_released(copy: Database) -> None:
    new = lives.accept(copy, lives.message("ann", "new"))
    assert turns.head(copy, new.conversation_id) == new
    lives.answer(copy, lives.start(copy, new))
    sound(copy)
    assert held.release_turn(copy, 1)
    assert not held.release_turn(copy, 1)
    first = turns.head(copy, new.conversation_id)
    assert first is not None
    assert (first.id, first.state, first.interruptions, first.attempt) == (1, "queued", 1, 1)
    reply = lives.answer(copy, lives.start(copy, first), "one", "two")
    assert (reply.state, reply.repeat, [part.repeats for part in reply.parts]) == ("waiting", True, [1, 0])
    lives.deliver(copy, reply)
    sound(copy)


def test_released_answers_go_out_in_order_each_part_as_a_possible_repeat(copy: Database) -> None:
    told: list[Held] = []
    assert held.release_everything(copy, told.append) == Held(5, 3)
    assert told[-1] == Held(5, 3)
    rows = [row for row, _ in outbox.open_for(copy, "local", "cyd")]
    assert [[part.part.text for part in row.parts] for row in rows] == [["one", "two"], ["pending"]]
    assert all(row.repeat and part.repeats == 1 for row in rows for part in row.parts)
    for row in rows:
        lives.deliver(copy, row)
    sound(copy)
    assert turns.open_controls(copy) != []


def test_released_one_by_one_or_given_up(copy: Database) -> None:
    assert retries.send_again(copy, 1) is retries.Done.DONE
    assert retries.drop_delivery(copy, 2) is retries.Done.DONE
    turns.cancel(copy, lives.now(copy, 2), "operator")
    assert held.count(copy) == Held(4, 1)
    assert lives.state_of(copy, "outbound", 2) == "dropped"
    sound(copy)


def test_what_was_written_before_is_held_and_what_was_written_since_is_not(copy: Database) -> None:
    before = read(copy, replace(lives.message("ann"), received_ms=clock.now_ms() - 60_000))
    command = read(copy, replace(lives.message("ann", "/stop", "command"), received_ms=1, lane="control"))
    since = read(copy, replace(lives.message("ann"), received_ms=clock.now_ms() + 1))
    assert (before.held, command.held, since.held) == (True, True, False)
    assert turns.open_controls(copy) == []
    head = turns.head(copy, since.conversation_id)
    assert head is not None
    assert head.id == since.turn_id
    sound(copy)


def test_what_was_typed_here_is_never_the_originals(copy: Database) -> None:
    outcome = arrivals.accept(copy, replace(lives.message("ann"), received_ms=1))
    assert isinstance(outcome, Accepted)
    assert not outcome.held


@pytest.mark.parametrize(("lead_ms", "rest_ms", "joins"), [(-500, -300, True), (-500, 400, False), (300, 400, True)])
def test_the_rest_of_a_long_text_joins_what_is_as_it_is(
    copy: Database, lead_ms: int, rest_ms: int, *, joins: bool
) -> None:
    row = copy.one("SELECT at FROM milestone WHERE name = 'restored'")
    assert row is not None
    long = replace(lives.message("fay", "x" * arrivals.FULL_UNITS), received_ms=row[0] + lead_ms, hold_ms=1000)
    lead = read(copy, long)
    rest = replace(lives.message("fay", "rest"), received_ms=row[0] + rest_ms, joins=True)
    outcome = arrivals.accept(copy, rest, READING)
    assert isinstance(outcome, Merged) == joins
    assert lead.held == (lead_ms < 0)
    if isinstance(outcome, Accepted):
        assert not outcome.held
    sound(copy)


def test_an_edit_changes_what_is_held(copy: Database) -> None:
    said = replace(lives.message("ann", "helo"), received_ms=1, message_ref="7/1")
    turn = read(copy, said).turn_id
    assert arrivals.edit(copy, "local", ("7/1", "ann", "hello"), READING) == turn
    assert lives.now(copy, turn).text == "hello"
    assert held.count(copy).turns == 6
    sound(copy)


def test_a_second_restore_holds_what_has_come_since(copy: Database) -> None:
    lives.answered(copy, "zoe")
    lives.accept(copy, lives.message("zoe"))
    assert held.hold_everything(copy) == Held(6, 4)
    sound(copy)
