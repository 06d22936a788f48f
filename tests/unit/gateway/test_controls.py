"""Commands that are handled at once: what they stop, also when a crash repeats them, and what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from push import clock
from push.agents import process
from push.agents import spool as spooling
from push.agents.spool import Spool
from push.gateway import cancelling, presses
from push.gateway.controls import Controls
from push.ledger import conversations, line, pace, turns
from push.ledger.database import Database
from push.ledger.turns import Reply
from push.model.values import Part, Plan, Rendered, Turn
from push.providers.base import Pressed
from tests.unit.gateway.conftest import Sender

PLAN = Plan("claude", None, True, 0, "/", "")


class Desk:
    """Controls, and runs that stand still until they are told to end."""

    def __init__(self, db: Database, spools: Path, send: Sender) -> None:
        self._db = db
        self._spools = spools
        self.send = send
        self.loops: dict[str, tuple[int, str]] = {}
        self.controls = Controls(db, spools, lambda: self.loops)

    def running(self, text: str) -> Turn:
        turn = self.send(text)
        return self.run(turn)

    def run(self, turn: Turn) -> Turn:
        spooling.prepare(self._spools, f"t{turn.id}-1", prompt=b"", instructions="")
        turns.start(self._db, turn, PLAN)
        return self.now(turn)

    def now(self, turn: Turn) -> Turn:
        found = turns.get(self._db, turn.id)
        assert found is not None
        return found

    def asked(self, turn: Turn) -> bool:
        return process.asked_to_cancel(Spool.at(self._spools, f"t{turn.id}-1"))

    def end(self, turn: Turn) -> None:
        """What the worker does with a run that was told to end, or has ended."""
        running = self.now(turn)
        if self.asked(turn):
            turns.cancel(self._db, running, "worker")
        else:
            turns.answer(self._db, running, Reply(Rendered((Part("fine"),))), "worker")

    def say(self, text: str) -> str:
        return self.controls.run(self.send(text))


def _without_times(text: str) -> str:
    return re.sub(r"\d+ s\b", "N s", text)


@pytest.fixture
def desk(db: Database, home: Path, send: Sender) -> Desk:
    return Desk(db, home / "spool", send)


def test_help_lists_every_command(desk: Desk) -> None:
    assert desk.say("/help").splitlines()[2].startswith("/stop: ")
    assert desk.say("/start") == desk.say("/help")


def test_a_mistake_is_answered_and_nothing_done(desk: Desk) -> None:
    turn = desk.running("one")
    assert desk.say("/stop it").startswith("Nothing was stopped.")
    assert not desk.asked(turn)


def test_stop_ends_what_runs_and_nothing_else(desk: Desk) -> None:
    first, second = desk.running("one"), desk.send("two")
    elsewhere = desk.run(desk.send("x", user="bob"))
    assert _without_times(desk.say("/stop")).startswith(f"Stopping message {first.id}, at work for N s. 1 more waits;")
    assert desk.asked(first)
    assert desk.now(second).state == "queued"
    assert not desk.asked(elsewhere)


def test_stop_takes_back_the_oldest_where_nothing_runs(desk: Desk) -> None:
    first, second = desk.send("one"), desk.send("two")
    assert desk.say("/stop").startswith(
        f"Nothing runs here. Took back message {first.id}, which waited for 0 s. 1 more"
    )
    assert [desk.now(turn).state for turn in (first, second)] == ["cancelled", "queued"]


def test_stop_where_nothing_is(desk: Desk) -> None:
    assert desk.say("/stop") == desk.say("/stop all") == "Nothing runs or waits here."


@pytest.mark.parametrize("begins", ["waiting", "running"])
def test_a_repeated_stop_stops_no_second_message(desk: Desk, begins: str) -> None:
    first = desk.running("one") if begins == "running" else desk.send("one")
    second, command = desk.send("two"), desk.send("/stop")
    desk.controls.run(command)
    if begins == "running":
        desk.end(first)
        desk.run(second)
    assert desk.controls.run(command) == f"Message {first.id} is stopped."
    assert desk.now(first).state == "cancelled"
    assert not desk.asked(second)
    assert desk.now(second).state != "cancelled"


def test_what_ends_between_the_looks_of_a_repeated_stop_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first, command = desk.running("one"), desk.send("/stop")
    look = cancelling.cancel

    def cancel(db: Database, spools: Path, turn_id: int) -> bool:
        process.cancel(Spool.at(spools, f"t{turn_id}-1"))  # a gateway that was killed had asked for it
        desk.end(first)
        return look(db, spools, turn_id)

    monkeypatch.setattr(cancelling, "cancel", cancel)
    assert desk.controls.run(command) == f"Message {first.id} is stopped."


def test_a_stop_that_comes_too_late_does_not_stop_the_next(desk: Desk) -> None:
    first, second, command = desk.running("one"), desk.send("two"), desk.send("/stop")
    desk.end(first)
    desk.run(second)
    assert "ended by itself" in desk.controls.run(command)
    assert not desk.asked(second)


def test_what_is_said_after_a_stop_is_not_stopped(desk: Desk) -> None:
    command, later = desk.send("/stop"), desk.running("later")
    everything, latest = desk.send("/stop all"), desk.send("latest")
    assert desk.controls.run(command) == "Nothing runs or waits here."
    assert not desk.asked(later)
    desk.controls.run(everything)
    assert desk.asked(later)
    assert desk.now(latest).state == "queued"


def test_stop_all_takes_back_a_long_line(desk: Desk, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    first = desk.running("one")
    waiting = [desk.send(f"m{number}") for number in range(7)]
    turns.postpone(db, waiting[0], "disk", 30.0)
    command = desk.send("/stop all")
    monkeypatch.setattr(line, "_CHUNK", 2)
    said = _without_times(desk.controls.run(command))
    assert said == f"Stopping message {first.id}, at work for N s. Took back 7 messages more."
    desk.end(first)
    assert desk.controls.run(command) == "Took back 8 messages; nothing runs here."
    assert {desk.now(turn).state for turn in waiting} == {"cancelled"}


# -- now ---------------------------------------------------------------------------------------------------------------


def test_now_stops_what_runs(desk: Desk) -> None:
    first = desk.running("one")
    desk.send("two")
    urgent = desk.send("/now three")
    assert desk.controls.make_way(first.conversation_id) == urgent.id
    assert desk.asked(first)
    desk.end(first)
    assert desk.controls.make_way(first.conversation_id) == urgent.id  # it is the next: nothing to stop
    running = desk.run(urgent)
    assert desk.controls.make_way(first.conversation_id) is None
    assert not desk.asked(running)


def test_now_takes_the_place_of_what_was_postponed_in_the_middle(desk: Desk, db: Database) -> None:
    first = desk.running("one")
    turns.delay(db, first, "busy", 30.0)
    urgent = desk.send("/now two")
    desk.controls.make_way(first.conversation_id)
    assert desk.now(first).state == "cancelled"
    assert line.of(db, first.conversation_id)[0].id == urgent.id


def test_a_second_now_stops_the_first_only_if_that_had_begun(desk: Desk, db: Database) -> None:
    first, second = desk.send("/now one"), desk.send("/now two")
    desk.run(first)
    with db.write():
        db.execute("UPDATE turn SET queued_at = 1000, started_at = 1020 WHERE id = ?", (first.id,))
        db.execute("UPDATE turn SET queued_at = 1010 WHERE id = ?", (second.id,))
    desk.controls.make_way(first.conversation_id)
    assert not desk.asked(first)
    with db.write():
        db.execute("UPDATE turn SET queued_at = 1030 WHERE id = ?", (second.id,))
    desk.controls.make_way(first.conversation_id)
    assert desk.asked(first)


def test_now_stops_nothing_in_a_paused_conversation(desk: Desk, db: Database) -> None:
    """It could not begin, and would be looked after every second in vain."""
    first = desk.running("one")
    urgent = desk.send("/now two")
    conversations.pause(db, "local:ann")
    assert desk.controls.make_way(first.conversation_id) is None
    assert desk.controls.newest_wish(first.conversation_id) is None
    assert not desk.asked(first)
    assert desk.say("/status").splitlines()[1].startswith("This conversation is paused")
    conversations.resume(db, "local:ann")
    assert desk.controls.make_way(first.conversation_id) == urgent.id
    assert desk.asked(first)


# -- status ------------------------------------------------------------------------------------------------------------


def test_status_of_a_quiet_gateway(desk: Desk) -> None:
    assert desk.say("/status") == "Here: nothing runs, nothing waits.\nGateway: 0 running, 0 waiting."


def test_status_says_what_runs_waits_and_is_paused(desk: Desk, db: Database) -> None:
    turn = desk.running("one secretword")
    with db.write():
        db.execute("UPDATE turn SET started_at = started_at - 3700000 WHERE id = ?", (turn.id,))
    desk.send("two")
    desk.send("elsewhere", user="bob")
    pace.pause(db, "telegram", "12345", 119, "flood")
    now = clock.now_ms()
    desk.loops |= {"telegram": (now, "unreachable"), "telegram.good": (now - 200_000, "last good poll")}
    desk.loops["poll"] = (now, "fine")
    text = desk.say("/status")
    assert text.splitlines() == [
        "Here: claude has been at work for 1 h 1 min; 1 waiting.",
        "Gateway: 1 running, 2 waiting.",
        "telegram: not read for 3 min; unreachable.",
        "Sending pauses in 1 chat, for 1 min more.",
    ]


def test_status_of_a_postponed_message_and_of_what_failed(desk: Desk, db: Database) -> None:
    failed = desk.running("one")
    turns.fail(db, failed, Reply(Rendered((Part("sorry"),))), "worker", turns.Failure("refused"))
    turns.postpone(db, desk.send("two"), "disk", 7100.0)
    desk.loops["telegram"] = (0, "asking")
    assert desk.say("/status").splitlines() == [
        "Here: nothing runs, the next try is in 1 h 58 min; 1 waiting.",
        "Gateway: 0 running, 1 waiting, 1 answer on the way.",
        "telegram: not read yet; asking.",
        "1 message failed; on the machine: push retries list",
    ]


# -- buttons -----------------------------------------------------------------------------------------------------------


def test_a_button_stops_its_turn_and_only_from_its_conversation(desk: Desk, db: Database, home: Path) -> None:
    turn = desk.running("one")

    def press(data: str, conversation: str = "local:ann") -> presses.Answer:
        return presses.press(db, home / "spool", Pressed("p", "7", conversation, "ann", data, None))

    button = presses.stop_button(turn.id)
    for answer in (press(button, "local:bob"), press("stop:9999"), press("stop:x"), press("")):
        assert "nothing" in answer.text
    assert not desk.asked(turn)
    assert press(button).text == "Stopping."
    assert desk.asked(turn)
    desk.end(turn)
    assert press(button) == presses.Answer("It is over already.", turn.conversation_id, is_stale=True)
