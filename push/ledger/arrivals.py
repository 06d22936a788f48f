"""What came in: messages as turns, edits, and how far each channel was read, in one commit.

Owns that an update is stored before, or with, the cursor that passes it; does not own who is let through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from push import clock
from push.ledger import held
from push.ledger.database import Database
from push.ledger.moves import born, move
from push.model.machines import TURN
from push.model.values import Accepted, Duplicate, Inbound, Merged
from push.seams import seam

#: UTF-16 units from which on a text may be one that the channel has split, and how far apart its pieces may come.
SPLIT_UNITS = 4000
FULL_UNITS = 4096
_SPLIT_MS = 1000

_INSERT = (
    "INSERT INTO turn (conversation_id, channel, event_id, sender, target, kind, text, state, received_at, queued_at, "
    "not_before, lane, ahead, message_ref, context) VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?)"
)
_NEWEST = (
    "SELECT t.id, t.sender, t.target, t.kind, t.text, t.received_at, l.id, l.state, l.attempt, l.held_at FROM turn t "
    "JOIN turn l ON l.id = coalesce(t.merged_into, t.id) WHERE t.conversation_id = ? AND t.lane = 'turns' "
    "ORDER BY t.id DESC LIMIT 1"
)
_EDITABLE = (
    "SELECT t.id, t.text, t.conversation_id FROM turn t JOIN turn l ON l.id = coalesce(t.merged_into, t.id) "
    "WHERE t.channel = ? AND t.message_ref = ? AND t.sender = ? AND t.kind = 'message' "
    "AND l.state = 'queued' AND l.attempt = 0 ORDER BY t.id DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How far `channel` was read for `owner` (whose messages they are), once what goes with it is stored."""

    channel: str
    owner: str
    position: int


def accept(db: Database, message: Inbound, reading: Reading | None = None) -> Accepted | Duplicate | Merged:
    """Commit one accepted message as a queued turn; the same channel event a second time changes nothing.

    The rest of a text that the channel had split belongs to the turn of its first piece while that is queued. What was
    read of a service, and written before this copy was restored, is held: the original may have answered it.
    """
    now = clock.now_ms()
    seam("intake.before_commit")
    with db.write():
        _advance(db, reading, now)
        known = db.one(
            "SELECT id, conversation_id FROM turn WHERE channel = ? AND event_id = ?",
            (message.channel, message.event_id),
        )
        if known:
            return Duplicate(int(known[0]), int(known[1]))
        conversation = _conversation_id(db, message, now)
        is_held = reading is not None and held.is_of_the_original(db, message.received_ms)
        found = _lead(db, conversation, message)
        lead = found[0] if found is not None and found[1] == is_held else None
        turn_id = _insert(db, conversation, message, now)
        if lead is not None:
            move(db, TURN, turn_id, ("queued", "merged", "channel"), merged_into=lead, finished_at=now, not_before=None)
            until = now + message.hold_ms if message.hold_ms and not is_held else None
            db.execute("UPDATE turn SET not_before = ? WHERE id = ?", (until, lead))
        elif is_held:
            held.hold(db, turn_id, "channel")
    seam("intake.committed")
    if lead is not None:
        return Merged(lead, conversation)
    return Accepted(turn_id, conversation, message.lane, message.ahead, is_held)


def _insert(db: Database, conversation: int, message: Inbound, now: int) -> int:
    turn_id = db.insert(
        _INSERT,
        (
            conversation,
            message.channel,
            message.event_id,
            message.sender,
            message.target,
            message.kind,
            message.text,
            message.received_ms,
            now,
            now + message.hold_ms if message.hold_ms else None,
            message.lane,
            int(message.ahead),
            message.message_ref,
            message.context,
        ),
    )
    born(db, TURN, turn_id, "queued", "channel")
    return turn_id


def _conversation_id(db: Database, message: Inbound, now: int) -> int:
    row = db.one("SELECT id FROM conversation WHERE key = ?", (message.conversation,))
    if row:
        return int(row[0])
    return db.insert(
        "INSERT INTO conversation (key, channel, created_at) VALUES (?, ?, ?)",
        (message.conversation, message.channel, now),
    )


def _lead(db: Database, conversation: int, message: Inbound) -> tuple[int, bool] | None:
    """The turn that `message` is the rest of, if the newest message is a long one of that sender and of this second.

    With it whether that turn is held.
    """
    if not message.joins or message.kind != "message":
        return None
    row = db.one(_NEWEST, (conversation,))
    if row is None:
        return None
    _, sender, target, kind, text, received_at, lead, state, attempt, held_at = row
    fits = (sender, target, kind, state, attempt) == (message.sender, message.target, "message", "queued", 0)
    recent = abs(message.received_ms - received_at) <= _SPLIT_MS
    return (int(lead), held_at is not None) if fits and recent and units(text or "") >= SPLIT_UNITS else None


def edit(db: Database, channel: str, edited: tuple[str, str, str], reading: Reading | None = None) -> int | None:
    """Replace the text of a message that is still queued by (message_ref, sender, text); the old one is kept.

    Returns its turn; None where there is none, its agent was started already, or another wrote it.
    """
    message_ref, sender, text = edited
    now = clock.now_ms()
    with db.write():
        _advance(db, reading, now)
        row = db.one(_EDITABLE, (channel, message_ref, sender))
        if row is None or row[1] == text:
            return None
        db.execute("INSERT INTO revision (turn_id, replaced_at, text) VALUES (?, ?, ?)", (row[0], now, row[1]))
        db.execute("UPDATE turn SET text = ? WHERE id = ?", (text, row[0]))
    seam("intake.edited")
    return int(row[0])


def revisions(db: Database, turn_id: int) -> list[tuple[int, str | None]]:
    """The texts that a message had before it was edited, as (replaced at, text), oldest first."""
    sql = "SELECT replaced_at, text FROM revision WHERE turn_id = ? ORDER BY rowid"
    return [(int(at), text) for at, text in db.rows(sql, (turn_id,))]


def reject(db: Database, reading: Reading, raw: str, reason: str) -> int:
    """Keep an update that can never be stored as a message, raw, and let the cursor pass it. Returns its id."""
    now = clock.now_ms()
    with db.write():
        _advance(db, reading, now)
        sql = "INSERT INTO rejected (channel, position, raw, reason, rejected_at) VALUES (?, ?, ?, ?, ?)"
        rejected = db.insert(sql, (reading.channel, reading.position, raw, reason, now))
    seam("intake.rejected")
    return rejected


def passed(db: Database, reading: Reading) -> None:
    """Everything up to here is stored, or was nothing to store."""
    with db.write():
        _advance(db, reading, clock.now_ms())


def position(db: Database, channel: str, owner: str) -> int | None:
    """How far the channel was read for this owner; None where it never was."""
    row = db.one("SELECT position FROM cursor WHERE channel = ? AND owner = ?", (channel, owner))
    return int(row[0]) if row else None


def positions(db: Database) -> list[Reading]:
    """How far each channel was read, the owner that was read last at the end."""
    return [Reading(*row) for row in db.rows("SELECT channel, owner, position FROM cursor ORDER BY read_at")]


def units(text: str) -> int:
    """The length of a text in UTF-16 units, as Telegram counts."""
    return len(text) + sum(character > "\uffff" for character in text)


def _advance(db: Database, reading: Reading | None, now: int) -> None:
    if reading is None:
        return
    sql = (
        "INSERT INTO cursor (channel, owner, position, read_at) VALUES (?, ?, ?, ?) ON CONFLICT (channel, owner) "
        "DO UPDATE SET position = excluded.position, read_at = excluded.read_at"
    )
    db.execute(sql, (reading.channel, reading.owner, reading.position, now))


def joined(pieces: Sequence[str]) -> str:
    """The pieces of a split text as one: a full piece was cut in the middle of its line, a shorter one at its end."""
    whole = pieces[0]
    for before, piece in pairwise(pieces):
        whole += piece if units(before) >= FULL_UNITS else f"\n{piece}"
    return whole
