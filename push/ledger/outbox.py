"""Outbound rows: replies on their way out, with a checkpoint per part. Does not own sending (`push.delivery`)."""

from __future__ import annotations

from push import clock
from push.ledger.database import Database, Row
from push.ledger.moves import born, move
from push.ledger.schema import OUTBOUND_OPEN
from push.model.machines import OUTBOUND
from push.model.values import Outbound, Turn
from push.seams import seam

_COLUMNS = "o.id, o.conversation_id, o.turn_id, o.target, o.state, o.attempt, o.repeat"
_OPEN = (
    f"SELECT {_COLUMNS}, t.event_id, o.created_at FROM outbound o LEFT JOIN turn t ON t.id = o.turn_id "
    f"WHERE o.channel = ? AND o.target = ? AND o.state IN {OUTBOUND_OPEN} "
    "ORDER BY coalesce(o.goes_after, o.id), o.goes_after IS NOT NULL, o.id"
)


def enqueue(db: Database, turn: Turn, parts: tuple[str, ...]) -> int:
    """Commit a turn's reply as a pending outbound row. Inside `db.write()`; returns its id."""
    outbound_id = db.insert(
        "INSERT INTO outbound (conversation_id, turn_id, channel, target, state, created_at) "
        "VALUES (?, ?, ?, ?, 'pending', ?)",
        (turn.conversation_id, turn.id, turn.channel, turn.target, clock.now_ms()),
    )
    for sequence, text in enumerate(parts):
        db.execute("INSERT INTO part (outbound_id, seq, text) VALUES (?, ?, ?)", (outbound_id, sequence, text))
    born(db, OUTBOUND, outbound_id, "pending", "worker")
    return outbound_id


def open_for(db: Database, channel: str, target: str) -> list[tuple[Outbound, str | None, int]]:
    """Open rows of a target in commit order, each with the event that caused it and when it was committed.

    One that a person sends again goes behind those that were there when he said so (`push.ledger.retries`).
    """
    return [(_outbound(db, row[:7]), row[7], int(row[8])) for row in db.rows(_OPEN, (channel, target))]


def get(db: Database, outbound_id: int) -> Outbound:
    """One row by its id, which must exist."""
    row = db.one(f"SELECT {_COLUMNS} FROM outbound o WHERE o.id = ?", (outbound_id,))
    assert row is not None
    return _outbound(db, row)


def is_open_for_turn(db: Database, turn_id: int) -> bool:
    """Whether the turn's reply is still on its way."""
    sql = f"SELECT 1 FROM outbound WHERE turn_id = ? AND state IN {OUTBOUND_OPEN}"
    return db.one(sql, (turn_id,)) is not None


def sending(db: Database, row: Outbound) -> None:
    """`pending | waiting -> sending`: from here on the outcome may be unknown."""
    with db.write():
        move(db, OUTBOUND, row.id, (row.state, "sending", "sender"), attempt=row.attempt + 1, not_before=None)
    seam("delivery.sending_committed")


def part_delivered(db: Database, row: Outbound, sequence: int, receipt: str) -> None:
    """Checkpoint: this part is not sent again. The last part's stands in one transaction with `delivered`."""
    now = clock.now_ms()
    last = sequence == row.parts[-1][0]
    with db.write():
        db.execute(
            "UPDATE part SET receipt = ?, delivered_at = ? WHERE outbound_id = ? AND seq = ?",
            (receipt, now, row.id, sequence),
        )
        if last:
            move(db, OUTBOUND, row.id, ("sending", "delivered", "sender"), finished_at=now, reason=None)
    seam("delivery.delivered_committed")


def end(db: Database, row: Outbound, state: str, reason: str) -> None:
    """`sending -> failed | unknown`: refused for good, or not known; both are listed and can be sent again by hand."""
    with db.write():
        move(db, OUTBOUND, row.id, ("sending", state, "sender"), finished_at=clock.now_ms(), reason=reason)


def not_sent(db: Database, row: Outbound, reason: str, seconds: float) -> None:
    """`sending -> waiting`: proven not executed; due again after `seconds`."""
    due = clock.now_ms() + int(seconds * 1000)
    with db.write():
        move(db, OUTBOUND, row.id, ("sending", "waiting", "sender"), reason=reason, not_before=due)
    seam("delivery.not_sent_committed")


def lost_sender(db: Database, row: Outbound) -> bool:
    """A sender died in the middle: `sending -> unknown`, and once `-> waiting`, marked as a possible repeat.

    Returns whether the row will be sent (once more).
    """
    with db.write():
        move(db, OUTBOUND, row.id, ("sending", "unknown", "recovery"), reason="sender_died")
        if not row.repeat:
            move(db, OUTBOUND, row.id, ("unknown", "waiting", "sender"), repeat=1, reason="sender_died")
    seam("delivery.lost_sender_committed")
    return not row.repeat


def _outbound(db: Database, row: Row) -> Outbound:
    parts = db.rows("SELECT seq, text, delivered_at FROM part WHERE outbound_id = ? ORDER BY seq", (row[0],))
    identity, conversation, turn, target, state, attempt, repeat = row
    checkpoints = tuple((int(seq), str(text), at is not None) for seq, text, at in parts)
    return Outbound(identity, conversation, turn, target, state, attempt, bool(repeat), checkpoints)
