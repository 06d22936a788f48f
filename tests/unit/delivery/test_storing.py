"""An outcome that push.db cannot take at the moment is kept until it can: forgotten, the part would go out twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from push.delivery.sending import Ended, Sender
from push.errors import TemporaryError
from push.ledger import outbox
from push.ledger.database import Database
from push.model.values import Delivered, Part, Refused, SendOutcome
from tests.ledger import lives
from tests.unit.delivery.scripted import ONCE


class _Outage:
    """push.db fails from the send on, until it was waited for so often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: SendOutcome, name: str, waits: int) -> None:
        self._outcome = outcome
        self._left = waits
        self.is_out = False
        self.sends = 0
        real = getattr(outbox, name)

        def failing(*arguments: object) -> object:
            if self.is_out:
                raise TemporaryError("cannot use push.db")
            return real(*arguments)

        monkeypatch.setattr(outbox, name, failing)

    def send(self, _sequence: int, _part: Part, _note: str) -> SendOutcome:
        self.is_out = True
        self.sends += 1
        return self._outcome

    def gives_up(self, _seconds: float) -> bool:
        self._left -= 1
        self.is_out = self._left > 0
        return False


@pytest.mark.parametrize(
    ("outcome", "name", "state"),
    [(Delivered("r1"), "part_delivered", "delivered"), (Refused("blocked"), "end", "failed")],
)
def test_an_outcome_is_stored_once_push_db_can_take_it(
    db: Database, monkeypatch: pytest.MonkeyPatch, outcome: SendOutcome, name: str, state: str
) -> None:
    row = lives.answered(db)
    outage = _Outage(monkeypatch, outcome, name, waits=3)
    ended = Sender(db, replace(ONCE, gives_up=outage.gives_up), outage.send).send(row)
    assert ended == Ended(delivered=state == "delivered")
    assert outbox.get(db, row.id).state == state
    assert outage.sends == 1


def test_a_process_that_ends_leaves_the_outcome_unknown(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    row = lives.answered(db)
    outage = _Outage(monkeypatch, Delivered("r1"), "part_delivered", waits=3)
    with pytest.raises(TemporaryError):
        Sender(db, ONCE, outage.send).send(row)
    assert outbox.get(db, row.id).state == "sending"
