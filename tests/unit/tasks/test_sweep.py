"""The sweep rings what is open and due, says when the next is, and empties the spool of what is over."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from push import clock
from push.agents import spool
from push.ledger import turns
from push.ledger.database import Database
from push.locks import FileLock
from push.model.values import Inbound, Plan, Turn
from push.paths import Home
from push.tasks.drain import MAX_POSTPONE_MS, is_due
from push.tasks.stop import StopFlag
from push.tasks.sweep import PERIOD_SECONDS, Sweep

PLAN = Plan("command", None, True, 0, "/", "")


class Bench:
    """A sweep that is driven by hand."""

    def __init__(self, home: Path) -> None:
        self.home = Home.at(home)
        self.db = Database.open(self.home.push_db)
        self.rung: list[int] = []
        self.sweep = Sweep(self.db, self.home, StopFlag(), self.rung.append, lambda _loop, _note: None)
        self._count = 0

    def turn(self, conversation: str) -> Turn:
        self._count += 1
        key = f"local:{conversation}"
        accepted = turns.accept(self.db, Inbound("local", key, conversation, f"e{self._count}", "a", "hi", 0))
        turn = turns.get(self.db, accepted.turn_id)
        assert turn is not None
        return turn


@pytest.fixture
def bench(home: Path) -> Iterator[Bench]:
    made = Bench(home)
    yield made
    made.db.close()


def test_each_open_conversation_is_rung_once(bench: Bench) -> None:
    one, _, two = bench.turn("one"), bench.turn("one"), bench.turn("two")
    assert bench.sweep.once() == PERIOD_SECONDS
    assert sorted(bench.rung) == [one.conversation_id, two.conversation_id]


def test_a_postponed_head_holds_its_conversation_and_sets_the_alarm(bench: Bench) -> None:
    head = bench.turn("one")
    bench.turn("one")
    turns.postpone(bench.db, head, "disk", 5.0)
    assert 4.0 < bench.sweep.once() <= 5.0
    assert bench.rung == []


def test_a_finished_conversation_is_left_alone(bench: Bench) -> None:
    turns.cancel(bench.db, bench.turn("one"), "operator")
    bench.sweep.once()
    assert bench.rung == []


def test_a_clock_that_was_wrong_does_not_hold_a_row_for_ever() -> None:
    now = clock.now_ms()
    assert is_due(None)
    assert is_due(now - 1)
    assert not is_due(now + 60_000)
    assert is_due(now + MAX_POSTPONE_MS + 60_000)


def test_the_spool_of_what_is_over_is_emptied_and_no_other(bench: Bench) -> None:
    over, running, waiting = bench.turn("one"), bench.turn("two"), bench.turn("three")
    for turn, attempt in ((over, 1), (running, 1), (running, 2), (waiting, 1)):
        spool.prepare(bench.home.spool, f"t{turn.id}-{attempt}", prompt=b"secretword", instructions="")
    (bench.home.spool / "probe-claude").mkdir()
    turns.cancel(bench.db, over, "operator")
    turns.start(bench.db, running, PLAN)
    started = turns.get(bench.db, running.id)
    assert started is not None
    turns.start_again(bench.db, started, PLAN)
    bench.sweep.once()
    kept = {folder.name for folder in bench.home.spool.iterdir()}
    assert kept == {f"t{running.id}-2", f"t{waiting.id}-1", "probe-claude"}


def test_a_spool_that_cannot_be_emptied_does_not_stop_the_bells(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An agent knows its folder, and may leave there what cannot be removed, or who goes on writing."""
    over, other, waiting = bench.turn("one"), bench.turn("two"), bench.turn("three")
    for turn in (over, other):
        spool.prepare(bench.home.spool, f"t{turn.id}-1", prompt=b"", instructions="")
        turns.cancel(bench.db, turn, "operator")
    (bench.home.spool / "t99999999999999999999-1").mkdir()
    remove = spool.remove

    def stubborn(folder: spool.Spool) -> None:
        if folder.dir.name == f"t{over.id}-1":
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        remove(folder)

    monkeypatch.setattr(spool, "remove", stubborn)
    bench.sweep.once()
    assert bench.rung == [waiting.conversation_id]
    assert {folder.name for folder in bench.home.spool.iterdir()} >= {f"t{over.id}-1"}
    assert not (bench.home.spool / f"t{other.id}-1").exists()
    assert f"t{over.id}-1" in caplog.text


def test_the_loop_outlives_what_it_cannot_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor for the leader's lock, then a full disk under the role's file: the next look finds all well."""
    monkeypatch.setattr("push.tasks.sweep.PERIOD_SECONDS", 0.05)
    failures = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ENOSPC, "No space left on device")]
    take = FileLock.take
    rung = threading.Event()

    def short_of_descriptors(path: Path, *, wait_seconds: float = 0.0) -> FileLock | None:
        if path.name == "leader.lock" and failures:
            raise failures.pop()
        return take(path, wait_seconds=wait_seconds)

    monkeypatch.setattr(FileLock, "take", short_of_descriptors)
    made, stop = Home.at(home), StopFlag()
    made.make()
    db = Database.open(made.push_db)
    turns.accept(db, Inbound("local", "local:ann", "ann", "e1", "a", "hi", 0))
    sweep = Sweep(db, made, stop, lambda _: rung.set(), lambda _loop, _note: None)
    sweep.start()
    assert rung.wait(10)
    assert not failures
    stop.set()
    assert sweep.join(10)
    stop.close()
    db.close()
