"""Deliveries to a target: in order, one after the other, within the budget, two streams, nothing overlooked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from freezegun import freeze_time

from push.app.gear import open_gear
from push.config.load import load_or_default
from push.config.settings import Settings
from push.errors import TemporaryError
from push.ledger import arrivals, outbox, pace, retries, turns
from push.ledger.database import Database
from push.locks import FileLock
from push.model.values import Accepted, Inbound, NotSent, Outbound, Refused, Unknown
from push.providers.registry import Connected
from push.tasks import deliver
from push.tasks.channels import Channels
from push.tasks.deliver import BUDGET, NORMAL, URGENT, Deliver, target_lock
from push.tasks.turns import Gear
from tests.ledger import lives
from tests.unit.tasks.scripted import NAME, ScriptedChannel

NOON = "2026-03-01T12:00:00Z"
NOON_MS = 1_772_366_400_000


class Scripted(Channels):
    """The one channel that is on, or none."""

    def __init__(self, settings: Settings, channel: ScriptedChannel) -> None:
        super().__init__(settings)
        self.channel: Connected | None = channel

    def get(self, name: str) -> Connected | None:
        return self.channel if name == NAME else None


class Bench:
    """The two lanes of one consumer, driven by hand. What was rung stands in `rung`, what is to be in `later`."""

    def __init__(self, gear: Gear) -> None:
        self.gear = gear
        self.db: Database = gear.db
        self.run_dir: Path = gear.settings.home.run
        self.channel = ScriptedChannel()
        self.channels = Scripted(gear.settings, self.channel)
        self.rung: list[str] = []
        self.later: list[tuple[int, str]] = []
        self._count = 0
        self.lanes = {stream: self._lane(stream) for stream in (NORMAL, URGENT)}

    def _lane(self, stream: int) -> Deliver:
        gear = (self.gear.settings, self.db, self.gear.stop)
        bells = (self.rung.append, lambda instant, bell: self.later.append((instant, bell)))
        return Deliver(stream, gear, self.channels, bells)

    def ring(self, target: str = "ann", stream: int = NORMAL) -> None:
        self.lanes[stream](deliver.key(NAME, target))

    def answer(self, text: str, target: str = "ann", lane: str = "turns") -> Outbound:
        """A row on its way out."""
        self._count += 1
        kind = "command" if lane == "control" else "message"
        message = Inbound(NAME, f"{NAME}:{target}", target, f"e{self._count}", "7", "hi", 0, kind, lane)
        accepted = arrivals.accept(self.db, message)
        assert isinstance(accepted, Accepted)
        turns.answer_command(self.db, lives.now(self.db, accepted.turn_id), lives.rendered(text))
        return lives.reply_to(self.db, accepted.turn_id)

    def states(self) -> list[str]:
        return [str(state) for (state,) in self.db.rows("SELECT state FROM outbound ORDER BY id")]


@pytest.fixture
def bench(home: Path) -> Iterator[Bench]:
    gear = open_gear(load_or_default().with_agent("command", ("true",)))
    yield Bench(gear)
    gear.audit.close()
    gear.stop.close()
    gear.db.close()


def test_a_targets_rows_go_out_in_the_order_of_their_commits(bench: Bench) -> None:
    for text in ("one", "two", "three"):
        bench.answer(text)
    bench.answer("somebody else's", "bob")
    bench.ring()
    assert bench.channel.sent == [("ann", "one", ""), ("ann", "two", ""), ("ann", "three", "")]
    assert bench.states() == ["delivered"] * 3 + ["pending"]
    assert (bench.rung, bench.later) == ([], [])


def test_one_that_waits_holds_those_behind_it(bench: Bench) -> None:
    row = bench.answer("one")
    bench.answer("two")
    bench.channel.outcomes["one"] = [NotSent("offline")]
    bench.ring()
    assert bench.channel.texts == ["one"]
    assert bench.states() == ["waiting", "pending"]
    until = outbox.get(bench.db, row.id).not_before
    assert bench.later == [(until, f"{NAME} ann")]
    bench.ring()
    assert bench.channel.texts == ["one"], "it is not due yet"
    retries.send_again(bench.db, row.id)
    bench.ring()
    assert bench.channel.texts == ["one", "one", "two"]


@pytest.mark.parametrize("end", ["failed", "unknown", "dropped"])
def test_one_that_is_given_up_releases_them(bench: Bench, end: str) -> None:
    row = bench.answer("one")
    bench.answer("two")
    if end == "dropped":
        retries.drop_delivery(bench.db, row.id)
    else:
        bench.channel.outcomes["one"] = [Refused("blocked")] if end == "failed" else [Unknown("timeout")] * 2
    bench.ring()
    assert bench.states() == [end, "delivered"]
    assert bench.channel.texts[-1] == "two"


def test_an_unknown_outcome_is_followed_by_one_marked_send_at_once(bench: Bench) -> None:
    bench.answer("one")
    bench.channel.outcomes["one"] = [Unknown("timeout")]
    bench.ring()
    assert [bool(note) for _, _, note in bench.channel.sent] == [False, True]
    assert bench.states() == ["delivered"]


def test_with_hold_there_is_none(bench: Bench) -> None:
    settings = bench.gear.settings
    delivery = replace(settings.delivery, on_unknown="hold")
    gear = (replace(settings, delivery=delivery), bench.db, bench.gear.stop)
    bench.lanes[NORMAL] = Deliver(NORMAL, gear, bench.channels, (bench.rung.append, lambda *_: None))
    bench.answer("one")
    bench.channel.outcomes["one"] = [Unknown("timeout")]
    bench.ring()
    assert bench.states() == ["unknown"]
    assert bench.channel.texts == ["one"]


def test_a_row_of_one_who_was_killed_is_taken_over(bench: Bench) -> None:
    lives.sending(bench.db, bench.answer("one"))
    bench.ring()
    assert [bool(note) for _, _, note in bench.channel.sent] == [True]
    assert outbox.get(bench.db, 1).repeat


def test_after_some_rows_others_have_their_place(bench: Bench) -> None:
    for number in range(BUDGET + 2):
        bench.answer(str(number))
    bench.ring()
    assert len(bench.channel.sent) == BUDGET
    assert bench.rung == [f"{NAME} ann"]
    bench.ring()
    assert bench.channel.texts == [str(number) for number in range(BUDGET + 2)]
    assert bench.rung == [f"{NAME} ann"]


def test_a_channel_that_is_switched_off_keeps_its_rows(bench: Bench) -> None:
    bench.answer("one")
    bench.channels.channel = None
    bench.ring()
    assert bench.states() == ["pending"]
    assert (bench.rung, bench.later) == ([], [])
    bench.channels.channel = bench.channel
    bench.ring()
    assert bench.states() == ["delivered"]


# -- two streams -----------------------------------------------------------------------------------------------------


def test_each_lane_sends_its_own_stream(bench: Bench) -> None:
    bench.answer("reply")
    bench.answer("status", lane="control")
    bench.ring(stream=URGENT)
    assert bench.channel.texts == ["status"]
    bench.ring()
    assert bench.channel.texts == ["status", "reply"]


def test_a_stalled_reply_does_not_hold_up_an_answer_to_a_command(bench: Bench) -> None:
    bench.answer("stalled")
    stalls, goes_on = threading.Event(), threading.Event()

    def stall(text: str) -> None:
        if text == "stalled":
            stalls.set()
            assert goes_on.wait(10)

    def ring() -> None:
        bench.ring()
        bench.db.close_thread()

    bench.channel.when_sent = stall
    thread = threading.Thread(target=ring)
    thread.start()
    assert stalls.wait(10)
    bench.answer("status", lane="control")
    bench.ring(stream=URGENT)
    assert bench.states() == ["sending", "delivered"]
    goes_on.set()
    thread.join(10)
    assert bench.states() == ["delivered", "delivered"]


def test_a_reply_gives_way_to_an_answer_that_wants_the_same_budget(bench: Bench) -> None:
    bench.channel.limits = ((1, 1.0),)
    with freeze_time(NOON) as now:
        bench.answer("reply")
        bench.answer("status", lane="control")
        bench.ring()
        assert bench.channel.texts == []
        assert bench.later == [(NOON_MS + 100, f"{NAME} ann")]
        bench.ring(stream=URGENT)
        assert bench.channel.texts == ["status"]
        now.tick(1)
        bench.ring()
    assert bench.channel.texts == ["status", "reply"]


def test_in_a_paused_chat_both_wait_for_its_end(bench: Bench) -> None:
    """And not a hundred milliseconds at a time."""
    with freeze_time(NOON) as now:
        bench.answer("reply")
        bench.answer("status", lane="control")
        pace.pause(bench.db, NAME, "ann", 37, "429")
        bench.ring()
        bench.ring(stream=URGENT)
        assert bench.later == [(NOON_MS + 37_000, f"{NAME} ann")] * 2
        assert bench.channel.sent == []
        assert bench.states() == ["pending", "pending"]
        now.tick(37)
        bench.ring(stream=URGENT)
        bench.ring()
    assert bench.channel.texts == ["status", "reply"]


def test_an_urgent_row_that_is_not_due_or_under_way_holds_nobody(bench: Bench) -> None:
    waits = bench.answer("status", lane="control")
    bench.answer("reply")
    outbox.not_sent(bench.db, lives.sending(bench.db, waits), "offline", 60)
    bench.ring()
    assert bench.channel.texts == ["reply"]
    retries.send_again(bench.db, waits.id)
    lives.sending(bench.db, outbox.get(bench.db, waits.id))
    bench.answer("another")
    bench.ring()
    assert bench.channel.texts == ["reply", "another"]


# -- budgets and pauses ----------------------------------------------------------------------------------------------


def test_a_budget_that_is_used_up_is_waited_for(bench: Bench) -> None:
    bench.channel.limits = ((1, 1.0),)
    with freeze_time(NOON):
        bench.answer("one")
        bench.answer("two")
        bench.ring()
        assert bench.channel.texts == ["one"]
        assert bench.later == [(NOON_MS + 1_000, f"{NAME} ann")]
        assert bench.rung == [], "it is not rung for again and again"
        assert bench.states() == ["delivered", "pending"]


def test_a_429_pauses_this_chat_and_no_other(bench: Bench) -> None:
    with freeze_time(NOON):
        bench.answer("one")
        bench.answer("two", "bob")
        bench.channel.outcomes["one"] = [NotSent("429", 37.0)]
        bench.ring()
        bench.ring("bob")
        assert bench.channel.texts == ["one", "two"]
        assert bench.later == [(NOON_MS + 37_000, f"{NAME} ann")]
        assert [found.key for found in pace.pauses(bench.db)] == ["ann"]


# -- nothing is overlooked -------------------------------------------------------------------------------------------


def test_who_finds_the_target_in_work_leaves_it(bench: Bench) -> None:
    bench.answer("one")
    lock = FileLock.take(target_lock(bench.run_dir, NAME, "ann"))
    assert lock is not None
    with lock:
        bench.ring()
        assert bench.states() == ["pending"]
        bench.answer("other", "bob")
        bench.ring("bob")
        bench.answer("status", lane="control")
        bench.ring(stream=URGENT)
    assert bench.states() == ["pending", "delivered", "delivered"]


def test_what_is_committed_before_the_unlocking_is_rung_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own bell found the target in work, and told nobody."""
    bench.answer("one")
    unlock = FileLock.unlock

    def late(lock: FileLock) -> None:
        bench.answer("two")
        unlock(lock)

    with monkeypatch.context() as patch:
        patch.setattr(FileLock, "unlock", late)
        bench.ring()
    assert bench.states() == ["delivered", "pending"]
    assert bench.rung == [f"{NAME} ann"]


def test_what_a_person_made_due_before_the_unlocking_is_rung_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    row = bench.answer("one")
    outbox.not_sent(bench.db, lives.sending(bench.db, row), "offline", 60)
    unlock = FileLock.unlock

    def late(lock: FileLock) -> None:
        retries.send_again(bench.db, row.id)
        unlock(lock)

    monkeypatch.setattr(FileLock, "unlock", late)
    bench.ring()
    assert bench.rung == [f"{NAME} ann"]


def test_what_is_dropped_at_the_last_moment_is_passed_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    row = bench.answer("one")
    bench.answer("two")
    head = outbox.head

    def before_the_drop(db: Database, channel: str, target: str, stream: int) -> Outbound | None:
        found = head(db, channel, target, stream)
        if found is not None and found.id == row.id:
            retries.drop_delivery(db, row.id)
        return found

    monkeypatch.setattr(outbox, "head", before_the_drop)
    bench.ring()
    assert bench.channel.texts == ["two"]
    assert bench.states() == ["dropped", "delivered"]


def test_an_outage_of_the_ledger_ends_the_bell_and_not_the_worker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench.answer("one")

    def broken(*_: object) -> None:
        raise TemporaryError("cannot use push.db", why="the disk is full", code="disk_full")

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "claim", broken)
        bench.ring()
    assert "held up" in caplog.text
    bench.ring()
    assert bench.states() == ["delivered"], "its lock was given back"


def test_who_is_to_stop_sends_no_further_row(bench: Bench) -> None:
    bench.answer("one")
    bench.answer("two")
    bench.channel.when_sent = lambda _text: bench.gear.stop.set()
    bench.ring()
    assert bench.states() == ["delivered", "pending"]
    assert (bench.rung, bench.later) == ([], [])
