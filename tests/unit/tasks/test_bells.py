"""Which bell follows what."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from push.ledger import turns
from push.ledger.database import Database
from push.model.values import Accepted, Duplicate, Merged, Turn
from push.paths import Home
from push.providers import local
from push.tasks import deliver, wake
from push.tasks.bells import NAMES, Bells
from push.tasks.queue import Lane
from tests.ledger import lives

Rung = list[tuple[str, int | str]]


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> Rung:
    """Every (lane, key) that was rung."""
    found: Rung = []
    monkeypatch.setattr(Lane, "ring", lambda self, key: found.append((self.name, key)))
    return found


@pytest.fixture
def bells(home: Path) -> Iterator[Bells]:
    Home.at(home).make()
    made = Bells(Home.at(home))
    yield made
    made.close()


def turn(tmp_path: Path, channel: str, lane: str) -> Turn:
    db = Database.open(tmp_path / "push.db")
    found = lives.accept(db, replace(lives.message("ann"), channel=channel, lane=lane))
    turns.answer_command(db, found, lives.rendered("done"))
    db.close()
    return found


def test_a_lane_of_each_name(bells: Bells) -> None:
    assert tuple(bells.lanes) == NAMES


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Accepted(3, 1), [("turns", 1), ("signs", 1)]),
        (Accepted(3, 1, "control"), [("control", 1)]),
        (Accepted(3, 1, "turns", ahead=True), [("turns", 1), ("control", 1), ("signs", 1)]),
        (Duplicate(3, 1), [("turns", 1), ("signs", 1)]),  # its bell may have been lost with the process that rang
        (Merged(3, 1), [("turns", 1), ("signs", 1)]),
    ],
    ids=["message", "control", "ahead", "duplicate", "merged"],
)
def test_what_was_accepted(bells: Bells, rung: Rung, outcome: Accepted | Duplicate | Merged, expected: Rung) -> None:
    bells.accepted("telegram", outcome)
    assert rung == expected


def test_a_terminal_shows_no_signs(bells: Bells, rung: Rung) -> None:
    bells.accepted(local.CHANNEL, Accepted(3, 1, ahead=True))
    assert rung == [("turns", 1), ("control", 1)]


@pytest.mark.parametrize(
    ("lane", "expected"),
    [("turns", [("deliver", "telegram ann"), ("signs", 1)]), ("control", [("answers", "telegram ann")])],
)
def test_what_ended_is_delivered_and_its_signs_taken_away(
    tmp_path: Path, bells: Bells, rung: Rung, lane: str, expected: Rung
) -> None:
    bells.ended(turn(tmp_path, "telegram", lane))
    assert rung == expected


def test_a_terminals_answer_wakes_its_user_and_no_lane(tmp_path: Path, bells: Bells, rung: Rung, home: Path) -> None:
    mine, other = (
        wake.Listener(home / "run", f"{local.desk(user)}.{local.new_token()}", 0.1) for user in ("ann", "bob")
    )
    bells.ended(turn(tmp_path, local.CHANNEL, "turns"))
    assert (mine.wait(), other.wait()) == (True, False)
    assert rung == []
    bells.deliver(local.CHANNEL, "ann", deliver.URGENT)
    assert mine.wait()
    for listener in (mine, other):
        listener.close()


def test_a_bell_is_heard_by_who_serves_the_lane(home: Path) -> None:
    heard: queue.Queue[int] = queue.Queue()
    made = Home.at(home)
    made.make()
    serving = Bells(made, {"control": heard.put})
    lane = serving.lanes["control"]
    done = wake.Listener(made.run, "done", 10.0)
    lane.serve(1, done.ring_self)
    ringing = Bells(made)
    ringing.accepted("telegram", Accepted(3, 7, "control"))
    ringing.close()
    assert heard.get(timeout=10) == 7
    lane.ask_to_stop()
    assert done.wait()
    assert lane.join(float("inf")) == 0
    done.close()
    serving.close()
