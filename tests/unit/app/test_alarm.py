"""A channel that is deaf for five minutes is told to the owner on his terminal, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from push import clock
from push.app.alarm import Deafness
from push.app.gear import open_gear
from push.app.terminal import Printed, Terminal
from push.config.load import load_or_default
from push.ledger import turns
from push.ledger.verify import verify
from push.tasks.bells import Bells
from push.tasks.roles import DEAF_SECONDS
from push.tasks.turns import Gear
from tests.ledger.lives import rendered


@pytest.fixture
def gear(home: Path) -> Iterator[Gear]:
    made = open_gear(load_or_default().with_agent("command", ("true",)))
    yield made
    made.audit.close()
    made.stop.close()
    made.db.close()


class Watch:
    """A monotonic clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(clock, "monotonic", lambda: self.now)


def notices(gear: Gear) -> list[str]:
    sql = "SELECT p.text FROM outbound o JOIN part p ON p.outbound_id = o.id WHERE o.notice = 'deaf' ORDER BY o.id"
    return [str(text) for (text,) in gear.db.rows(sql)]


def test_the_owner_is_told_once_per_silence_and_on_his_terminal(gear: Gear, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Printed] = []
    terminal = Terminal(gear, "ann", shown.append)
    turn = turns.get(gear.db, terminal.submit("/new"))
    assert turn is not None
    turns.answer_command(gear.db, turn, rendered("hi"))
    terminal.look()
    watch, bells = Watch(monkeypatch), Bells(gear.settings.home)
    deafness = Deafness(gear, bells, "telegram")
    watch.now += DEAF_SECONDS - 1
    deafness.check("connection refused")
    assert notices(gear) == []
    watch.now += 2
    for _ in range(3):
        deafness.check("connection refused")
    (told,) = notices(gear)
    assert "telegram for 5 minutes: connection refused" in told
    deafness.heard()
    watch.now += DEAF_SECONDS + 1
    deafness.check("timeout")
    assert len(notices(gear)) == 2
    monkeypatch.undo()
    terminal.look()
    terminal.close()
    bells.close()
    assert [printed.text for printed in shown] == ["hi", *notices(gear)]
    assert verify(gear.db, {}, (), lambda _: None).damages == ()


def test_where_there_is_nobody_to_tell_it_is_told_when_there_is(gear: Gear, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, bells = Watch(monkeypatch), Bells(gear.settings.home)
    deafness = Deafness(gear, bells, "telegram")
    watch.now += DEAF_SECONDS + 1
    deafness.check("timeout")
    assert notices(gear) == []
    monkeypatch.undo()
    terminal = Terminal(gear, "ann", lambda _: None)
    terminal.submit("hello")
    terminal.close()
    Watch(monkeypatch).now += 2 * DEAF_SECONDS + 10
    deafness.check("timeout")
    bells.close()
    assert len(notices(gear)) == 1
