"""Outbound rows: parts are checkpoints, and every outcome leads where it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from freezegun import freeze_time

from push.ledger import outbox, pace, retries, turns
from push.ledger.database import Database
from push.ledger.moves import StaleRow
from push.model.values import Outbound, Pace, Part, Rendered
from tests.ledger import lives

NOON = "2026-03-01T12:00:00Z"
NOON_MS = 1_772_366_400_000
ONE_A_SECOND = (Pace("ann", ((1, 1.0),)),)


def order(db: Database, user: str = "ann") -> list[int]:
    return [row.id for row, _ in outbox.open_for(db, "local", user)]


def head(db: Database, stream: int = 0) -> int | None:
    row = outbox.head(db, "local", "ann", stream)
    return row.id if row else None


def urgent(db: Database) -> Outbound:
    """The answer to a control command."""
    command = lives.accept(db, replace(lives.message("ann", "/status", "command"), lane="control"))
    turns.answer_command(db, command, lives.rendered("all is well"))
    return lives.reply_to(db, command.id)


def test_open_rows_are_a_targets_own_in_the_order_of_their_commits(db: Database) -> None:
    first, second, other = (lives.answered(db, user) for user in ("ann", "ann", "bob"))
    assert order(db) == [first.id, second.id]
    assert order(db, "bob") == [other.id]
    assert head(db) == first.id
    lives.deliver(db, first)
    assert order(db) == [second.id]
    assert head(db) == second.id


def test_a_row_knows_the_event_that_caused_it(db: Database) -> None:
    inbound = lives.message()
    with freeze_time(NOON):
        lives.answer(db, lives.start(db, lives.accept(db, inbound)))
    [(row, event)] = outbox.open_for(db, "local", "ann")
    assert (event, row.created_at, row.since) == (inbound.event_id, NOON_MS, NOON_MS)


def test_a_reply_is_kept_as_its_channel_shows_it(db: Database) -> None:
    turn = lives.start(db, lives.accept(db))
    reply = Rendered((Part("bold", '[{"type":"bold"}]'), Part("plain")), "**bold**\n\nplain")
    turns.answer(db, turn, turns.Reply(reply), "worker")
    row = lives.reply_to(db, turn.id)
    assert [part.part for part in row.parts] == [replace(part, is_piece=True) for part in reply.parts]
    assert db.rows("SELECT source FROM outbound") == [("**bold**\n\nplain",)]
    assert not lives.answered(db, "bob", "short").parts[0].part.is_piece


def test_a_notice_is_a_row_of_its_conversation_that_no_turn_caused(db: Database) -> None:
    lives.accept(db)
    number = outbox.enqueue_notice(db, 1, "ann", "deaf", (Part("cannot read"),))
    row = outbox.get(db, number)
    assert (row.turn_id, row.channel, row.target, row.state, row.urgent) == (None, "local", "ann", "pending", False)
    assert db.rows("SELECT notice FROM outbound") == [("deaf",)]
    assert outbox.open_for(db, "local", "ann") == [(row, None)]


def test_answers_to_control_commands_are_a_stream_of_their_own_and_overtake(db: Database) -> None:
    first = lives.answered(db)
    assert head(db, 1) is None
    second, third = urgent(db), urgent(db)
    assert (head(db, 0), head(db, 1)) == (first.id, second.id)
    assert order(db) == [second.id, third.id, first.id]
    assert sorted(outbox.open_targets(db)) == [("local", "ann", 0, None), ("local", "ann", 1, None)]


def test_a_stream_is_due_when_its_first_row_is(db: Database) -> None:
    first = lives.answered(db)
    lives.answered(db)
    with freeze_time(NOON):
        outbox.not_sent(db, lives.sending(db, first), "offline", 5)
    assert outbox.open_targets(db) == [("local", "ann", 0, NOON_MS + 5_000)]


def test_two_senders_cannot_both_claim_a_row(db: Database) -> None:
    row = lives.answered(db)
    assert outbox.claim(db, row) is None
    with pytest.raises(StaleRow):
        outbox.claim(db, row)
    assert len(db.rows("SELECT 1 FROM transition WHERE target = 'sending'")) == 1


def test_who_could_not_claim_has_drawn_nothing(db: Database) -> None:
    row = lives.answered(db)
    outbox.claim(db, row)
    with pytest.raises(StaleRow):
        outbox.claim(db, row, ONE_A_SECOND)
    assert db.rows("SELECT * FROM pace") == []


def test_a_claim_draws_from_the_budgets_or_changes_nothing(db: Database) -> None:
    first, second = lives.answered(db), lives.answered(db)
    with freeze_time(NOON) as now:
        assert outbox.claim(db, first, ONE_A_SECOND) is None
        assert outbox.claim(db, second, ONE_A_SECOND) == NOON_MS + 1_000
        assert outbox.get(db, second.id) == second
        now.tick(1)
        assert outbox.claim(db, second, ONE_A_SECOND) is None


# -- outcomes --------------------------------------------------------------------------------------------------------


def test_a_delivered_part_is_not_to_be_sent_again(db: Database) -> None:
    row = lives.sending(db, lives.answered(db, "ann", "one", "two"))
    assert outbox.part_delivered(db, row, 0, "r0") is None
    outbox.not_sent(db, row, "offline", 5)
    again = outbox.get(db, row.id)
    assert [(part.part.text, part.delivered) for part in again.parts] == [("one", True), ("two", False)]
    assert (again.state, again.attempt, again.delays) == ("waiting", 0, 1)


def test_the_last_part_delivers_the_row(db: Database) -> None:
    row = lives.sending(db, lives.answered(db, "ann", "one", "two"))
    outbox.part_delivered(db, row, 0, "r0")
    assert outbox.get(db, row.id).state == "sending"
    assert outbox.is_open_for_turn(db, 1)
    outbox.part_delivered(db, row, 1, "r1")
    assert (outbox.get(db, row.id).state, outbox.get(db, row.id).attempt) == ("delivered", 1)
    assert not outbox.is_open_for_turn(db, 1)
    assert db.rows("SELECT receipt FROM part") == [("r0",), ("r1",)]


def test_a_further_part_draws_from_the_budgets_as_well(db: Database) -> None:
    two_a_second = (Pace("ann", ((2, 1.0),)),)
    with freeze_time(NOON) as now:
        row = lives.answered(db, "ann", "one", "two", "three")
        assert outbox.claim(db, row, two_a_second) is None
        now.tick(0.25)
        assert outbox.part_delivered(db, row, 0, "r0", two_a_second) is None
        assert outbox.get(db, row.id).state == "sending"
        now.tick(0.25)
        assert outbox.part_delivered(db, row, 1, "r1", two_a_second) == NOON_MS + 1_250
        paced = outbox.get(db, row.id)
    assert (paced.state, paced.reason, paced.not_before) == ("waiting", outbox.PACED, NOON_MS + 1_250)
    assert (paced.attempt, paced.delays, paced.repeat) == (0, 0, False)
    assert [part.delivered for part in paced.parts] == [True, True, False]
    assert retries.waiting_or_failed(db, 10) == [], "it is on its way"


def test_the_last_part_waits_for_no_budget(db: Database) -> None:
    with freeze_time(NOON):
        row = lives.answered(db)
        outbox.claim(db, row, ONE_A_SECOND)
        assert outbox.part_delivered(db, row, 0, "r0", ONE_A_SECOND) is None
        assert outbox.get(db, row.id).state == "delivered"
        assert pace.free_at(db, "local", ONE_A_SECOND) == NOON_MS + 1_000, "one send was drawn, and no more"


def test_a_send_counts_from_when_it_was_answered(db: Database) -> None:
    """One that opened its connection first arrives late, and the next one, which did not, would come too early."""
    with freeze_time(NOON) as now:
        row = lives.answered(db)
        outbox.claim(db, row, ONE_A_SECOND)
        now.tick(0.5)
        outbox.part_delivered(db, row, 0, "r0", ONE_A_SECOND)
        assert pace.free_at(db, "local", ONE_A_SECOND) == NOON_MS + 1_500


@freeze_time(NOON)
def test_what_was_not_sent_waits_and_is_no_attempt(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    assert outbox.not_sent(db, row, "429", 2.5) == NOON_MS + 2_500
    again = outbox.get(db, row.id)
    assert (again.state, again.reason, again.not_before) == ("waiting", "429", NOON_MS + 2_500)
    assert (again.attempt, again.delays) == (0, 1)


@freeze_time(NOON)
def test_what_was_refused_but_perhaps_not_for_good_counts_and_waits(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    assert outbox.try_again(db, row, "500", 5) == NOON_MS + 5_000
    again = outbox.get(db, row.id)
    assert (again.state, again.reason, again.not_before) == ("waiting", "500", NOON_MS + 5_000)
    assert (again.attempt, again.delays) == (1, 0)


def failed(db: Database, row: Outbound) -> None:
    outbox.end(db, row, "failed", "blocked")


def held(db: Database, row: Outbound) -> None:
    outbox.hold(db, row, "timeout", "sender")


@pytest.mark.parametrize(("end", "state"), [(failed, "failed"), (held, "unknown")])
@freeze_time(NOON)
def test_a_row_that_ends_badly_counts_and_releases_those_behind_it(
    db: Database, end: Callable[[Database, Outbound], None], state: str
) -> None:
    row, behind = lives.answered(db), lives.answered(db)
    end(db, lives.sending(db, row))
    assert order(db) == [behind.id]
    assert (outbox.get(db, row.id).state, outbox.get(db, row.id).attempt) == (state, 1)
    assert db.rows("SELECT finished_at FROM outbound WHERE id = ?", (row.id,)) == [(NOON_MS,)]


def test_what_expires_while_it_waits_was_not_attempted(db: Database) -> None:
    row = lives.sending(db, lives.answered(db))
    outbox.not_sent(db, row, "offline", 5)
    outbox.end(db, outbox.get(db, row.id), "failed", "expired")
    ended = outbox.get(db, row.id)
    assert (ended.state, ended.reason, ended.attempt, ended.not_before) == ("failed", "expired", 0, None)


@pytest.mark.parametrize("by", ["sender", "recovery"])
def test_what_may_have_been_sent_is_sent_once_more_and_marked(db: Database, by: str) -> None:
    row = lives.sending(db, lives.answered(db, "ann", "one", "two"))
    outbox.part_delivered(db, row, 0, "r0")
    outbox.unknown(db, row, 1, "timeout", by)
    again = outbox.get(db, row.id)
    assert (again.state, again.repeat, again.attempt, again.not_before) == ("waiting", True, 1, None)
    assert [part.repeats for part in again.parts] == [0, 1]
    steps = db.rows("SELECT source, target, actor FROM transition WHERE machine = 'outbound' ORDER BY id DESC LIMIT 2")
    assert steps == [("unknown", "waiting", "sender"), ("sending", "unknown", by)]
    assert order(db) == [row.id]


# -- by hand ---------------------------------------------------------------------------------------------------------


def test_what_is_sent_again_by_hand_goes_behind_those_that_wait(db: Database) -> None:
    late, later, waiting = (lives.answered(db) for _ in range(3))
    for row in (later, late):
        failed(db, lives.sending(db, row))
        assert retries.send_again(db, row.id) is retries.Done.DONE
    newer = lives.answered(db)
    assert order(db) == [waiting.id, late.id, later.id, newer.id]
    assert head(db) == waiting.id
    lives.deliver(db, waiting)
    assert head(db) == late.id


def test_what_is_sent_again_by_hand_is_late_and_begins_anew(db: Database) -> None:
    with freeze_time(NOON) as now:
        row = lives.sending(db, lives.answered(db))
        outbox.try_again(db, row, "500", 5)
        failed(db, lives.sending(db, outbox.get(db, row.id)))
        now.tick(3600)
        retries.send_again(db, row.id)
    again = outbox.get(db, row.id)
    assert (again.late, again.created_at, again.since) == (True, NOON_MS, NOON_MS + 3_600_000)
    assert (again.attempt, again.delays, again.not_before) == (0, 0, None)


# -- what a person does not know yet ---------------------------------------------------------------------------------


def test_a_person_is_told_once_of_what_did_not_reach_him(db: Database) -> None:
    lost, unsure, good, other = (lives.answered(db, user) for user in ("ann", "ann", "ann", "bob"))
    failed(db, lives.sending(db, lost))
    held(db, lives.sending(db, unsure))
    lives.deliver(db, good)
    failed(db, lives.sending(db, other))
    conversation = lost.conversation_id
    assert outbox.untold(db, conversation) == [lost.id, unsure.id]
    outbox.told(db, [lost.id])
    assert outbox.untold(db, conversation) == [unsure.id]
    outbox.told(db, [unsure.id])
    assert outbox.untold(db, conversation) == []
    assert outbox.untold(db, other.conversation_id) == [other.id]


SEAMS: list[tuple[str, Callable[[Database, Outbound], object]]] = [
    ("delivery.not_sent_committed", lambda db, row: outbox.not_sent(db, row, "offline", 5)),
    ("delivery.try_again_committed", lambda db, row: outbox.try_again(db, row, "500", 5)),
    ("delivery.ended_committed", failed),
    ("delivery.hold_committed", held),
    ("delivery.unknown_committed", lambda db, row: outbox.unknown(db, row, 0, "timeout", "sender")),
    ("delivery.delivered_committed", lambda db, row: outbox.part_delivered(db, row, 0, "r")),
]


@pytest.mark.parametrize(("name", "act"), SEAMS, ids=[name for name, _ in SEAMS])
def test_every_outcome_has_a_seam_after_its_commit(
    db: Database, monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[Database, Outbound], object]
) -> None:
    row = lives.answered(db)
    passed: list[tuple[str, str]] = []
    monkeypatch.setattr(outbox, "seam", lambda seam: passed.append((seam, lives.state_of(db, "outbound", row.id))))
    act(db, lives.sending(db, row))
    (first, claimed), (second, state) = passed
    assert (first, claimed, second) == ("delivery.sending_committed", "sending", name)
    assert state != "sending"
