"""Alarms: called when they are due, the earliest per key, and not after the end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest
from freezegun import freeze_time

from push import clock
from push.tasks.later import Later


@pytest.fixture
def later() -> Iterator[Later]:
    made = Later()
    yield made
    made.close()


def test_calls_come_when_they_are_due_and_in_that_order(later: Later) -> None:
    called: queue.Queue[tuple[str, int]] = queue.Queue()
    later.start()
    now = clock.now_ms()
    for name, delay in (("third", 120), ("first", 0), ("second", 60)):
        later.at(now + delay, name, lambda name=name: called.put((name, clock.now_ms())))  # type: ignore[misc]
    found = [called.get(timeout=10) for _ in range(3)]
    assert [name for name, _ in found] == ["first", "second", "third"]
    assert [at >= now + delay for (_, at), delay in zip(found, (0, 60, 120), strict=True)] == [True] * 3


def test_the_earliest_of_a_key_counts_and_is_called_once(later: Later) -> None:
    called: queue.Queue[str] = queue.Queue()
    now = clock.now_ms()
    later.at(now + 60_000, "ann", lambda: called.put("much later"))
    later.at(now + 20, "ann", lambda: called.put("earlier"))
    later.at(now + 40, "ann", lambda: called.put("later again"))
    later.at(now + 80, "bob", lambda: called.put("other"))
    later.start()
    assert [called.get(timeout=10), called.get(timeout=10)] == ["earlier", "other"]
    assert called.empty()


def test_a_key_that_was_called_may_be_set_again(later: Later) -> None:
    called = threading.Semaphore(0)
    later.start()
    for _ in range(2):
        later.at(clock.now_ms(), "ann", called.release)
        assert called.acquire(timeout=10)


def test_a_call_may_set_another(later: Later) -> None:
    called = threading.Event()
    later.start()
    later.at(clock.now_ms(), "ann", lambda: later.at(clock.now_ms(), "bob", called.set))
    assert called.wait(10)


def test_what_is_far_away_is_left_to_the_sweep(later: Later) -> None:
    with freeze_time("2026-03-01T12:00:00Z"):
        later.at(clock.now_ms() + 60_001, "far", lambda: None)
        later.at(clock.now_ms() + 60_000, "near", lambda: None)
    assert list(later._alarms) == ["near"]


def test_after_the_end_nothing_is_called() -> None:
    later, called = Later(), threading.Event()
    later.start()
    later.at(clock.now_ms() + 30_000, "ann", called.set)
    later.close()
    assert not later._thread.is_alive()
    assert not called.is_set()


def test_one_that_was_never_started_ends_too() -> None:
    Later().close()
