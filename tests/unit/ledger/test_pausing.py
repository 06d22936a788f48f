"""A paused conversation takes messages and begins none; what runs there goes on."""

from __future__ import annotations

import pytest

from push.ledger import backlog, conversations, line, retries, turns
from push.ledger.database import Database
from push.ledger.moves import StaleRow
from push.model.values import Inbound
from tests.ledger import lives


def ready(db: Database) -> list[int]:
    """The conversations that are to be worked on."""
    return [conversation for conversation, _ in turns.open_conversations(db)]


def test_what_waits_there_is_not_begun_until_it_is_resumed(db: Database) -> None:
    ann, bob = lives.accept(db), lives.accept(db, lives.message("bob"))
    assert conversations.pause(db, "local:ann") is True
    assert conversations.pause(db, "local:ann") is False
    later = lives.accept(db)
    assert turns.head(db, ann.conversation_id) is None
    assert ready(db) == [bob.conversation_id]
    with pytest.raises(StaleRow):  # a worker that had looked before
        lives.start(db, ann)
    assert conversations.resume(db, "local:ann") is True
    assert conversations.resume(db, "local:ann") is False
    assert ready(db) == [ann.conversation_id, bob.conversation_id]
    found = turns.head(db, ann.conversation_id)
    assert found is not None
    assert (found.id, later.id) == (1, 3)


def test_what_runs_goes_on(db: Database) -> None:
    running = lives.start(db, lives.accept(db))
    lives.accept(db)
    conversations.pause(db, "local:ann")
    assert turns.head(db, running.conversation_id) == running
    assert ready(db) == [running.conversation_id]
    lives.deliver(db, lives.answer(db, running))
    assert turns.head(db, running.conversation_id) is None


def test_a_run_that_was_interrupted_is_not_begun_again(db: Database) -> None:
    running = lives.start(db, lives.accept(db))
    conversations.pause(db, "local:ann")
    turns.interrupt(db, running, "recovery")
    assert turns.head(db, running.conversation_id) is None


def test_commands_that_are_handled_at_once_are(db: Database) -> None:
    lives.accept(db)
    conversations.pause(db, "local:ann")
    command = lives.accept(db, Inbound("local", "local:ann", "ann", "c1", "ann", "/status", 0, "command", "control"))
    assert turns.control_head(db, command.conversation_id) == command
    assert turns.open_controls(db) == [command.conversation_id]


def test_a_message_that_wants_way_wakes_nobody_there(db: Database) -> None:
    """Else the control lane would look after it every second, and `push consumer --drain` never end."""
    lives.accept(db)
    lives.accept(db, Inbound("local", "local:ann", "ann", "n1", "ann", "quick", 0, ahead=True))
    assert turns.open_controls(db) == [1]
    conversations.pause(db, "local:ann")
    assert turns.open_controls(db) == []
    conversations.resume(db, "local:ann")
    assert turns.open_controls(db) == [1]


def test_what_waits_is_listed_once_with_the_reason(db: Database) -> None:
    postponed = lives.accept(db)
    turns.postpone(db, postponed, "disk_full", 30)
    running = lives.start(db, lives.accept(db, lives.message("bob")))
    lives.accept(db, lives.message("bob"))
    for who in ("ann", "bob"):
        conversations.pause(db, f"local:{who}")
    listed = [(row.number, row.reason) for row in retries.waiting_or_failed(db, 10)]
    assert listed == [(postponed.id, "paused"), (3, "paused")]
    found = backlog.read(db)
    assert [(item.conversation, item.waiting) for item in found.paused] == [("local:ann", 1), ("local:bob", 1)]
    assert found.postponed == 0
    assert line.of(db, running.conversation_id)[0].state == "running"


def test_what_failed_there_keeps_its_reason(db: Database) -> None:
    lives.fail(db, lives.start(db, lives.accept(db)), "timed_out")
    conversations.pause(db, "local:ann")
    assert [row.reason for row in retries.waiting_or_failed(db, 10)] == ["timed_out"]


def test_a_conversation_that_is_not_there(db: Database) -> None:
    assert conversations.pause(db, "local:nobody") is None
    assert conversations.resume(db, "local:nobody") is None
