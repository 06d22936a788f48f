"""Bells: keyed, blocking, and on a file that may vanish or be damaged at any time."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from push import clock
from push.tasks import wake
from push.tasks.queue import Lane


class Bells:
    """A served lane that remembers what rang; `until` waits for a state of that list."""

    def __init__(self, home: Path, workers: int = 2) -> None:
        self.heard: list[int] = []
        self._news = threading.Condition()
        self.hold = threading.Event()
        self.hold.set()
        self.lane = Lane("turns", home / "queue.db", home / "run", self._answer)
        self.lane.serve(workers, lambda: None)

    def _answer(self, key: int) -> None:
        self.hold.wait(10)
        with self._news:
            self.heard.append(key)
            self._news.notify_all()

    def until(self, done: Callable[[list[int]], bool]) -> list[int]:
        with self._news:
            assert self._news.wait_for(lambda: done(self.heard), timeout=20), self.heard
            return list(self.heard)

    def close(self) -> None:
        self.hold.set()
        self.lane.ask_to_stop()
        assert self.lane.join(clock.monotonic() + 10) == 0
        self.lane.close()


@pytest.fixture
def bells(home: Path) -> Iterator[Bells]:
    made = Bells(home)
    yield made
    made.close()


@pytest.fixture
def ringer(home: Path) -> Iterator[Lane]:
    lane = Lane("turns", home / "queue.db", home / "run")
    yield lane
    lane.close()


def _waiting(home: Path) -> list[Any]:
    with sqlite3.connect(home / "queue.db") as db:
        rows = [json.loads(row[0]) for row in db.execute("select data from task order by id")]
    db.close()
    return rows


def test_ringing_a_waiting_key_again_is_a_no_op(home: Path, ringer: Lane) -> None:
    for key in (7, 8, 7, 7, 8):
        ringer.ring(key)
    assert _waiting(home) == [7, 8]


def test_a_bell_carries_a_key_and_nothing_else(home: Path, ringer: Lane) -> None:
    ringer.ring(7)
    assert _waiting(home) == [7]
    assert (home / "queue.db").stat().st_mode & 0o777 == 0o600


def test_another_process_s_bell_is_heard_at_once(bells: Bells, ringer: Lane) -> None:
    ringer.ring(1)
    ringer.ring(2)
    assert sorted(bells.until(lambda heard: len(heard) == 2)) == [1, 2]


def test_a_key_that_is_being_handled_can_be_rung_again(bells: Bells, ringer: Lane) -> None:
    bells.hold.clear()
    ringer.ring(1)
    assert _poll(lambda: not ringer.huey.storage.queue_size())  # taken: in a worker's hands
    ringer.ring(1)
    bells.hold.set()
    assert bells.until(lambda heard: len(heard) == 2) == [1, 1]


@pytest.mark.parametrize("damage", ["deleted", "emptied", "rubbish", "moved"])
def test_a_lost_queue_file_is_made_anew(home: Path, bells: Bells, ringer: Lane, damage: str) -> None:
    ringer.ring(1)
    bells.until(lambda heard: heard == [1])
    file = home / "queue.db"
    if damage == "deleted":
        for path in home.glob("queue.db*"):
            path.unlink()
    elif damage == "moved":
        file.rename(home / "elsewhere")
    else:
        file.write_bytes(b"" if damage == "emptied" else b"not a database" * 1000)
    ringer.ring(2)
    assert bells.until(lambda heard: 2 in heard)


def test_a_lost_queue_file_wakes_the_sweep(home: Path, ringer: Lane) -> None:
    ringer.ring(1)
    sweep = wake.Listener(home / "run", "sweep", 10.0)
    for path in home.glob("queue.db*"):
        path.unlink()
    ringer.ring(2)
    assert sweep.wait()
    sweep.close()


def test_an_error_in_a_handler_does_not_end_its_worker(home: Path, ringer: Lane) -> None:
    heard: list[int] = []
    done = threading.Event()

    def answer(key: int) -> None:
        if key == 1:
            raise ValueError("broken")
        heard.append(key)
        done.set()

    lane = Lane("turns", home / "queue.db", home / "run", answer)
    lane.serve(1, lambda: None)
    ringer.ring(1)
    ringer.ring(2)
    assert done.wait(10)
    lane.ask_to_stop()
    assert lane.join(clock.monotonic() + 10) == 0
    lane.close()
    assert heard == [2]


def test_a_dead_worker_is_replaced(bells: Bells, ringer: Lane) -> None:
    consumer = bells.lane._workers
    assert consumer is not None
    dead = threading.Thread(target=lambda: None)
    dead.start()
    dead.join()
    consumer.worker_threads[0] = (consumer.worker_threads[0][0], dead)
    assert bells.lane.replace_dead() == 1
    assert consumer.worker_threads[0][1].is_alive()
    assert bells.lane.replace_dead() == 0


def test_nothing_in_the_file_is_executed(home: Path, ringer: Lane) -> None:
    """A pickle would run code in whoever reads it; ours is read as JSON or refused."""
    import pickle

    ringer.ring(1)
    with sqlite3.connect(home / "queue.db") as db:
        db.execute("delete from task")
        db.execute("insert into task (queue, data) values ('turns', ?)", (pickle.dumps(print),))
    db.close()
    with pytest.raises(ValueError, match=r".*"):
        ringer.huey.dequeue()


def _poll(condition: Callable[[], bool]) -> bool:
    deadline = clock.monotonic() + 10
    while not condition():
        if clock.monotonic() > deadline:
            return False
        threading.Event().wait(0.005)
    return True


def test_every_idle_worker_gets_a_bell_though_the_socket_was_full(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket holds some ten bytes and drops the rest; here it takes one, for four bells and four idle workers."""
    together = threading.Barrier(5)

    def meet(_key: int) -> None:
        together.wait(20)

    lane = Lane("turns", home / "queue.db", home / "run", meet)
    lane.serve(4, lambda: None)
    bells = iter(range(4))
    ring = wake.ring

    def full(run_dir: Path, name: str) -> int:
        return ring(run_dir, name) if next(bells) == 3 else 1

    monkeypatch.setattr(wake, "ring", full)
    for key in range(4):
        lane.ring(key)
    together.wait(10)
    lane.ask_to_stop()
    assert lane.join(clock.monotonic() + 10) == 0
    lane.close()


def test_a_file_that_another_process_is_renewing_is_waited_for(
    home: Path, ringer: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there a moment ago, and is gone when it is opened."""
    ringer.close()
    (home / "queue.db").unlink()
    monkeypatch.setattr(ringer.huey.storage, "_is_present", lambda: True)
    ringer.ring(7)
    assert _waiting(home) == [7]
