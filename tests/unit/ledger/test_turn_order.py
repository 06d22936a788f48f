"""Which turn comes next: what has begun, then what a person wanted at once, then in the order of their coming."""

from __future__ import annotations

from dataclasses import replace

import pytest

from push.ledger import arrivals, line, outbox, turns
from push.ledger.database import Database
from push.model.values import Turn
from tests.ledger import lives

PASTE = "x" * arrivals.SPLIT_UNITS


def now_please(db: Database, text: str = "at once") -> Turn:
    return lives.accept(db, replace(lives.message("ann", text), ahead=True))


def control(db: Database, text: str = "/status") -> Turn:
    return lives.accept(db, replace(lives.message("ann", text, "command"), lane="control"))


def order(db: Database, conversation: int = 1) -> list[int]:
    return [turn.id for turn in line.of(db, conversation)]


def test_what_is_wanted_at_once_goes_before_what_waits(db: Database) -> None:
    waiting = lives.accept(db)
    first, second = now_please(db), now_please(db)
    assert order(db) == [first.id, second.id, waiting.id]
    head = turns.head(db, 1)
    assert head is not None
    assert (head.id, head.ahead) == (first.id, True)


@pytest.mark.parametrize("state", ["running", "waiting", "interrupted"])
def test_what_has_begun_goes_before_it(db: Database, state: str) -> None:
    begun = lives.start(db, lives.accept(db))
    if state == "waiting":
        turns.delay(db, begun, "in_use", 60)
    elif state == "interrupted":
        turns.interrupt(db, begun, "recovery")
    waiting = lives.accept(db)
    ahead = now_please(db)
    assert order(db) == [begun.id, ahead.id, waiting.id]
    [(_, due)] = turns.open_conversations(db)
    assert due == lives.now(db, begun.id).not_before


def test_a_postponed_message_that_has_not_begun_does_not_hold_it(db: Database) -> None:
    held = lives.accept(db)
    turns.postpone(db, held, "disk_full", 60)
    ahead = now_please(db)
    assert turns.open_conversations(db) == [(1, None)]
    assert order(db) == [ahead.id, held.id]


def test_commands_of_the_control_lane_are_never_in_the_line(db: Database) -> None:
    first = control(db)
    assert (turns.head(db, 1), turns.open_conversations(db), order(db)) == (None, [], [])
    message, second = lives.accept(db), control(db, "/stop")
    assert order(db) == [message.id]
    head = turns.control_head(db, 1)
    assert head is not None
    assert (head.id, head.lane) == (first.id, "control")
    turns.answer_command(db, head, lives.rendered("done"))
    later = turns.control_head(db, 1)
    assert later is not None
    assert later.id == second.id
    assert lives.reply_to(db, first.id).urgent


def test_who_has_work_for_the_control_lane(db: Database) -> None:
    lives.accept(db)
    lives.accept(db, lives.message("bob"))
    assert turns.open_controls(db) == []
    ahead = lives.accept(db, replace(lives.message("bob"), ahead=True))
    command = control(db)
    assert turns.open_controls(db) == [1, 2]
    lives.start(db, ahead)
    turns.answer_command(db, command, lives.rendered("done"))
    assert turns.open_controls(db) == []


def test_history_holds_what_was_handled_and_not_what_waits(db: Database) -> None:
    lives.deliver(db, lives.answered(db, "ann", "one"))
    lives.accept(db, lives.message("ann", "waits"))
    lead = lives.accept(db, replace(lives.message("ann", PASTE), joins=True))
    arrivals.accept(db, replace(lives.message("ann", "the rest"), joins=True))
    assert lives.state_of(db, "turn", lead.id + 1) == "merged"
    ahead = now_please(db)
    assert turns.recent_messages(db, ahead, 20) == [("user", "hello"), ("assistant", "one")]


def test_history_tells_a_formatted_reply_as_the_agent_wrote_it(db: Database) -> None:
    turn = lives.start(db, lives.accept(db))
    reply = replace(lives.rendered("one ", "two"), source="**one** two")
    turns.answer(db, turn, turns.Reply(reply), "worker")
    row = outbox.get(db, 1)
    lives.deliver(db, row)
    assert turns.recent_messages(db, lives.accept(db), 20)[-1] == ("assistant", "**one** two")


def test_a_message_that_stands_for_another_is_handled_in_its_place(db: Database) -> None:
    lives.accept(db, lives.message("ann", "do this"))
    turns.cancel(db, lives.now(db, 1), "operator")
    command = lives.accept(db, lives.message("ann", "/retry", "command"))
    found = turns.last_message(db, command)
    assert found is not None
    assert found.text == "do this"
    turns.become_message(db, command, found.text, "quoted")
    became = lives.now(db, command.id)
    assert (became.kind, became.text, became.context, became.state) == ("message", "do this", "quoted", "queued")


def test_the_last_message_is_a_whole_one_of_this_conversation(db: Database) -> None:
    lead = lives.accept(db, replace(lives.message("ann", PASTE), joins=True))
    arrivals.accept(db, replace(lives.message("ann", "the rest"), joins=True))
    lives.accept(db, lives.message("bob", "somebody else's"))
    command = lives.accept(db, lives.message("ann", "/retry", "command"))
    found = turns.last_message(db, command)
    assert found is not None
    assert found.id == lead.id
    assert turns.last_message(db, found) is None


def test_who_waits_is_told_so_once(db: Database) -> None:
    lives.start(db, lives.accept(db))
    second, third = lives.accept(db), lives.accept(db)
    turns.acknowledge(db, [second.id])
    untold = [place.id for place in line.of(db, 1) if place.acknowledged_at is None and not place.has_begun]
    assert untold == [third.id]
