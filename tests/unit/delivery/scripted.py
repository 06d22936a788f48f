"""A service that says of each part what the test wants, and remembers what it was sent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from push.delivery.sending import Ended, Policy, Sender, Waits
from push.ledger import outbox
from push.ledger.database import Database
from push.model.values import Delivered, Outbound, Pace, Part, SendOutcome

ONCE = Policy(expire_after=math.inf, resend_unknown=True)
HOLD = Policy(expire_after=math.inf, resend_unknown=False)
_SENDING = "SELECT id FROM outbound WHERE state = 'sending'"


class Service:
    """Answers each part with the next outcome; with a receipt where there is none left."""

    def __init__(self, db: Database, *outcomes: SendOutcome) -> None:
        self._db, self._outcomes = db, list(outcomes)
        self.sent: list[tuple[str, str]] = []
        self.committed: list[list[int]] = []  # at each part, the rows that were `sending`

    def __call__(self, _sequence: int, part: Part, note: str) -> SendOutcome:
        self.sent.append((part.text, note))
        self.committed.append([int(number) for (number,) in self._db.rows(_SENDING)])
        return self._outcomes.pop(0) if self._outcomes else Delivered(f"r{len(self.sent)}")

    @property
    def texts(self) -> list[str]:
        """What was sent, without the notes."""
        return [text for text, _ in self.sent]

    @property
    def notes(self) -> list[str]:
        """What stood before each part."""
        return [note for _, note in self.sent]


def send(
    db: Database, row: Outbound, *outcomes: SendOutcome, policy: Policy = ONCE, paces: Sequence[Pace] = ()
) -> Ended | Waits:
    """Send the row as it is now to a service that answers so."""
    return Sender(db, policy, Service(db, *outcomes), paces).send(outbox.get(db, row.id))
