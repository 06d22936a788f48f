"""What the command line shows of the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from freezegun import freeze_time

from push.ledger import backlog, choices, listing, outbox, retries, turns
from push.ledger.backlog import Backlog, Running
from push.ledger.database import Database
from push.ledger.listing import Change, ConversationLine, Message, Part, Piece, Selection, TurnLine
from push.model.machines import TURN
from tests.ledger import lives, network

NOON = 1_772_366_400_000
noon = freeze_time("2026-03-01T12:00:00Z")


def ids(db: Database, wanted: Selection) -> list[int]:
    return [line.id for line in listing.turns(db, wanted)]


@noon
def test_turns_come_newest_first(db: Database) -> None:
    lives.answered(db)
    lives.accept(db, lives.message("bob"))
    assert listing.turns(db, Selection()) == [
        TurnLine(2, "local:bob", "queued", NOON, None, None, None, None),
        TurnLine(1, "local:ann", "answered", NOON, NOON, NOON, "claude", "s1"),
    ]


def test_turns_are_chosen(db: Database) -> None:
    lives.rich(db)
    everything = ids(db, Selection())
    assert everything == sorted(everything, reverse=True)
    assert ids(db, Selection(limit=2)) == everything[:2]
    assert ids(db, Selection(before=everything[1], limit=2)) == everything[2:4]
    assert ids(db, Selection(conversation="local:bob")) == [3]
    assert ids(db, Selection(conversation="local:nobody")) == []
    by_state = {state: ids(db, Selection(state=state)) for state in TURN.states}
    assert sorted((number for found in by_state.values() for number in found), reverse=True) == everything
    for state, found in by_state.items():
        assert {lives.now(db, number).state for number in found} <= {state}
    opened = sorted((number for state in TURN.open for number in by_state[state]), reverse=True)
    assert ids(db, Selection(state="open")) == opened
    assert len(opened) == 3
    assert ids(db, Selection("local:gus", "open")) == opened[:2]


def test_a_state_that_is_none_never_gets_into_the_sql(db: Database) -> None:
    with pytest.raises(ValueError, match="not a state"):
        listing.turns(db, Selection(state="x' OR 1 --"))


@noon
def test_a_turn_with_all_that_is_known_of_it(db: Database) -> None:
    lives.deliver(db, lives.answered(db, "ann", "one", "two"))
    record = listing.turn_record(db, 1)
    assert record is not None
    assert (record.text, record.attempt, record.input_tokens, record.cost_usd) == ("hello", 1, 10, 0.01)
    assert record.history == (
        Change(NOON, None, "queued", "channel", None),
        Change(NOON, "queued", "running", "worker", None),
        Change(NOON, "running", "answered", "worker", None),
    )
    assert record.reply is not None
    assert record.reply.parts == (Part(0, "one", "r1.0", NOON), Part(1, "two", "r1.1", NOON))
    assert [change.target for change in record.reply.history] == ["pending", "sending", "delivered"]
    assert (record.reply.repeat, record.reply.turn_id) == (False, 1)
    assert record.reply == listing.delivery_record(db, 1)
    assert listing.turn_record(db, 2) is None
    assert listing.delivery_record(db, 2) is None


def test_a_turn_with_its_pieces_its_earlier_texts_and_what_it_answers(db: Database) -> None:
    network.rich(db)
    whole = listing.turn_record(db, 1)
    assert whole is not None
    assert (whole.context, whole.pieces) == ("> quoted", (Piece(2, "the rest"),))
    piece = listing.turn_record(db, 2)
    assert piece is not None
    assert (piece.merged_into, piece.line.state) == (1, "merged")
    edited = listing.turn_record(db, 3)
    assert edited is not None
    assert (edited.text, [text for _, text in edited.earlier]) == ("right", ["wrong"])
    command, ahead = listing.turn_record(db, 4), listing.turn_record(db, 5)
    assert command is not None
    assert ahead is not None
    assert (command.lane, command.ahead, ahead.lane, ahead.ahead) == ("control", False, "turns", True)
    assert command.reply is not None
    assert (command.reply.urgent, command.reply.notice) == (True, None)


def test_a_delivery_with_its_delays_and_repeats_and_a_notice(db: Database) -> None:
    network.rich(db)
    refused, notice = listing.delivery_record(db, 3), listing.delivery_record(db, 4)
    assert refused is not None
    assert notice is not None
    assert (refused.attempt, refused.delays, refused.repeat) == (2, 1, False)
    assert (notice.turn_id, notice.notice) == (None, "deaf")
    row = lives.sending(db, lives.answered(db))
    outbox.unknown(db, row, 0, "timeout", "sender")
    record = listing.delivery_record(db, row.id)
    assert record is not None
    assert (record.repeat, record.parts[0].repeats) == (True, 1)


def test_a_conversation_with_what_was_chosen_for_it(db: Database) -> None:
    turn = lives.accept(db)
    choices.choose(db, turn.conversation_id, choices.Choice("codex", "o9"))
    line = listing.conversation(db, "local:ann")
    assert line is not None
    assert (line.agent, line.model) == ("codex", "o9")
    assert listing.conversations(db, 5) == [line]


@noon
def test_conversations_come_in_the_order_in_which_they_spoke_last(db: Database) -> None:
    for user in ("ann", "bob", "cyd", "ann", "bob"):
        lives.accept(db, lives.message(user))
    lives.fail(db, lives.now(db, 2))
    lines = listing.conversations(db, 2)
    assert lines == [
        ConversationLine("local:bob", "local", NOON, 5, NOON, 1),
        ConversationLine("local:ann", "local", NOON, 4, NOON, 2),
    ]
    assert listing.conversation(db, "local:bob") == lines[0]
    assert listing.conversation(db, "local:eve") is None


@noon
def test_messages_of_a_conversation_come_oldest_first(db: Database) -> None:
    lives.answered(db, "ann", "never seen")
    lives.deliver(db, lives.answered(db, "ann", "one ", "two"))
    lives.answered(db, "bob")
    lives.accept(db, lives.message("ann", "still open"))
    newest = [
        Message(2, "user", "answered", NOON, "hello"),
        Message(2, "assistant", "delivered", NOON, "one two"),
        Message(4, "user", "queued", NOON, "still open"),
    ]
    assert listing.messages(db, "local:ann", 2) == newest
    assert [message.turn for message in listing.messages(db, "local:ann", 20)] == [1, 1, 2, 2, 4]


def test_an_empty_ledger_has_no_backlog(db: Database) -> None:
    assert backlog.read(db) == Backlog()


def test_the_backlog_counts_what_is_open_or_stuck(db: Database) -> None:
    with noon:
        lives.start(db, lives.accept(db))
        lives.answered(db, "bob")
    lives.accept(db)
    turns.postpone(db, lives.accept(db, lives.message("cyd")), "disk_full", 60)
    turns.delay(db, lives.start(db, lives.accept(db, lives.message("dan"))), "in_use", 60)
    for state in ("failed", "unknown", "unknown"):
        outbox.end(db, lives.sending(db, lives.answered(db, "eve")), state, "no")
    lives.deliver(db, lives.fail(db, lives.accept(db, lives.message("fay"))))
    assert backlog.read(db) == Backlog(
        turns={"queued": 2, "running": 1, "waiting": 1},
        oldest_turn=NOON,
        postponed=2,
        running=(Running(1, "local:ann", "claude", 1, NOON),),
        deliveries={"pending": 1},
        oldest_delivery=NOON,
        waiting_for=(("local", "bob", 1),),
        stuck={"failed": 1, "unknown": 2},
        failed_turns=1,
    )
    [failed] = [row for row in retries.waiting_or_failed(db, 100) if row.state == "failed" and row.kind == "turn"]
    retries.dismiss_turn(db, failed.number)
    assert backlog.read(db).failed_turns == 0


def test_the_backlog_counts_repeats_and_rejected_updates_and_names_pauses(db: Database) -> None:
    network.rich(db)
    outbox.unknown(db, lives.sending(db, lives.answered(db)), 0, "timeout", "sender")
    found = backlog.read(db)
    assert (found.repeated, found.rejected) == (0, 1)  # the repeat is still to come
    assert [(pause.channel, pause.key, pause.reason) for pause in found.pauses] == [
        ("telegram", "6", "too_many_requests")
    ]
    lives.deliver(db, outbox.get(db, 5))
    assert backlog.read(db).repeated == 1
    retries.drop_delivery(db, 5)
    retries.dismiss_rejected(db, 1)
    assert (backlog.read(db).repeated, backlog.read(db).rejected) == (0, 0)


def test_failures_are_counted_only_so_far(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MOST_FAILED", 3)
    for _ in range(5):
        lives.fail(db, lives.accept(db))
    assert backlog.read(db).failed_turns == 3


def test_reads_change_nothing(db: Database, tmp_path: Path) -> None:
    lives.rich(db)
    before = db.rows("PRAGMA data_version"), db.rows("SELECT count(*), max(id) FROM transition")
    backlog.read(db)
    listing.turns(db, Selection())
    listing.conversations(db, 5)
    retries.waiting_or_failed(db, 5)
    assert (db.rows("PRAGMA data_version"), db.rows("SELECT count(*), max(id) FROM transition")) == before
