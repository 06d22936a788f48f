"""What is open or stuck now, and how much of it: what `push status` counts.

Owns counting without looking at what ended well, so that a long history costs nothing. Instants are milliseconds
since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from push.ledger import conversations, held, pace
from push.ledger.conversations import PAUSED, Paused
from push.ledger.database import Database, Row
from push.ledger.held import Held
from push.ledger.pace import Pause
from push.ledger.schema import OUTBOUND_OPEN, OUTBOUND_STUCK, TURN_OPEN

#: Failures, repeats and rejections are counted up to here, and "or more" beyond.
MOST_FAILED = 1000

_RUNNING = (  # left alone, SQLite walks all turns to save itself the sorting of the open ones
    "SELECT t.id, c.key, t.agent, t.attempt, coalesce(t.started_at, t.queued_at) "
    "FROM turn t INDEXED BY turn_open JOIN conversation c ON c.id = t.conversation_id "
    f"WHERE t.state IN {TURN_OPEN} AND t.state = 'running' ORDER BY t.id"
)


@dataclass(frozen=True, slots=True)
class Running:
    """A turn whose agent runs, or ran when its gateway was killed."""

    id: int
    conversation: str
    agent: str | None
    attempt: int
    started_at: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is open or stuck, at one instant. `waiting_for` counts open deliveries per (channel, target).

    `repeated` counts delivered ones that the person possibly has twice, `rejected` updates that could never be stored.
    `pauses` are chats that their service has paused, `paused` conversations that a person has. What is `held` counts
    neither as open nor as stuck.
    """

    turns: dict[str, int] = field(default_factory=dict)
    oldest_turn: int | None = None
    postponed: int = 0
    running: tuple[Running, ...] = ()
    deliveries: dict[str, int] = field(default_factory=dict)
    oldest_delivery: int | None = None
    waiting_for: tuple[tuple[str, str, int], ...] = ()
    stuck: dict[str, int] = field(default_factory=dict)
    failed_turns: int = 0
    repeated: int = 0
    rejected: int = 0
    pauses: tuple[Pause, ...] = ()
    paused: tuple[Paused, ...] = ()
    held: Held = field(default_factory=Held)


def read(db: Database) -> Backlog:
    """Everything, from one snapshot."""
    with db.snapshot():
        open_turns = db.rows(
            "SELECT state, count(*), min(queued_at) FROM turn INDEXED BY turn_open "
            f"WHERE state IN {TURN_OPEN} AND held_at IS NULL GROUP BY state"
        )
        postponed = db.one(
            f"SELECT count(*) FROM turn WHERE state IN {TURN_OPEN} AND (state = 'waiting' OR not_before IS NOT NULL) "
            f"AND held_at IS NULL AND (state = 'running' OR conversation_id NOT IN {PAUSED})"
        )
        running = db.rows(_RUNNING)
        open_deliveries = db.rows(
            f"SELECT state, count(*), min(created_at) FROM outbound WHERE state IN {OUTBOUND_OPEN} GROUP BY state"
        )
        targets = db.rows(
            f"SELECT channel, target, count(*) FROM outbound WHERE state IN {OUTBOUND_OPEN} "
            "GROUP BY channel, target ORDER BY 3 DESC LIMIT 20"
        )
        stuck = db.rows(
            f"SELECT state, count(*) FROM outbound WHERE state IN {OUTBOUND_STUCK} AND held_at IS NULL GROUP BY state"
        )
        return Backlog(
            turns=_counts(open_turns),
            oldest_turn=_oldest(open_turns),
            postponed=_number(postponed),
            running=tuple(Running(*row) for row in running),
            deliveries=_counts(open_deliveries),
            oldest_delivery=_oldest(open_deliveries),
            waiting_for=tuple((str(channel), str(target), int(count)) for channel, target, count in targets),
            stuck=_counts(stuck),
            failed_turns=_upto(db, "turn WHERE state = 'failed' AND dismissed_at IS NULL"),
            repeated=_upto(db, "outbound WHERE state = 'delivered' AND repeat = 1 AND dismissed_at IS NULL"),
            rejected=_upto(db, "rejected INDEXED BY rejected_listed WHERE dismissed_at IS NULL"),
            pauses=tuple(pace.pauses(db)),
            paused=tuple(conversations.paused(db)),
            held=held.count(db),
        )


def _counts(rows: list[Row]) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in rows}


def _oldest(rows: list[Row]) -> int | None:
    return min((int(row[2]) for row in rows), default=None)


def _upto(db: Database, rows: str) -> int:
    return _number(db.one(f"SELECT count(*) FROM (SELECT 1 FROM {rows} LIMIT ?)", (MOST_FAILED,)))


def _number(row: Row | None) -> int:
    return int(row[0]) if row else 0
