"""Outbound rows: replies and notices on their way out, a checkpoint per part. Does not own sending (`push.delivery`).

Each target has two streams: the answers to control commands, which overtake, and everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from push import clock
from push.ledger import held, pace
from push.ledger.database import Database, Row
from push.ledger.moves import born, move
from push.ledger.schema import OUTBOUND_OPEN, OUTBOUND_STUCK
from push.model.machines import OUTBOUND
from push.model.values import Outbound, OutboundPart, Pace, Part, Rendered, Turn
from push.seams import seam

#: Why a row waits between two of its parts. It is on its way, and not listed.
PACED = "paced"

_COLUMNS = (
    "o.id, o.conversation_id, o.turn_id, o.channel, o.target, o.state, o.attempt, o.delays, o.repeat, o.urgent, "
    "o.goes_after IS NOT NULL, o.reason, o.not_before, o.created_at, coalesce(o.requeued_at, o.created_at)"
)
_FIELDS = tuple(name for name in Outbound.__slots__ if name != "parts")
_ORDER = "ORDER BY coalesce(o.goes_after, o.id), o.goes_after IS NOT NULL, o.id"
_OPEN = (
    f"SELECT {_COLUMNS}, t.event_id FROM outbound o LEFT JOIN turn t ON t.id = o.turn_id "
    f"WHERE o.channel = ? AND o.target = ? AND o.state IN {OUTBOUND_OPEN} "
    "ORDER BY o.urgent DESC, coalesce(o.goes_after, o.id), o.goes_after IS NOT NULL, o.id"
)
_HEAD = (
    f"SELECT {_COLUMNS} FROM outbound o INDEXED BY outbound_open WHERE o.channel = ? AND o.target = ? "
    f"AND o.state IN {OUTBOUND_OPEN} AND o.urgent = ? {_ORDER} LIMIT 1"
)
_TARGETS = (
    "SELECT channel, target, urgent, not_before FROM (SELECT o.channel, o.target, o.urgent, o.not_before, "
    f"row_number() OVER (PARTITION BY o.channel, o.target, o.urgent {_ORDER}) AS place "
    f"FROM outbound o INDEXED BY outbound_open WHERE o.state IN {OUTBOUND_OPEN}) WHERE place = 1"
)


def enqueue(db: Database, turn: Turn, reply: Rendered) -> int:
    """Commit a turn's reply as a pending outbound row. Inside `db.write()`; returns its id.

    What answers a command of the control lane overtakes. What answers a message that a restored copy held is marked as
    a possible repeat.
    """
    outbound_id = db.insert(
        "INSERT INTO outbound (conversation_id, turn_id, channel, target, state, urgent, source, created_at) "
        "VALUES (?, ?, ?, ?, 'pending', ?, ?, ?)",
        (
            turn.conversation_id,
            turn.id,
            turn.channel,
            turn.target,
            int(turn.lane == "control"),
            reply.source,
            clock.now_ms(),
        ),
    )
    _add_parts(db, outbound_id, reply.parts)
    born(db, OUTBOUND, outbound_id, "pending", "worker")
    held.mark_reply(db, turn.id, outbound_id)
    return outbound_id


def enqueue_notice(db: Database, conversation_id: int, target: str, notice: str, parts: Sequence[Part]) -> int:
    """Commit a notice of kind `notice`, which no turn caused, for a conversation. Returns its id."""
    with db.write():
        outbound_id = db.insert(
            "INSERT INTO outbound (conversation_id, channel, target, state, notice, created_at) "
            "SELECT id, channel, ?, 'pending', ?, ? FROM conversation WHERE id = ?",
            (target, notice, clock.now_ms(), conversation_id),
        )
        _add_parts(db, outbound_id, parts)
        born(db, OUTBOUND, outbound_id, "pending", "worker")
    return outbound_id


def _add_parts(db: Database, outbound_id: int, parts: Sequence[Part]) -> None:
    for sequence, part in enumerate(parts):
        sql = "INSERT INTO part (outbound_id, seq, text, entities) VALUES (?, ?, ?, ?)"
        db.execute(sql, (outbound_id, sequence, part.text, part.entities))


def open_for(db: Database, channel: str, target: str) -> list[tuple[Outbound, str | None]]:
    """Open rows of a target in the order in which they go out, each with the event that caused it.

    One that a person sends again goes behind those that were there when he said so (`push.ledger.retries`).
    """
    return [(_outbound(db, row[:15]), row[15]) for row in db.rows(_OPEN, (channel, target))]


def head(db: Database, channel: str, target: str, stream: int) -> Outbound | None:
    """The only row of a stream (1: urgent) that may be sent now: the first that is open."""
    row = db.one(_HEAD, (channel, target, stream))
    return _outbound(db, row) if row else None


def open_targets(db: Database) -> list[tuple[str, str, int, int | None]]:
    """Each (channel, target, stream) with open rows, and when its first becomes due (None: at once)."""
    return [(str(row[0]), str(row[1]), int(row[2]), row[3]) for row in db.rows(_TARGETS)]


def get(db: Database, outbound_id: int) -> Outbound:
    """One row by its id, which must exist."""
    row = db.one(f"SELECT {_COLUMNS} FROM outbound o WHERE o.id = ?", (outbound_id,))
    assert row is not None
    return _outbound(db, row)


def is_open_for_turn(db: Database, turn_id: int) -> bool:
    """Whether the turn's reply is still on its way."""
    sql = f"SELECT 1 FROM outbound WHERE turn_id = ? AND state IN {OUTBOUND_OPEN}"
    return db.one(sql, (turn_id,)) is not None


def claim(db: Database, row: Outbound, paces: Sequence[Pace] = ()) -> int | None:
    """`pending | waiting -> sending`: from here on the outcome may be unknown.

    Where the budgets do not allow it now, nothing changes, and the instant at which they will is returned.
    """
    with db.write():
        free = pace.free_at(db, row.channel, paces)
        if free > clock.now_ms():
            return free
        pace.take(db, row.channel, paces)
        edge = (row.state, "sending", "sender")
        move(db, OUTBOUND, row.id, edge, not_before=None, reason=None)
    seam("delivery.sending_committed")
    return None


def part_delivered(db: Database, row: Outbound, sequence: int, receipt: str, paces: Sequence[Pace] = ()) -> int | None:
    """Checkpoint: this part is not sent again. The last part's stands in one transaction with `delivered`.

    For a further part the budgets are drawn from as well; where they do not allow it now, the row waits, paced,
    until the instant that is returned.
    """
    now = clock.now_ms()
    last = sequence == row.parts[-1].seq
    until: int | None = None
    with db.write():
        if paces:
            pace.arrived(db, row.channel, paces[0])
        db.execute(
            "UPDATE part SET receipt = ?, delivered_at = ? WHERE outbound_id = ? AND seq = ?",
            (receipt, now, row.id, sequence),
        )
        if last:
            columns: dict[str, object] = {"finished_at": now, "reason": None, "attempt": row.attempt + 1}
            move(db, OUTBOUND, row.id, ("sending", "delivered", "sender"), **columns)
        elif (free := pace.free_at(db, row.channel, paces)) > clock.now_ms():  # not `now`, which is a little older
            until = free
            move(db, OUTBOUND, row.id, ("sending", "waiting", "sender"), reason=PACED, not_before=until)
        else:
            pace.take(db, row.channel, paces)
    seam("delivery.delivered_committed")
    return until


def end(db: Database, row: Outbound, state: str, reason: str) -> None:
    """`-> failed | unknown`: refused, expired, or not known; listed, and can be sent again by hand."""
    attempt = row.attempt + (row.state == "sending")
    columns: dict[str, object] = {"attempt": attempt, "finished_at": clock.now_ms(), "not_before": None}
    with db.write():
        move(db, OUTBOUND, row.id, (row.state, state, "sender"), reason=reason, **columns)
    seam("delivery.ended_committed")


def not_sent(db: Database, row: Outbound, reason: str, seconds: float) -> int:
    """`sending -> waiting`: proven not executed, so not an attempt; due again after `seconds`. Returns when."""
    due = clock.now_ms() + int(seconds * 1000)
    with db.write():
        edge = ("sending", "waiting", "sender")
        move(db, OUTBOUND, row.id, edge, reason=reason, not_before=due, delays=row.delays + 1)
    seam("delivery.not_sent_committed")
    return due


def try_again(db: Database, row: Outbound, reason: str, seconds: float) -> int:
    """`sending -> waiting`: the service said no, perhaps not for good. It counts. Returns when it is due."""
    due = clock.now_ms() + int(seconds * 1000)
    with db.write():
        edge = ("sending", "waiting", "sender")
        move(db, OUTBOUND, row.id, edge, reason=reason, not_before=due, attempt=row.attempt + 1)
    seam("delivery.try_again_committed")
    return due


def unknown(db: Database, row: Outbound, sequence: int, reason: str, by: str) -> None:
    """`sending -> unknown -> waiting`: part `sequence` may have been executed; it is sent once more, marked."""
    with db.write():
        move(db, OUTBOUND, row.id, ("sending", "unknown", by), reason=reason, attempt=row.attempt + 1)
        db.execute("UPDATE part SET repeats = repeats + 1 WHERE outbound_id = ? AND seq = ?", (row.id, sequence))
        move(db, OUTBOUND, row.id, ("unknown", "waiting", "sender"), repeat=1, reason=reason, not_before=None)
    seam("delivery.unknown_committed")


def hold(db: Database, row: Outbound, reason: str, by: str) -> None:
    """`sending -> unknown`: it may have been executed, and only a person sends it again."""
    with db.write():
        columns: dict[str, object] = {"attempt": row.attempt + 1, "finished_at": clock.now_ms()}
        move(db, OUTBOUND, row.id, ("sending", "unknown", by), reason=reason, **columns)
    seam("delivery.hold_committed")


def untold(db: Database, conversation_id: int) -> list[int]:
    """Deliveries of a conversation that ended without reaching the person, who was not told of it yet."""
    sql = f"SELECT id FROM outbound WHERE conversation_id = ? AND state IN {OUTBOUND_STUCK} AND told_at IS NULL "
    sql += "AND held_at IS NULL"  # of those it is not known
    return [int(row[0]) for row in db.rows(sql, (conversation_id,))]


def told(db: Database, outbound_ids: Sequence[int]) -> None:
    """The person knows of these."""
    now = clock.now_ms()
    with db.write():
        for outbound_id in outbound_ids:
            db.execute("UPDATE outbound SET told_at = ? WHERE id = ?", (now, outbound_id))


def _outbound(db: Database, row: Row) -> Outbound:
    sql = "SELECT seq, text, entities, delivered_at, repeats FROM part WHERE outbound_id = ? ORDER BY seq"
    found = db.rows(sql, (row[0],))
    parts = tuple(
        OutboundPart(int(seq), Part(str(text), entities, len(found) > 1), at is not None, int(repeats))
        for seq, text, entities, at, repeats in found
    )
    fields = dict(zip(_FIELDS, row, strict=True))
    fields |= {name: bool(fields[name]) for name in ("repeat", "urgent", "late")}
    return Outbound(**fields, parts=parts)
