"""Who was let in by command, and who was refused. Does not own the settings' own lists (`push.config`).

Of a refused sender nothing is kept but ids, a count and two instants (milliseconds since 1970).
"""

from __future__ import annotations

from dataclasses import dataclass

from push import clock
from push.ledger.database import Database

#: Refusals that are kept: a flood of strangers fills no disk.
MAX_REFUSALS = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """An id that was allowed by command. `kind` is `user` (a person) or `chat` (everybody in it)."""

    channel: str
    kind: str
    id: str
    note: str | None
    added_at: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A sender who was refused, in one chat."""

    channel: str
    sender: str
    chat: str
    count: int
    first_at: int
    last_at: int


def entries(db: Database, channel: str | None = None) -> list[Entry]:
    """What was allowed by command, of one channel or of all."""
    where, parameters = ("WHERE channel = ?", (channel,)) if channel else ("", ())
    sql = f"SELECT channel, kind, id, note, added_at FROM allowed {where} ORDER BY channel, kind, added_at"
    return [Entry(*row) for row in db.rows(sql, parameters)]


def add(db: Database, channel: str, kind: str, identity: str, note: str | None) -> bool:
    """Allow an id; False where it was allowed already (its note is replaced where one is given)."""
    sql = (
        "INSERT INTO allowed (channel, kind, id, note, added_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
        "SET note = coalesce(excluded.note, note)"
    )
    with db.write():
        known = db.one("SELECT 1 FROM allowed WHERE channel = ? AND kind = ? AND id = ?", (channel, kind, identity))
        db.execute(sql, (channel, kind, identity, note, clock.now_ms()))
        db.execute("DELETE FROM refusal WHERE channel = ? AND ? IN (sender, chat)", (channel, identity))
    return known is None


def remove(db: Database, channel: str, kind: str, identity: str) -> bool:
    """Allow an id no longer; whether it was allowed by command."""
    with db.write():
        sql = "DELETE FROM allowed WHERE channel = ? AND kind = ? AND id = ?"
        return db.execute(sql, (channel, kind, identity)) == 1


def refuse(db: Database, channel: str, counts: dict[tuple[str, str], int]) -> None:
    """Count refusals per (sender, chat); the oldest beyond the limit are forgotten."""
    now = clock.now_ms()
    sql = (
        "INSERT INTO refusal (channel, sender, chat, count, first_at, last_at) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at"
    )
    with db.write():
        for (sender, chat), count in counts.items():
            db.execute(sql, (channel, sender, chat, count, now, now))
        db.execute(
            "DELETE FROM refusal WHERE last_at < (SELECT min(last_at) FROM "
            "(SELECT last_at FROM refusal ORDER BY last_at DESC LIMIT ?))",
            (MAX_REFUSALS,),
        )


def refusals(db: Database, limit: int = MAX_REFUSALS) -> list[Refusal]:
    """Who was refused lately, the last one first."""
    sql = "SELECT channel, sender, chat, count, first_at, last_at FROM refusal ORDER BY last_at DESC LIMIT ?"
    return [Refusal(*row) for row in db.rows(sql, (limit,))]
