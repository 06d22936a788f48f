"""Who is asked to reload, and which answer counts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from push.tasks import reload, roles, wake
from push.tasks.reload import Outcome
from push.tasks.roles import Reading, Role


@contextmanager
def process(home: Path, reading: Reading | None, carry_out: Callable[[Role], None]) -> Iterator[None]:
    """A process of this home, as far as who asks can see; `carry_out` is what it does about a wish."""
    role = roles.take(home, "poll", "push poll", reading)
    listener = wake.Listener(home, reload.NAME, 10)

    def live() -> None:
        if listener.wait():
            carry_out(role)

    thread = threading.Thread(target=live)
    thread.start()
    try:
        yield
    finally:
        listener.shut()
        thread.join(10)
        listener.close()
        role.close()


def asked(home: Path, seconds: float = 10.0) -> list[tuple[Outcome, str]]:
    answers = reload.ask([home], lambda: None, seconds)
    return [(answer.outcome, answer.reading.refused if answer.reading else "-") for answer in answers]


def says(*readings: Reading) -> Callable[[Role], None]:
    def carry_out(role: Role) -> None:
        for reading in readings:
            role.tell(reading, "")

    return carry_out


def test_what_came_of_it(home: Path) -> None:
    with process(home, Reading(1, 1, 0), says(Reading(2, 1, 0), Reading(2, 2, 0))):
        assert asked(home) == [(Outcome.TAKEN, "")]
    with process(home, Reading(1, 1, 0), says(Reading(2, 2, 0, "a typo"))):
        assert asked(home) == [(Outcome.KEPT, "a typo")]
    assert asked(home) == []


@pytest.mark.parametrize("before", [Reading(1, 1, 0, "long ago"), Reading(2, 1, 0)])
def test_a_reading_that_began_before_the_wish_is_no_answer(home: Path, before: Reading) -> None:
    """It may have seen what was on disk before."""
    with process(home, before, says(Reading(before.begun, before.begun, 0, "too old"))):
        assert asked(home, 0.3) == [(Outcome.UNANSWERED, "too old")]
    with process(home, before, says(Reading(before.begun + 1, before.begun + 1, 0))):
        assert asked(home) == [(Outcome.TAKEN, "")]


def test_who_does_not_reload_is_not_waited_for(home: Path) -> None:
    with process(home, None, lambda _role: None):
        assert asked(home) == [(Outcome.NOT_ASKED, "-")]


def test_who_ends_meanwhile_is_not_waited_for(home: Path) -> None:
    with process(home, Reading(1, 1, 0), Role.close):
        assert asked(home) == [(Outcome.ENDED, "")]


@pytest.mark.skipif(sys.platform != "linux", reason="each needs a bell there")
def test_a_listener_that_is_shut_wakes_everybody_who_waits(home: Path) -> None:
    listener = wake.Listener(home, "turns", 30)
    waiting = [threading.Thread(target=listener.wait) for _ in range(20)]
    for thread in waiting:
        thread.start()
    listener.shut()
    deadline = time.monotonic() + 5
    for thread in waiting:
        thread.join(max(deadline - time.monotonic(), 0))
    assert not any(thread.is_alive() for thread in waiting)
    listener.close()


def test_a_late_close_leaves_the_socket_of_the_next_listener(home: Path) -> None:
    old = wake.Listener(home, "sweep", 1)
    fresh = wake.Listener(home, "sweep", 1)
    old.close()
    assert wake.ring(home, "sweep") == 1
    assert fresh.wait()
    fresh.close()
