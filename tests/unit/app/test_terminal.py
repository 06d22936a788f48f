"""A terminal by hand: what it prints is delivered, what it cannot print waits, what another one took is left."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from push.app.gear import open_gear
from push.app.terminal import Printed, Terminal
from push.config.load import load_or_default
from push.ledger import listing, retries, turns
from push.tasks import wake
from push.tasks.turns import Gear
from tests.ledger.lives import rendered


@pytest.fixture
def gear(home: Path) -> Iterator[Gear]:
    made = open_gear(load_or_default().with_agent("command", ("true",)))
    yield made
    made.audit.close()
    made.stop.close()
    made.db.close()


def _answer(gear: Gear, turn_id: int, text: str) -> None:
    turn = turns.get(gear.db, turn_id)
    assert turn is not None
    turns.answer_command(gear.db, turn, rendered(text))


def _states(gear: Gear, *ids: int) -> list[str]:
    records = [listing.delivery_record(gear.db, number) for number in ids]
    return [record.state for record in records if record is not None]


def test_what_a_person_drops_meanwhile_is_passed_over(gear: Gear) -> None:
    shown: list[str] = []

    def show(printed: Printed) -> None:
        shown.append(printed.text)
        retries.drop_delivery(gear.db, 2)

    terminal = Terminal(gear, "ann", show)
    for number, text in enumerate(("one", "two", "three"), 1):
        _answer(gear, terminal.submit(text), f"re: {number}")
    terminal.look()
    terminal.close()
    assert shown == ["re: 1", "re: 3"]
    assert _states(gear, 1, 2, 3) == ["delivered", "dropped", "delivered"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE])
def test_what_cannot_be_printed_waits_and_the_cause_is_told(gear: Gear, number: int) -> None:
    def show(_printed: Printed) -> None:
        raise OSError(number, os.strerror(number))

    terminal = Terminal(gear, "ann", show)
    _answer(gear, terminal.submit("one"), "re: one")
    with pytest.raises(OSError, match=os.strerror(number)):
        terminal.look()
    assert terminal.is_waiting
    terminal.close()
    (row,) = retries.waiting_or_failed(gear.db, 10)
    assert (row.state, row.reason) == ("waiting", f"the terminal is gone ({os.strerror(number)})")


def test_what_waits_behind_a_cancelled_message_is_rung_for(gear: Gear) -> None:
    terminal = Terminal(gear, "ann", lambda _: None)
    terminal.submit("one")
    lane = wake.Listener(gear.settings.home.run, "turns", 10.0)
    terminal.submit("two")
    assert lane.wait()
    assert terminal.cancel_oldest()
    assert lane.wait()
    lane.close()
    terminal.close()
