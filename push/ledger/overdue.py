"""What has been open for long, whatever the reason: the oldest turn and delivery that should have moved by now.

Owns finding them without looking at what ended; does not own why they stand still. Instants are milliseconds since
1970.
"""

from __future__ import annotations

from dataclasses import dataclass

from push.ledger.conversations import PAUSED
from push.ledger.database import Database
from push.ledger.schema import OUTBOUND_OPEN, TURN_OPEN

_TURNS = (
    "SELECT t.id, c.key, t.state, t.attempt, t.queued_at, t.not_before "
    "FROM turn t INDEXED BY turn_open JOIN conversation c ON c.id = t.conversation_id "
    f"WHERE t.state IN {TURN_OPEN} AND t.queued_at < ? AND t.held_at IS NULL AND t.conversation_id NOT IN {PAUSED} "
    "ORDER BY t.queued_at, t.id LIMIT ?"
)
_DELIVERIES = (
    "SELECT id, channel, target, created_at, reason FROM outbound INDEXED BY outbound_open "
    f"WHERE state IN {OUTBOUND_OPEN} AND created_at < ? AND held_at IS NULL ORDER BY created_at, id LIMIT ?"
)
_NEWEST = "SELECT max(at) FROM (SELECT at FROM transition ORDER BY id DESC LIMIT 100)"


@dataclass(frozen=True, slots=True)
class OverdueTurn:
    """An open turn of a conversation that may go on. `not_before` is when it is to be tried again."""

    id: int
    conversation: str
    state: str
    attempt: int
    queued_at: int
    not_before: int | None


@dataclass(frozen=True, slots=True)
class OverdueDelivery:
    """An answer that is not out. `reason` is why its last try failed."""

    id: int
    channel: str
    target: str
    created_at: int
    reason: str | None


def turns(db: Database, before: int, limit: int) -> list[OverdueTurn]:
    """The oldest open turns that were queued before an instant; held and paused ones wait for a person, by wish."""
    return [OverdueTurn(*row) for row in db.rows(_TURNS, (before, limit))]


def deliveries(db: Database, before: int, limit: int) -> list[OverdueDelivery]:
    """The oldest open deliveries from before an instant."""
    return [OverdueDelivery(*row) for row in db.rows(_DELIVERIES, (before, limit))]


def newest_change(db: Database) -> int | None:
    """When something was last written: later than now where the clock was set back since."""
    row = db.one(_NEWEST)
    return row[0] if row else None
