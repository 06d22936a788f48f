"""A worker's step: whatever breaks on our side, the turn is postponed where a person sees it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.app.gear import open_gear
from push.config.load import load_or_default
from push.ledger import arrivals, retries, turns
from push.model.values import Inbound, Turn
from push.tasks.turns import Gear, Step, TurnWorker


@pytest.fixture
def gear(home: Path) -> Iterator[Gear]:
    made = open_gear(load_or_default().with_agent("command", ("true",)))
    yield made
    made.audit.close()
    made.stop.close()
    made.db.close()


def _turn(gear: Gear) -> Turn:
    accepted = arrivals.accept(gear.db, Inbound("local", "local:ann", "ann", "x:1", "ann", "secretword", 0))
    turn = turns.get(gear.db, accepted.turn_id)
    assert turn is not None
    return turn


def test_a_defect_of_ours_postpones_one_turn_and_is_seen(
    gear: Gear, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    worker = TurnWorker(gear, lambda _turn: None)
    monkeypatch.setattr(worker._planner, "prepare", broken)
    with caplog.at_level(logging.ERROR):
        assert worker.handle(_turn(gear), 0) is Step.LATER
    (row,) = retries.waiting_or_failed(gear.db, 10)
    assert (row.state, row.reason) == ("queued", "unexpected")
    assert row.not_before is not None
    assert "ZeroDivisionError" in caplog.text
