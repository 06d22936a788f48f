"""The messages that say what a run is doing, kept so that they are removed when it is over, also after a crash."""

from __future__ import annotations

from dataclasses import dataclass

from push import clock
from push.ledger.database import Database
from push.seams import seam


@dataclass(frozen=True, slots=True)
class Progress:
    """A posted message, and the state of its turn. `receipt` is the channel's name of it; instants are milliseconds."""

    turn_id: int
    channel: str
    target: str
    receipt: str
    posted_at: int
    edited_at: int
    turn_state: str


_SELECT = (
    "SELECT p.turn_id, p.channel, p.target, p.receipt, p.posted_at, p.edited_at, t.state "
    "FROM progress p CROSS JOIN turn t ON t.id = p.turn_id"  # in this order: there are few of the first
)


def posted(db: Database, turn_id: int, target: tuple[str, str], receipt: str) -> None:
    """A message about a turn was posted to (channel, target)."""
    now = clock.now_ms()
    sql = (
        "INSERT OR REPLACE INTO progress (turn_id, channel, target, receipt, posted_at, edited_at) VALUES (?,?,?,?,?,?)"
    )
    with db.write():
        db.execute(sql, (turn_id, *target, receipt, now, now))
    seam("progress.posted")


def edited(db: Database, turn_id: int) -> None:
    """It was changed now, or that was tried."""
    with db.write():
        db.execute("UPDATE progress SET edited_at = ? WHERE turn_id = ?", (clock.now_ms(), turn_id))


def removed(db: Database, turn_id: int) -> None:
    """It is gone, or can never be removed."""
    with db.write():
        db.execute("DELETE FROM progress WHERE turn_id = ?", (turn_id,))
    seam("progress.removed")


def of(db: Database, conversation_id: int) -> list[Progress]:
    """The messages that stand in a conversation."""
    sql = f"{_SELECT} WHERE t.conversation_id = ? ORDER BY p.turn_id"
    return [Progress(*row) for row in db.rows(sql, (conversation_id,))]


def open_conversations(db: Database) -> list[int]:
    """Conversations in which such messages stand."""
    sql = "SELECT DISTINCT t.conversation_id FROM progress p CROSS JOIN turn t ON t.id = p.turn_id"
    return [int(row[0]) for row in db.rows(sql)]
