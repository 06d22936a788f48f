"""The sweep rings what is open and due, says when the next is, and empties the spool of what is over."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from push import clock
from push.agents import spool
from push.ledger import arrivals, outbox, progress, turns
from push.ledger.database import Database
from push.locks import FileLock
from push.model.values import Accepted, Inbound, Plan, Turn
from push.paths import Home
from push.tasks.bells import Bells
from push.tasks.drain import MAX_POSTPONE_MS, is_due
from push.tasks.queue import Lane
from push.tasks.stop import StopFlag
from push.tasks.sweep import PERIOD_SECONDS, Sweep
from tests.ledger.lives import rendered

PLAN = Plan("command", None, True, 0, "/", "")
CALLED = "telegram"  # a channel that delivers by itself


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | str]]:
    """Every (lane, key) that is rung, instead of the bell."""
    bells: list[tuple[str, int | str]] = []
    monkeypatch.setattr(Lane, "ring", lambda self, key: bells.append((self.name, key)))
    return bells


class Bench:
    """A sweep that is driven by hand."""

    def __init__(self, home: Path, rung: list[tuple[str, int | str]]) -> None:
        self.home = Home.at(home)
        self.home.make()
        self.db = Database.open(self.home.push_db)
        self.rung = rung
        self.bells = Bells(self.home)
        self.stop = StopFlag()
        self.sweep = Sweep(self.db, self.home, self.stop, self.bells, lambda _loop, _note: None)
        self._count = 0

    @property
    def conversations(self) -> list[int | str]:
        """Whom the lane of turns was rung for."""
        return [key for lane, key in self.rung if lane == "turns"]

    def turn(self, conversation: str, channel: str = "local", lane: str = "turns", *, ahead: bool = False) -> Turn:
        self._count += 1
        key = f"{channel}:{conversation}"
        kind = "command" if lane == "control" else "message"
        message = Inbound(channel, key, conversation, f"e{self._count}", "a", "hi", 0, kind, lane, ahead)
        accepted = arrivals.accept(self.db, message)
        assert isinstance(accepted, Accepted)
        turn = turns.get(self.db, accepted.turn_id)
        assert turn is not None
        return turn


@pytest.fixture
def bench(home: Path, rung: list[tuple[str, int | str]]) -> Iterator[Bench]:
    made = Bench(home, rung)
    yield made
    made.bells.close()
    made.stop.close()
    made.db.close()


def test_each_open_conversation_is_rung_once(bench: Bench) -> None:
    one, _, two = bench.turn("one"), bench.turn("one"), bench.turn("two")
    assert bench.sweep.once() == PERIOD_SECONDS
    assert bench.conversations == [one.conversation_id, two.conversation_id]


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


def test_every_lane_is_rung_for_what_is_open_in_it(bench: Bench) -> None:
    control = bench.turn("cyd", CALLED, "control")
    hurried = bench.turn("dan", ahead=True)
    shown = bench.turn("eve", CALLED)
    progress.posted(bench.db, shown.id, (CALLED, "eve"), "99")
    plain, urgent = bench.turn("fay", CALLED), bench.turn("fay", CALLED, "control")
    for turn in (plain, urgent):
        turns.answer_command(bench.db, turn, rendered("done"))
    turns.answer_command(bench.db, bench.turn("ann"), rendered("the terminal looks by itself"))
    bench.sweep.once()
    assert sorted(bench.rung, key=str) == sorted(
        [
            ("control", control.conversation_id),
            ("control", hurried.conversation_id),  # to stop what runs before it
            ("turns", hurried.conversation_id),
            ("signs", hurried.conversation_id),  # it may run, begun by a process that is gone
            ("turns", shown.conversation_id),
            ("signs", shown.conversation_id),
            ("signs", shown.conversation_id),  # a progress message stands there
            ("deliver", f"{CALLED} fay"),
            ("answers", f"{CALLED} fay"),
        ],
        key=str,
    )


def test_a_delivery_that_waits_is_rung_for_when_it_is_due(bench: Bench) -> None:
    turn = bench.turn("fay", CALLED)
    turns.answer_command(bench.db, turn, rendered("done"))
    row = outbox.head(bench.db, CALLED, "fay", 0)
    assert row is not None
    assert outbox.claim(bench.db, row) is None
    outbox.not_sent(bench.db, row, "offline", 5.0)
    assert 4.0 < bench.sweep.once() <= 5.0
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
    assert bench.conversations == [waiting.conversation_id]
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
    arrivals.accept(db, Inbound("local", "local:ann", "ann", "e1", "a", "hi", 0))
    monkeypatch.setattr(Lane, "ring", lambda _self, _key: rung.set())
    bells = Bells(made)
    sweep = Sweep(db, made, stop, bells, lambda _loop, _note: None)
    sweep.start()
    assert rung.wait(10)
    assert not failures
    stop.set()
    assert sweep.join(10)
    bells.close()
    stop.close()
    db.close()
