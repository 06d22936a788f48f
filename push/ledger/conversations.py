"""Conversations as places to speak to, and pausing one. Does not own what is said there (`push.ledger.turns`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from push import clock
from push.ledger.database import Database
from push.ledger.schema import TURN_OPEN

#: The paused conversations, for predicates: few, out of an index of their own.
PAUSED: Final = "(SELECT id FROM conversation WHERE paused_at IS NOT NULL)"
_MOST_KEYS = 10_000

_WAITING = (
    f"SELECT count(*) FROM turn t INDEXED BY turn_open WHERE t.conversation_id = c.id AND t.state IN {TURN_OPEN} "
    "AND t.lane = 'turns' AND t.state <> 'running' AND t.held_at IS NULL"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation is answered."""

    id: int
    channel: str
    target: str


def newest_elsewhere(db: Database, channel: str, enabled: Sequence[str]) -> Place | None:
    """The conversation that spoke last on another channel: an enabled one, or the terminal."""
    sql = (
        "SELECT t.conversation_id, t.channel, t.target FROM conversation c JOIN turn t ON t.id = "
        "(SELECT max(id) FROM turn WHERE conversation_id = c.id) WHERE c.channel = ? ORDER BY t.id DESC LIMIT 1"
    )
    others = [name for name in (*enabled, "local") if name != channel]
    found = [row for name in dict.fromkeys(others) if (row := db.one(sql, (name,)))]
    return Place(*found[0]) if found else None


# -- pausing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Paused:
    """A conversation in which nothing is begun, since an instant (milliseconds since 1970), and what waits there."""

    conversation: str
    since: int
    waiting: int


def pause(db: Database, key: str) -> bool | None:
    """Begin nothing more in a conversation; whether it went on until now. None where there is no such conversation."""
    return _set(db, key, clock.now_ms())


def resume(db: Database, key: str) -> bool | None:
    """Go on; whether it was paused. None where there is no such conversation."""
    return _set(db, key, None)


def _set(db: Database, key: str, at: int | None) -> bool | None:
    with db.write():
        row = db.one("SELECT id, paused_at FROM conversation WHERE key = ?", (key,))
        if row is None:
            return None
        if (row[1] is None) == (at is None):
            return False
        db.execute("UPDATE conversation SET paused_at = ? WHERE id = ?", (at, row[0]))
    return True


def is_paused(db: Database, conversation_id: int) -> bool:
    """Whether nothing is begun in a conversation."""
    return db.one("SELECT 1 FROM conversation WHERE id = ? AND paused_at IS NOT NULL", (conversation_id,)) is not None


def paused(db: Database) -> list[Paused]:
    """The paused conversations, the one that was paused first at the front."""
    sql = f"SELECT key, paused_at, ({_WAITING}) FROM conversation c WHERE paused_at IS NOT NULL ORDER BY paused_at, id"
    return [Paused(*row) for row in db.rows(sql)]


def keys(db: Database) -> list[str]:
    """The names of conversations, the newest first; at most ten thousand."""
    return [str(key) for (key,) in db.rows("SELECT key FROM conversation ORDER BY id DESC LIMIT ?", (_MOST_KEYS,))]
