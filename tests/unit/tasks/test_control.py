"""The control lane: no command and no bell is lost, whatever breaks; nothing loops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push.app.gear import open_gear
from push.config.load import load_or_default
from push.gateway import intake
from push.gateway.controls import DEFECT
from push.ledger import arrivals, outbox, turns
from push.locks import FileLock
from push.model.values import Inbound, Turn
from push.tasks import control
from push.tasks.control import Control
from push.tasks.turns import Gear


@pytest.fixture
def gear(home: Path) -> Iterator[Gear]:
    made = open_gear(load_or_default().with_agent("command", ("true",)))
    yield made
    made.audit.close()
    made.stop.close()
    made.db.close()


class Lane:
    """The lane's handler, and what it told others."""

    def __init__(self, gear: Gear) -> None:
        self.db = gear.db
        self.ended: list[int] = []
        self.rung: list[int] = []
        self.later: list[int] = []
        self.handler = Control(
            gear, lambda turn: self.ended.append(turn.id), self.rung.append, lambda _, key: self.later.append(key)
        )
        self._count = 0

    def say(self, text: str) -> Turn:
        self._count += 1
        message = Inbound("local", "local:ann", "ann", f"x:{self._count}", "ann", text, 0)
        turn = turns.get(self.db, arrivals.accept(self.db, intake.classify(message)).turn_id)
        assert turn is not None
        return turn

    def state(self, turn: Turn) -> str:
        found = turns.get(self.db, turn.id)
        assert found is not None
        return found.state


@pytest.fixture
def lane(gear: Gear) -> Lane:
    return Lane(gear)


def test_commands_are_answered_in_order_beside_what_waits(lane: Lane) -> None:
    waiting = lane.say("hello")
    commands = [lane.say("/help"), lane.say("/status")]
    lane.handler(waiting.conversation_id)
    assert lane.ended == [turn.id for turn in commands]
    assert lane.rung == [waiting.conversation_id]
    assert lane.later == []
    assert lane.state(waiting) == "queued"
    rows = [row for row, _ in outbox.open_for(lane.db, "local", "ann")]
    assert [(row.turn_id, row.urgent) for row in rows] == [(turn.id, True) for turn in commands]


def test_a_bell_that_finds_the_lock_taken_is_not_lost(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command, and another /now, arrive while the lock is held: whoever holds it looks again."""
    first = lane.say("/help")
    arrived: list[Turn] = []
    unlock = FileLock.unlock

    def late(lock: FileLock) -> None:
        if lock.path.name.startswith("x") and len(arrived) < 2:
            arrived.append(lane.say("/now two" if arrived else "/status"))
            lane.handler(first.conversation_id)  # finds the lock taken
        unlock(lock)

    monkeypatch.setattr(FileLock, "unlock", late)
    lane.handler(first.conversation_id)
    assert [lane.state(turn) for turn in (first, *arrived)] == ["answered", "answered", "queued"]
    assert lane.later == [first.conversation_id]  # /now is looked after until it runs


def test_trouble_keeps_the_command_and_comes_back_later(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    turn = lane.say("/help")
    with monkeypatch.context() as patched:
        patched.setattr(turns, "answer_command", full)
        lane.handler(turn.conversation_id)
    assert lane.state(turn) == "queued"
    assert lane.later == lane.rung == [turn.conversation_id]
    lane.handler(turn.conversation_id)
    assert lane.state(turn) == "answered"


def test_a_defect_is_answered_and_holds_up_nothing(
    lane: Lane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr("push.gateway.standing.text", broken)
    commands = [lane.say("/status"), lane.say("/help")]
    lane.handler(commands[0].conversation_id)
    assert [lane.state(turn) for turn in commands] == ["answered", "answered"]
    texts = [row.parts[0].part.text for row, _ in outbox.open_for(lane.db, "local", "ann")]
    assert texts[0] == DEFECT
    assert texts[1] != DEFECT
    assert "ZeroDivisionError" in caplog.text


def test_now_is_looked_after_until_it_runs(lane: Lane) -> None:
    turn = lane.say("/now one")
    lane.handler(turn.conversation_id)
    lane.handler(turn.conversation_id)
    assert lane.later == [turn.conversation_id] * 2
    turns.cancel(lane.db, turn, "operator")
    lane.handler(turn.conversation_id)
    assert lane.later == [turn.conversation_id] * 2


def test_no_role_is_no_loop(home: Path) -> None:
    assert control._poll_loops(home / "run") == {}
