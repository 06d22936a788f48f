"""What waits or failed, and what a person may do about it: send again, give up, take off the list.

Owns the operator's edges of the ledger; does not own cancelling a turn that runs (`push.gateway.cancelling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from push import clock
from push.ledger import held
from push.ledger.conversations import PAUSED as PAUSED_CONVERSATIONS
from push.ledger.database import Database
from push.ledger.moves import move
from push.ledger.outbox import PACED
from push.ledger.schema import OUTBOUND_OPEN, OUTBOUND_STUCK, TURN_OPEN
from push.model.machines import OUTBOUND

#: Sort of row -> the letter of its name on the command line: t12, d7, x3.
LETTERS: Final = {"turn": "t", "delivery": "d", "rejected": "x"}
#: Why a delivery is listed that was delivered: a send of it, or of a part, had an outcome that nobody could know.
TWICE: Final = "possibly_twice"
#: Why one is listed that was not tried yet: it stands behind others, or its chat or channel is held up.
BEHIND: Final = "behind_others"
_HELD_UP_SECONDS = 60
#: Why a message is listed that is not tried: its conversation is paused.
PAUSED: Final = "paused"

_TURN = (
    "SELECT 'turn', t.id, CASE WHEN t.held_at IS NULL THEN t.state ELSE 'held' END, t.attempt, t.delays, t.not_before, "
    "CASE WHEN c.paused_at IS NOT NULL AND t.held_at IS NULL AND t.state IN ('queued','waiting') "
    f"AND t.lane = 'turns' THEN '{PAUSED}' "
    "ELSE t.reason END, c.key, t.channel, t.target, "
    "t.received_at FROM turn t {by} JOIN conversation c ON c.id = t.conversation_id WHERE "
)
_DELIVERY = (
    "SELECT 'delivery', o.id, CASE WHEN o.held_at IS NULL THEN o.state ELSE 'held' END, o.attempt, o.delays, "
    "o.not_before, "
    f"CASE WHEN o.state = 'delivered' AND o.repeat THEN '{TWICE}' WHEN o.state = 'pending' THEN '{BEHIND}' "
    "ELSE o.reason END, "
    "c.key, o.channel, o.target, o.created_at "
    "FROM outbound o {by} JOIN conversation c ON c.id = o.conversation_id WHERE "
)
_REJECTED = (
    "SELECT 'rejected', id, 'rejected', 0, 0, NULL, reason, NULL, channel, NULL, rejected_at FROM rejected {by} WHERE "
)
_WAITING_TURNS = (
    f"t.state IN {TURN_OPEN} AND (t.state = 'waiting' OR t.not_before IS NOT NULL) AND t.held_at IS NULL "
    f"AND (t.state = 'running' OR t.conversation_id NOT IN {PAUSED_CONVERSATIONS})"
)
_PAUSED_TURNS = (
    f"t.state IN {TURN_OPEN} AND t.state <> 'running' AND t.lane = 'turns' AND t.held_at IS NULL "
    f"AND t.conversation_id IN {PAUSED_CONVERSATIONS}"
)
_WAITING_DELIVERIES = f"o.state IN {OUTBOUND_OPEN} AND o.state = 'waiting' AND o.reason IS NOT '{PACED}'"
_HELD_UP = (
    f"o.state IN {OUTBOUND_OPEN} AND o.state = 'pending' AND o.channel <> 'local' "
    f"AND o.created_at < 1000 * (CAST(strftime('%s', 'now') AS INTEGER) - {_HELD_UP_SECONDS})"
)
_STUCK = f"o.state IN {OUTBOUND_STUCK} AND o.held_at IS NULL"
_FAILED_TURNS = "t.state = 'failed' AND t.dismissed_at IS NULL"
_REPEATED = "o.state = 'delivered' AND o.repeat = 1 AND o.dismissed_at IS NULL"
_REPEAT = (
    "UPDATE part SET repeats = repeats + 1 WHERE outbound_id = ? AND seq = "
    "(SELECT min(seq) FROM part WHERE outbound_id = ? AND delivered_at IS NULL)"
)
_POSTPONED = f"{_TURN.format(by='INDEXED BY turn_open')} {_WAITING_TURNS} ORDER BY t.id LIMIT ?"
#: Each reads its partial index: of the rows that ended well, none is looked at.
QUERIES = (
    f"{_TURN.format(by='INDEXED BY turn_held')} t.held_at IS NOT NULL ORDER BY t.id LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_held')} o.held_at IS NOT NULL ORDER BY o.id LIMIT ?",
    _POSTPONED,
    f"{_TURN.format(by='INDEXED BY turn_open')} {_PAUSED_TURNS} ORDER BY t.id LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_open')} {_WAITING_DELIVERIES} ORDER BY o.id LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_open')} {_HELD_UP} ORDER BY o.id LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_stuck')} {_STUCK} ORDER BY o.id DESC LIMIT ?",
    f"{_DELIVERY.format(by='INDEXED BY outbound_repeated')} {_REPEATED} ORDER BY o.id DESC LIMIT ?",
    f"{_TURN.format(by='INDEXED BY turn_failed')} {_FAILED_TURNS} ORDER BY t.id DESC LIMIT ?",
    f"{_REJECTED.format(by='INDEXED BY rejected_listed')} dismissed_at IS NULL ORDER BY id DESC LIMIT ?",
)


@dataclass(frozen=True, slots=True)
class Retry:
    """One row that waits for another try, or that failed. Instants are milliseconds since 1970.

    `kind` is `turn`, `delivery` or `rejected` (an update that could never be stored as a message). `delays` counts how
    often its agent asked for another time, or how often it was proven not to have been sent. `since` is when it came
    to be. A rejected update has no conversation that anybody knows, and no target.
    """

    kind: str
    number: int
    state: str
    attempt: int
    delays: int
    not_before: int | None
    reason: str | None
    conversation: str | None
    channel: str
    target: str | None
    since: int

    @property
    def id(self) -> str:
        """The name that the command line takes: t12, d7, x3."""
        return f"{LETTERS[self.kind]}{self.number}"


@dataclass(frozen=True, slots=True)
class Rejected:
    """An update that could never be stored as a message, as it came. `position` is the channel's number of it."""

    id: int
    channel: str
    position: int
    raw: str
    reason: str
    rejected_at: int
    dismissed_at: int | None


class Done(Enum):
    """What came of a person's wish."""

    DONE = "done"
    MISSING = "missing"  # there is no such row
    UNDER_WAY = "under_way"  # it is being sent at this very moment
    OVER = "over"  # it ended; nothing is left to do


def waiting_or_failed(db: Database, limit: int) -> list[Retry]:
    """All that is held or waits, then the newest that failed: at most `limit` of each sort."""
    with db.snapshot():
        return [Retry(*row) for sql in QUERIES for row in db.rows(sql, (limit,))]


def waiting_turns(db: Database, limit: int) -> list[Retry]:
    """The oldest postponed turns."""
    return [Retry(*row) for row in db.rows(_POSTPONED, (limit,))]


def find(db: Database, kind: str, number: int) -> Retry | None:
    """The turn, delivery or rejected update of that number, in whatever state."""
    by_id = {"turn": f"{_TURN} t.id = ?", "delivery": f"{_DELIVERY} o.id = ?", "rejected": f"{_REJECTED} id = ?"}
    row = db.one(by_id[kind].format(by=""), (number,))
    return Retry(*row) if row else None


def rejected(db: Database, number: int) -> Rejected | None:
    """A rejected update with its JSON."""
    sql = "SELECT id, channel, position, raw, reason, rejected_at, dismissed_at FROM rejected WHERE id = ?"
    row = db.one(sql, (number,))
    return Rejected(*row) if row else None


def send_again(db: Database, number: int) -> Done:
    """Make a delivery due now. What failed or is unknown goes behind the rows that wait already.

    An unknown one may have been executed, so it is marked as a possible repeat.
    """
    with db.write():
        row = db.one("SELECT state, held_at FROM outbound WHERE id = ?", (number,))
        if row is None:
            return Done.MISSING
        match row[0]:
            case "unknown" if row[1] is not None:
                held.resend(db, number)
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
    """Give a delivery up for good; its text stays readable. One that was possibly delivered twice leaves the list."""
    now = clock.now_ms()
    with db.write():
        row = db.one("SELECT state FROM outbound WHERE id = ?", (number,))
        if row is None:
            return Done.MISSING
        if row[0] == "sending":
            return Done.UNDER_WAY
        if row[0] == "delivered":
            sql = f"UPDATE outbound AS o SET dismissed_at = ? WHERE o.id = ? AND {_REPEATED}"
            return Done.DONE if db.execute(sql, (now, number)) else Done.OVER
        if not OUTBOUND.allows(row[0], "dropped", "operator"):
            return Done.OVER
        edge = (row[0], "dropped", "operator")
        move(db, OUTBOUND, number, edge, finished_at=now, not_before=None, held_at=None)
    return Done.DONE


def dismiss_turn(db: Database, number: int) -> Done:
    """Take a failed turn off the list. It stays failed."""
    with db.write():
        sql = "UPDATE turn SET dismissed_at = ? WHERE id = ? AND state = 'failed' AND dismissed_at IS NULL"
        return Done.DONE if db.execute(sql, (clock.now_ms(), number)) else Done.OVER


def dismiss_rejected(db: Database, number: int) -> Done:
    """Take a rejected update off the list. It stays readable."""
    with db.write():
        sql = "UPDATE rejected SET dismissed_at = ? WHERE id = ? AND dismissed_at IS NULL"
        return Done.DONE if db.execute(sql, (clock.now_ms(), number)) else Done.OVER
