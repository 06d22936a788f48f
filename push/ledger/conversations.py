"""Conversations as places to speak to. Does not own what is said in them (`push.ledger.turns`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from push.ledger.database import Database


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
