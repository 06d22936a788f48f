"""The signs of life, on a channel and a clock of the test's own: when each is shown; none holds anything up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from push import clock
from push.agents import process
from push.agents import spool as spooling
from push.agents.spool import Spool
from push.app.gear import open_gear
from push.config.load import load_or_default
from push.gateway import intake
from push.ledger import arrivals, conversations, line, pace, progress, turns
from push.ledger.turns import Reply
from push.model.values import (
    Delivered,
    Inbound,
    NotSent,
    Pace,
    Part,
    Plan,
    Refused,
    Rendered,
    SendOutcome,
    Turn,
    Unknown,
)
from push.tasks.signs import Signs
from push.tasks.turns import Gear

BEGIN = 1_900_000_000_000
PLAN = Plan("codex", None, True, 0, "/", "")


@dataclass
class Chat:
    """A channel that only shows signs. `outcome` is what comes of each call."""

    now: Callable[[], int]
    name: str = "telegram"
    calls: list[tuple[float, str]] = field(default_factory=list)
    outcome: SendOutcome = field(default_factory=lambda: Delivered("7/1"))

    def paces(self, target: str) -> tuple[Pace, ...]:
        return (Pace(target, ((1, 1.05),)), Pace("", ((28, 1.0),)))

    def _call(self, what: str) -> SendOutcome:
        self.calls.append(((self.now() - BEGIN) / 1000, what))
        return self.outcome

    def typing(self, target: str) -> SendOutcome:
        return self._call("typing")

    def post(self, target: str, text: str, stop_button: str | None = None) -> SendOutcome:
        return self._call(f"post {text}" + (f" [{stop_button}]" if stop_button else ""))

    def edit(self, target: str, receipt: str, text: str, stop_button: str | None = None) -> SendOutcome:
        return self._call(f"edit {text}" + (f" [{stop_button}]" if stop_button else ""))

    def remove(self, target: str, receipt: str) -> SendOutcome:
        return self._call(f"remove {receipt}")

    def close(self) -> None:
        """Nothing is open."""


class Stage:
    """Signs of one conversation, and a clock that jumps from one alarm to the next."""

    def __init__(self, gear: Gear, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = BEGIN
        monkeypatch.setattr(clock, "now_ms", lambda: self.now)
        self.chat = Chat(lambda: self.now)
        monkeypatch.setattr(gear.channels, "get", lambda name: self.chat if name == "telegram" else None)
        self.gear, self.db = gear, gear.db
        self.alarm: int | None = None
        self.signs = Signs(gear, self._later)
        self._count = 0

    def _later(self, instant: int, key: int) -> None:
        assert key == 1
        assert instant <= self.now + 60_000  # what is further away is forgotten
        self.alarm = min(instant, self.alarm or instant)

    def say(self, text: str, channel: str = "telegram") -> Turn:
        self._count += 1
        message = Inbound(channel, f"{channel}:7", "7", f"x:{self._count}", "7", text, self.now)
        turn = self.get(arrivals.accept(self.db, intake.classify(message)).turn_id)
        self.bell()
        return turn

    def get(self, turn_id: int) -> Turn:
        turn = turns.get(self.db, turn_id)
        assert turn is not None
        return turn

    def run(self, turn: Turn) -> Turn:
        spooling.prepare(self.gear.settings.home.spool, f"t{turn.id}-1", prompt=b"", instructions="")
        turns.start(self.db, turn, PLAN)
        return self.get(turn.id)

    def print(self, turn: Turn, *lines: str) -> None:
        out = Spool.at(self.gear.settings.home.spool, f"t{turn.id}-1").out
        with out.open("a") as file:
            file.writelines(f"{text}\n" for text in lines)

    def answer(self, turn: Turn) -> None:
        turns.answer(self.db, self.get(turn.id), Reply(Rendered((Part("fine"),))), "worker")
        self.bell()

    def bell(self) -> None:
        self.signs(1)

    def until(self, seconds: float) -> None:
        """Let time pass, with every alarm."""
        end = BEGIN + int(seconds * 1000)
        while self.alarm is not None and self.alarm <= end:
            self.now = max(self.alarm, self.now + 1)
            self.alarm = None
            self.bell()
        self.now = max(end, self.now)

    def take(self) -> list[tuple[float, str]]:
        """What was shown since the last look."""
        calls, self.chat.calls = self.chat.calls, []
        return calls

    def shown(self, begins: str) -> list[str]:
        return [what for _, what in self.take() if what.startswith(begins)]


def _gear(home: Path, shows: str) -> Iterator[Gear]:
    settings = replace(load_or_default().with_agent("codex"), progress=shows)
    made = open_gear(settings)
    yield made
    made.audit.close()
    made.stop.close()
    made.db.close()


@pytest.fixture
def gear(home: Path, request: pytest.FixtureRequest) -> Iterator[Gear]:
    yield from _gear(home, getattr(request, "param", "typing"))


@pytest.fixture
def stage(gear: Gear, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(gear, monkeypatch)


with_progress = pytest.mark.parametrize("gear", ["message"], indirect=True)


# -- typing ------------------------------------------------------------------------------------------------------------


def test_nothing_is_shown_for_what_waits_in_a_paused_conversation(stage: Stage) -> None:
    first = stage.run(stage.say("one"))
    conversations.pause(stage.db, "telegram:7")
    stage.until(5)
    assert stage.take() == [(0.0, "typing"), (4.0, "typing")]  # what runs goes on
    stage.answer(first)
    stage.say("two")
    stage.until(60)
    assert stage.take() == []
    assert stage.alarm is None
    conversations.resume(stage.db, "telegram:7")
    stage.bell()
    assert stage.shown("typing") == ["typing"]


def test_typing_from_the_acceptance_every_4_s_until_the_end(stage: Stage) -> None:
    turn = stage.say("one")
    stage.bell()
    stage.run(turn)
    Signs(stage.gear, stage._later)(1)  # another consumer
    assert stage.take() == [(0.0, "typing")]
    stage.until(13)
    assert stage.take() == [(4.0, "typing"), (8.0, "typing"), (12.0, "typing")]
    stage.answer(turn)
    stage.until(60)
    assert stage.take() == []
    assert stage.alarm is None


def test_the_next_message_is_typed_for_at_once(stage: Stage) -> None:
    turn, following = stage.say("one"), stage.say("two")
    stage.until(1)
    stage.run(turn)
    stage.answer(turn)
    assert stage.take() == [(0.0, "typing"), (1.0, "typing")]
    assert stage.get(following.id).state == "queued"


def test_no_typing_for_a_command_or_a_postponed_message(stage: Stage) -> None:
    command = stage.say("/usage")
    assert stage.take() == []
    turns.answer_command(stage.db, command, Rendered((Part("x"),)))
    turn = stage.say("one")
    stage.take()
    turns.postpone(stage.db, turn, "disk", 20.0)
    stage.until(18)
    assert stage.take() == []
    stage.until(21)
    assert stage.shown("typing") == ["typing"]


def test_the_terminal_gets_no_signs(stage: Stage) -> None:
    stage.say("one", channel="local")
    assert (stage.take(), stage.alarm) == ([], None)


def test_typing_respects_a_pause_and_a_429_on_it_pauses_the_chat(stage: Stage) -> None:
    stage.chat.outcome = NotSent("flood", 20.0)
    stage.run(stage.say("one"))
    assert [(row.key, row.until) for row in pace.pauses(stage.db)] == [("7", BEGIN + 20_000)]
    stage.chat.outcome = Delivered("x")
    stage.until(10)
    stage.bell()
    stage.until(25)
    assert [at for at, _ in stage.take()] == [0.0, 20.0, 24.0]


def test_c18_typing_that_does_not_succeed_becomes_rare(stage: Stage) -> None:
    stage.chat.outcome = Unknown("timeout")
    stage.run(stage.say("one"))
    stage.until(200)
    assert [at for at, _ in stage.take()] == [0.0, 8.0, 24.0, 56.0, 116.0, 176.0]


def test_what_breaks_is_looked_at_again_later(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(line, "of", broken)
        stage.say("one")
    assert stage.alarm == BEGIN + 30_000
    stage.until(30)
    assert stage.take() == [(30.0, "typing")]


def test_a_stopping_process_shows_nothing(stage: Stage, gear: Gear) -> None:
    gear.stop.set()
    stage.say("one")
    assert (stage.take(), stage.alarm) == ([], None)


# -- progress ----------------------------------------------------------------------------------------------------------


@with_progress
def test_progress_after_15_s_edited_when_it_changes_removed_at_the_end(stage: Stage) -> None:
    turn = stage.run(stage.say("one"))
    stage.bell()
    stage.until(14.9)
    assert stage.shown("post") == []
    stage.until(15)
    assert stage.shown("post") == [f"post ⏳ codex is working (15 s) [stop:{turn.id}]"]
    stage.print(turn, '{"type":"item.started","item":{"type":"web_search"}}')
    stage.until(26)
    assert stage.shown("edit") == [f"edit ⏳ codex is searching the web (25 s) [stop:{turn.id}]"]
    stage.until(75)
    assert stage.shown("edit")[-1] == f"edit ⏳ codex is searching the web (1 min) [stop:{turn.id}]"
    stage.until(110)
    assert stage.shown("edit") == []
    stage.answer(turn)
    assert stage.shown("remove") == ["remove 7/1"]
    assert progress.of(stage.db, 1) == []
    stage.until(400)
    assert stage.take() == []


@with_progress
def test_no_progress_for_a_short_run_or_in_a_busy_chat(stage: Stage) -> None:
    turn = stage.run(stage.say("one"))
    stage.bell()
    stage.until(14.8)
    with stage.db.write():
        pace.take(stage.db, "telegram", stage.chat.paces("7"))
    stage.until(15.5)
    assert stage.shown("post") == []
    stage.until(16.1)
    assert len(stage.shown("post")) == 1
    stage.answer(turn)


@with_progress
@pytest.mark.parametrize(("outcome", "tries"), [(Unknown("cut"), 1), (Refused("blocked"), 1), (NotSent("connect"), 4)])
def test_progress_that_cannot_be_posted_is_given_up(stage: Stage, outcome: SendOutcome, tries: int) -> None:
    stage.run(stage.say("one"))
    stage.chat.outcome = outcome
    stage.bell()
    stage.until(300)
    assert len(stage.shown("post")) == tries


@with_progress
def test_progress_that_a_person_removed_is_left_alone(stage: Stage) -> None:
    turn = stage.run(stage.say("one"))
    stage.bell()
    stage.until(16)
    stage.chat.outcome = Refused("message_gone")
    stage.until(60)
    assert len(stage.shown("edit")) == 1
    stage.until(100)
    assert stage.shown("edit") == []
    stage.answer(turn)
    assert progress.of(stage.db, 1) == []


@with_progress
def test_a_removal_that_fails_is_tried_a_few_times_further_and_further_apart(stage: Stage) -> None:
    turn = stage.run(stage.say("one"))
    stage.bell()
    stage.until(16)
    stage.chat.outcome = Unknown("cut")
    stage.answer(turn)
    for hour in range(24):
        stage.until(3600 * hour)
        stage.bell()  # as the sweep does
    times = [at for at, what in stage.take() if what.startswith("remove")]
    assert len(times) == 8
    distances = [later - earlier for earlier, later in pairwise(times)]
    assert distances == sorted(distances)
    assert distances[0] < 5
    assert distances[-1] > 36_000
    assert progress.of(stage.db, 1) == []


@with_progress
@pytest.mark.parametrize("ending", ["cancelled", "interrupted"])
def test_progress_goes_however_its_run_ends(stage: Stage, ending: str) -> None:
    turn = stage.run(stage.say("one"))
    stage.bell()
    stage.until(16)
    if ending == "cancelled":
        turns.cancel(stage.db, turn, "worker")
    else:
        turns.interrupt(stage.db, turn, "recovery")
    stage.bell()
    assert stage.shown("remove") == ["remove 7/1"]


# -- acknowledgement ---------------------------------------------------------------------------------------------------


def test_what_waits_for_5_s_is_acknowledged_once(stage: Stage) -> None:
    turn = stage.run(stage.say("one"))
    stage.say("two")
    stage.until(2)
    stage.say("three")
    stage.until(4.9)
    assert stage.shown("post") == []
    stage.until(5)
    assert stage.shown("post") == ["post 🕒 2 messages wait behind the one at work; /stop ends that one."]
    stage.until(30)
    assert stage.shown("post") == []
    stage.say("four")
    stage.until(35)
    assert stage.shown("post") == ["post 🕒 1 message waits behind the one at work; /stop ends that one."]
    stage.answer(turn)


def test_five_messages_that_are_answered_quickly_are_not_acknowledged(stage: Stage) -> None:
    messages = [stage.say(f"m{number}") for number in range(5)]
    for number, turn in enumerate(messages):
        stage.run(turn)
        stage.until(number * 1.2)
        stage.answer(turn)
    stage.until(60)
    assert stage.shown("post") == []


def test_what_is_about_to_run_is_not_acknowledged(stage: Stage, gear: Gear) -> None:
    """Behind nothing that runs; as `/now`, or behind a run that a person has asked to end."""
    turn = stage.say("one")
    stage.say("two")
    stage.until(20)
    assert stage.shown("post") == []
    stage.run(turn)
    process.cancel(Spool.at(gear.settings.home.spool, f"t{turn.id}-1"))
    stage.until(30)
    assert stage.shown("post") == []


def test_now_is_not_acknowledged(stage: Stage) -> None:
    stage.run(stage.say("one"))
    stage.say("/now two")
    stage.until(20)
    assert stage.shown("post") == []
