"""A conversation's line: its open turns in the order in which they are handled, and leaving the line.

Owns what control commands and signs of life ask of it; does not own working on turns (`push.ledger.turns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from push import clock
from push.ledger.database import Database
from push.ledger.moves import move
from push.ledger.schema import TURN_OPEN
from push.model.machines import TURN
from push.model.values import Turn

#: Places that are looked at; a longer line is cut.
MOST = 1000
_CHUNK = 100  # rows of one transaction: others wait meanwhile

_LINE = (
    "SELECT id, channel, target, kind, state, attempt, ahead, agent, not_before, queued_at, started_at, "
    f"acknowledged_at FROM turn INDEXED BY turn_open WHERE conversation_id = ? AND state IN {TURN_OPEN} "
    f"AND lane = 'turns' AND held_at IS NULL ORDER BY (state = 'queued' AND attempt = 0), ahead DESC, id LIMIT {MOST}"
)
_ENDED = (
    "SELECT id, state FROM (SELECT id, state, kind, finished_at FROM turn WHERE conversation_id = ? AND id < ? "
    f"AND lane = 'turns' ORDER BY id DESC LIMIT {MOST}) WHERE state IN ('answered', 'failed', 'cancelled') "
    "AND kind = 'message' AND finished_at >= (SELECT queued_at FROM turn WHERE id = ?) ORDER BY finished_at, id"
)


@dataclass(frozen=True, slots=True)
class Place:
    """An open turn. Instants are milliseconds since 1970; `started_at` is when its newest run was begun."""

    id: int
    channel: str
    target: str
    kind: str
    state: str
    attempt: int
    ahead: bool
    agent: str | None
    not_before: int | None
    queued_at: int
    started_at: int | None
    acknowledged_at: int | None

    @property
    def has_begun(self) -> bool:
        """Whether it was run before, or runs now: nothing overtakes it."""
        return self.state != "queued" or self.attempt > 0


def of(db: Database, conversation_id: int) -> list[Place]:
    """The line, first the turn that is, or will be, worked on; at most MOST places. What is held stands in none."""
    return [replace(Place(*row), ahead=bool(row[6])) for row in db.rows(_LINE, (conversation_id,))]


def ended_since(db: Database, command: Turn) -> list[tuple[int, str]]:
    """(id, state) of the messages before `command` in its conversation that ended after it was accepted, in order."""
    return [(int(row[0]), str(row[1])) for row in db.rows(_ENDED, (command.conversation_id, command.id, command.id))]


def take_back(db: Database, turn_ids: Sequence[int]) -> int:
    """Cancel those of the turns that nobody works on; returns how many that were."""
    taken = 0
    for start in range(0, len(turn_ids), _CHUNK):
        chunk = turn_ids[start : start + _CHUNK]
        with db.write():
            for turn_id in chunk:
                row = db.one("SELECT state FROM turn WHERE id = ?", (turn_id,))
                state = row[0] if row else None
                if state == "waiting":
                    move(db, TURN, turn_id, ("waiting", "queued", "operator"), not_before=None)
                if state in ("waiting", "queued"):
                    ended = {"finished_at": clock.now_ms(), "not_before": None}
                    move(db, TURN, turn_id, ("queued", "cancelled", "operator"), **ended)
                    taken += 1
    return taken


def open_commands(db: Database) -> int:
    """How many commands of the control lane are open."""
    sql = f"SELECT count(*) FROM turn WHERE lane = 'control' AND state IN {TURN_OPEN} AND held_at IS NULL"
    row = db.one(sql)
    return int(row[0]) if row else 0
