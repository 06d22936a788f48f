"""Order within a conversation, fairness between conversations, and load."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from push.tasks.drain import BUDGET
from tests.crash.site import Site
from tests.crash.verdict import check


def _answers(place: Site, user: str) -> list[str]:
    return [line.removeprefix("re: ") for line in place.listen(user).out.splitlines()]


def test_c8_messages_of_one_moment_are_five_turns_in_order(place: Site) -> None:
    place.serve()
    place.commit(*(("ann", str(number)) for number in range(5)))
    place.until_settled(5)
    assert place.entries() == ["0", "1", "2", "3", "4"]
    assert _answers(place, "ann") == ["0", "1", "2", "3", "4"]
    check(place)


@pytest.mark.parametrize("consumers", [1, 2])
def test_every_conversation_is_worked_in_order_and_all_at_once(place: Site, consumers: int) -> None:
    users = [f"user{number}" for number in range(8)]
    for _ in range(consumers):
        place.serve("consumer")
    place.commit(*((user, f"{user} {number}") for number in range(6) for user in users))
    place.until_settled(48, 60)
    for user in users:
        assert [entry for entry in place.entries() if entry.startswith(f"{user} ")] == [f"{user} {n}" for n in range(6)]
    assert place.entries() != sorted(place.entries()), "the conversations were worked one after the other"
    check(place)


def test_a_long_backlog_lets_others_have_their_place(place: Site) -> None:
    place.configure("turns_workers = 1")
    place.commit(*(("ann", f"ann {number}") for number in range(4 * BUDGET)), ("bob", "bob"))
    place.serve()
    place.until_settled(4 * BUDGET + 1, 60)
    assert place.entries().index("bob") <= 2 * BUDGET
    check(place)


def test_a_busy_conversation_occupies_one_worker_however_often_it_rings(gated: Site) -> None:
    gated.configure("turns_workers = 2")
    gated.serve()
    gated.commit(("ann", "one"))
    gated.until(gated.entries, "an agent at work")
    for number in range(4):  # each bell wakes the other worker; none may stay with ann
        gated.commit(("ann", f"more {number}"))
    gated.commit(("bob", "bob"))
    gated.until(lambda: "bob" in gated.entries(), "bob's agent at work", 10)
    gated.gate.touch()
    gated.until_settled(6)
    check(gated)


def test_c11_a_row_left_running_does_not_swallow_those_behind_it(gated: Site) -> None:
    gateway = gated.serve()
    gated.commit(("ann", "one"), ("ann", "two"))
    gated.until(gated.entries, "an agent at work")
    gateway.kill()
    gated.gate.touch()
    gated.until(lambda: not gated.runners(), "the end of the runner")
    assert gated.states() == ["running", "queued"]
    gated.serve()
    gated.until_states("answered", "answered")
    assert _answers(gated, "ann") == ["one", "two"]
    check(gated)


@pytest.mark.slow
def test_c56_an_outside_writer_holds_the_database_for_six_seconds(place: Site) -> None:
    """8 workers, 500 short tasks, and a program that locks push.db in the middle: nothing is lost."""
    place.configure("turns_workers = 8")
    place.serve()
    place.commit(*((f"user{number % 50}", f"{number}") for number in range(500)))
    _hold(place, 6.0)
    place.until_settled(500, 170)
    assert sorted(map(int, place.entries())) == list(range(500))
    assert {row.state for row in place.turns()} == {"answered"}
    check(place)


@pytest.mark.slow
def test_c56_a_writer_that_holds_it_longer_than_anybody_waits(place: Site) -> None:
    """Commands and workers give up with an error, and what was accepted is answered once the database is free."""
    place.serve()
    place.commit(*((f"user{number}", f"{number}") for number in range(5)))
    place.until_settled(5)
    with _locked(place):
        refused = place.run("chat", "--no-wait", "--user", "ann", "hi", seconds=60)
        assert refused.wait() == 5
        assert "another program holds it" in refused.err
    place.commit(("ann", "later"))
    place.until_settled(6, 45)
    check(place)


def _locked(place: Site) -> closing[sqlite3.Connection]:
    connection = sqlite3.connect(place.db, timeout=20, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return closing(connection)


def _hold(place: Site, seconds: float) -> None:
    with _locked(place):
        time.sleep(seconds)
