"""What waits or failed, and what a person may do about it: send again, give up, take off the list.

Owns the operator's edges of the ledger; does not own cancelling a turn that runs (`push.gateway.cancelling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from push import clock
from push.ledger.database import Database
from push.ledger.moves import move
from push.ledger.outbox import PACED
from push.ledger.schema import OUTBOUND_OPEN, OUTBOUND_STUCK, TURN_OPEN
from push.model.machines import OUTBOUND

_TURN = (
    "SELECT 'turn', t.id, t.state, t.attempt, t.delays, t.not_before, t.reason, c.key, t.received_at "
    "FROM turn t {by} JOIN conversation c ON c.id = t.conversation_id WHERE "
)
_DELIVERY = (
    "SELECT 'delivery', o.id, o.state, o.attempt, 0, o.not_before, o.reason, c.key, o.created_at "
    "FROM outbound o {by} JOIN conversation c ON c.id = o.conversation_id WHERE "
)
_WAITING_TURNS = f"t.state IN {TURN_OPEN} AND (t.state = 'waiting' OR t.not_before IS NOT NULL)"
_WAITING_DELIVERIES = f"o.state IN {OUTBOUND_OPEN} AND o.state = 'waiting' AND o.reason IS NOT '{PACED}'"
_FAILED_TURNS = "t.state = 'failed' AND t.dismissed_at IS NULL"
_REPEAT = (
    "UPDATE part SET repeats = repeats + 1 WHERE outbound_id = ? AND seq = "
    "(SELECT min(seq) FROM part WHERE outbound_id = ? AND delivered_at IS NULL)"
)
#: Each reads its partial index: of the rows that ended well, none is looked at.
QUERIES = (
    f"{_TURN.format(by='INDEXED BY turn_open')} {_WAITING_TURNS} ORDER BY t.id LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_open')} {_WAITING_DELIVERIES} ORDER BY o.id LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_stuck')} o.state IN {OUTBOUND_STUCK} ORDER BY o.id DESC LIMIT ?",
    f"{_TURN.format(by='INDEXED BY turn_failed')} {_FAILED_TURNS} ORDER BY t.id DESC LIMIT ?",
)


@dataclass(frozen=True, slots=True)
class Retry:
    """One row that waits for another try, or that failed. Instants are milliseconds since 1970.

    `kind` is `turn` or `delivery`. `delays` counts how often its agent asked for another time. `since` is when it
    came to be.
    """

    kind: str
    number: int
    state: str
    attempt: int
    delays: int
    not_before: int | None
    reason: str | None
    conversation: str
    since: int

    @property
    def id(self) -> str:
        """The name that the command line takes: t12, d7."""
        return f"{self.kind[0]}{self.number}"


class Done(Enum):
    """What came of a person's wish."""

    DONE = "done"
    MISSING = "missing"  # there is no such row
    UNDER_WAY = "under_way"  # it is being sent at this very moment
    OVER = "over"  # it ended; nothing is left to do


def waiting_or_failed(db: Database, limit: int) -> list[Retry]:
    """All that waits, then the newest that failed: at most `limit` of each sort."""
    with db.snapshot():
        return [Retry(*row) for sql in QUERIES for row in db.rows(sql, (limit,))]


def waiting_turns(db: Database, limit: int) -> list[Retry]:
    """The oldest postponed turns."""
    return [Retry(*row) for row in db.rows(QUERIES[0], (limit,))]


def find(db: Database, kind: str, number: int) -> Retry | None:
    """The turn or delivery of that number, in whatever state."""
    sql = f"{_TURN} t.id = ?" if kind == "turn" else f"{_DELIVERY} o.id = ?"
    row = db.one(sql.format(by=""), (number,))
    return Retry(*row) if row else None


def send_again(db: Database, number: int) -> Done:
    """Make a delivery due now. What failed or is unknown goes behind the rows that wait already.

    An unknown one may have been executed, so it is marked as a possible repeat.
    """
    with db.write():
        row = db.one("SELECT state FROM outbound WHERE id = ?", (number,))
        if row is None:
            return Done.MISSING
        match row[0]:
            case "failed" | "unknown" as state:
                newest = db.one("SELECT max(id) FROM outbound")
                columns: dict[str, object] = {"goes_after": newest[0] if newest else None, "finished_at": None}
                columns |= {"requeued_at": clock.now_ms(), "attempt": 0, "delays": 0, "not_before": None}
                if state == "unknown":
                    columns["repeat"] = 1
                    db.execute(_REPEAT, (number, number))
                edge = (state, "waiting", "operator")
                move(db, OUTBOUND, number, edge, reason="sent_again", **columns)
            case "waiting":
                db.execute("UPDATE outbound SET not_before = NULL WHERE id = ?", (number,))
            case "sending":
                return Done.UNDER_WAY
            case "delivered" | "dropped":
                return Done.OVER
    return Done.DONE


def drop_delivery(db: Database, number: int) -> Done:
    """Give a delivery up for good; its text stays readable."""
    with db.write():
        row = db.one("SELECT state FROM outbound WHERE id = ?", (number,))
        if row is None:
            return Done.MISSING
        if row[0] == "sending":
            return Done.UNDER_WAY
        if not OUTBOUND.allows(row[0], "dropped", "operator"):
            return Done.OVER
        edge = (row[0], "dropped", "operator")
        move(db, OUTBOUND, number, edge, finished_at=clock.now_ms(), not_before=None)
    return Done.DONE


def dismiss_turn(db: Database, number: int) -> Done:
    """Take a failed turn off the list. It stays failed."""
    with db.write():
        sql = "UPDATE turn SET dismissed_at = ? WHERE id = ? AND state = 'failed' AND dismissed_at IS NULL"
        return Done.DONE if db.execute(sql, (clock.now_ms(), number)) else Done.OVER
