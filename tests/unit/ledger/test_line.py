"""A conversation's line: the same order as that in which turns are handled, and leaving it."""

from __future__ import annotations

import pytest

from push.ledger import arrivals, line, turns
from push.ledger.database import Database
from push.model.values import Inbound, Plan, Turn
from tests.unit.ledger.test_query_plans import walks

PLAN = Plan("claude", None, True, 0, "/", "")


def _say(db: Database, text: str, *, ahead: bool = False, user: str = "ann", lane: str = "turns") -> Turn:
    kind = "message" if lane == "turns" else "command"
    message = Inbound("local", f"local:{user}", user, text, user, text, 0, kind, lane, ahead)
    turn = turns.get(db, arrivals.accept(db, message).turn_id)
    assert turn is not None
    return turn


def test_the_line_is_in_the_order_in_which_turns_are_handled(db: Database) -> None:
    conversation = _say(db, "one").conversation_id
    turns.start(db, _head(db, conversation), PLAN)
    turns.interrupt(db, _head(db, conversation), "recovery")
    for text, ahead in (("two", False), ("three", True), ("four", False), ("five", True)):
        _say(db, text, ahead=ahead)
    _say(db, "elsewhere", user="bob")
    _say(db, "/stop", lane="control")
    expected = []
    order = [place.id for place in line.of(db, conversation)]
    assert [place.has_begun for place in line.of(db, conversation)] == [True, False, False, False, False]
    while (head := turns.head(db, conversation)) is not None:
        expected.append(head.id)
        turns.cancel(db, head, "operator")
    assert order == expected
    assert len(order) == 5


def _head(db: Database, conversation_id: int) -> Turn:
    head = turns.head(db, conversation_id)
    assert head is not None
    return head


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_only_what_nobody_works_on_is_taken_back(db: Database, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    running, waiting, queued, over = (_say(db, text) for text in ("one", "two", "three", "four"))
    for turn in (running, waiting):
        turns.start(db, turn, PLAN)
    found = turns.get(db, waiting.id)
    assert found is not None
    turns.delay(db, found, "busy", 30.0)
    turns.cancel(db, over, "operator")
    monkeypatch.setattr(line, "_CHUNK", chunk)
    ids = [turn.id for turn in (running, waiting, queued, over)]
    assert line.take_back(db, [*ids, 999]) == 2
    assert line.take_back(db, ids) == 0
    states = [str(state) for (state,) in db.rows("SELECT state FROM turn ORDER BY id")]
    assert states == ["running", "cancelled", "cancelled", "cancelled"]


def test_what_ended_since_a_command_in_its_order(db: Database) -> None:
    before, first, second = (_say(db, text) for text in ("zero", "one", "two"))
    turns.cancel(db, before, "operator")
    with db.write():
        db.execute("UPDATE turn SET finished_at = 1 WHERE id = ?", (before.id,))
    elsewhere = _say(db, "elsewhere", user="bob")
    command = _say(db, "/stop", lane="control")
    after = _say(db, "three")
    for turn in (second, elsewhere, after, first):
        turns.cancel(db, turn, "operator")
    with db.write():
        db.execute("UPDATE turn SET finished_at = finished_at + 60000 WHERE id = ?", (first.id,))
    assert line.ended_since(db, command) == [(second.id, "cancelled"), (first.id, "cancelled")]


def test_no_look_at_a_line_walks_through_history(db: Database) -> None:
    command = _say(db, "/stop", lane="control")
    assert walks(db, lambda db: line.of(db, 1)) == []
    assert walks(db, line.open_commands) == []
    assert walks(db, lambda db: line.ended_since(db, command)) in ([], ["SCAN (subquery-1)"])
