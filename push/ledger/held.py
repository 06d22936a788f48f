"""Held rows: what a restored copy leaves alone until a person says otherwise (`push retries now`).

The original may have answered, or sent, whatever was open in the copy, and every message that was written before the
copy was restored. A held turn is `queued` with `held_at`; a held delivery is `unknown` with `held_at`, so that nothing
that sends ever meets it. Owns holding and releasing; does not own the backup (`push.backup`), nor giving up a held
row, which is done as with others (`push.ledger.retries`, `push.ledger.turns`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from push import clock
from push.ledger.database import Database
from push.ledger.moves import move
from push.ledger.schema import OUTBOUND_OPEN, TURN_OPEN
from push.model.machines import OUTBOUND, TURN, Actor

#: Why a row is held, and the milestone since which the copy is one.
RESTORED: Final = "restored"
_RELEASED = "released"
_CHUNK = 100  # rows of one transaction: others wait meanwhile

_OPEN_TURNS = f"SELECT id, state, interruptions FROM turn WHERE state IN {TURN_OPEN} AND held_at IS NULL ORDER BY id"
_OPEN_DELIVERIES = f"SELECT id, state, attempt FROM outbound WHERE state IN {OUTBOUND_OPEN} ORDER BY id"
_HELD = (
    ("turn", "SELECT id FROM turn INDEXED BY turn_held WHERE held_at IS NOT NULL ORDER BY id"),
    ("delivery", "SELECT id FROM outbound INDEXED BY outbound_held WHERE held_at IS NOT NULL ORDER BY id"),
)
_COUNT = (
    "SELECT (SELECT count(*) FROM turn INDEXED BY turn_held WHERE held_at IS NOT NULL), "
    "(SELECT count(*) FROM outbound INDEXED BY outbound_held WHERE held_at IS NOT NULL)"
)
_WAS_HELD = (  # for a home that was never restored, a look at a table of a few rows
    "SELECT 1 FROM milestone WHERE name = 'restored' AND EXISTS (SELECT 1 FROM transition "
    "WHERE machine = 'turn' AND row_id = ? AND source = 'queued' AND target = 'queued')"
)
_EVERY_PART = "UPDATE part SET repeats = repeats + 1 WHERE outbound_id = ? AND delivered_at IS NULL"


@dataclass(frozen=True, slots=True)
class Held:
    """How many rows are held, of each sort."""

    turns: int = 0
    deliveries: int = 0

    @property
    def rows(self) -> int:
        """All of them."""
        return self.turns + self.deliveries


def count(db: Database) -> Held:
    """What is held now."""
    row = db.one(_COUNT)
    assert row is not None
    return Held(*row)


def hold_everything(db: Database) -> Held:
    """Hold all that is open, in a copy that nobody works on yet, and remember since when it is a copy.

    A running turn was interrupted; what was sent, or not yet, may have been sent by the original meanwhile.
    Returns what is held then.
    """
    now = clock.now_ms()
    with db.write():
        for turn, state, interruptions in db.rows(_OPEN_TURNS):
            if state == "running":
                columns: dict[str, object] = {"interruptions": interruptions + 1, "reason": RESTORED}
                move(db, TURN, turn, ("running", "interrupted", "recovery"), **columns)
            if state in ("running", "interrupted"):
                move(db, TURN, turn, ("interrupted", "queued", "recovery"))
            elif state == "waiting":
                move(db, TURN, turn, ("waiting", "queued", "operator"))
            hold(db, turn, "recovery")
        for delivery, state, attempt in db.rows(_OPEN_DELIVERIES):
            counted = attempt + (state == "sending")  # as for every outcome that nobody knows
            columns = {"reason": RESTORED, "attempt": counted, "not_before": None, "held_at": now}
            move(db, OUTBOUND, delivery, (state, "unknown", "recovery"), **columns)
        db.execute("INSERT OR REPLACE INTO milestone (name, at) VALUES (?, ?)", (RESTORED, now))
    return count(db)


def hold(db: Database, turn_id: int, by: Actor) -> None:
    """Leave a queued turn alone from now on. Inside `db.write()`."""
    columns: dict[str, object] = {"held_at": clock.now_ms(), "not_before": None, "reason": RESTORED}
    move(db, TURN, turn_id, ("queued", "queued", by), **columns)


def is_of_the_original(db: Database, written_ms: int) -> bool:
    """Whether a message that was written at an instant (milliseconds since 1970) may be the original's to answer."""
    row = db.one("SELECT at FROM milestone WHERE name = 'restored'")
    return row is not None and written_ms < row[0]


def mark_reply(db: Database, turn_id: int, outbound_id: int) -> None:
    """The reply to a message that was held is a possible repeat: the original may have sent one. Inside `db.write()`.

    `pending -> unknown -> waiting`, as for any answer that may have been sent.
    """
    if db.one(_WAS_HELD, (turn_id,)) is None:
        return
    db.execute("UPDATE part SET repeats = 1 WHERE outbound_id = ? AND seq = 0", (outbound_id,))
    move(db, OUTBOUND, outbound_id, ("pending", "unknown", "recovery"), reason=RESTORED)
    move(db, OUTBOUND, outbound_id, ("unknown", "waiting", "sender"), reason=RESTORED, repeat=1)


def release_turn(db: Database, turn_id: int) -> bool:
    """Let a held turn be worked on, before what waits in its conversation; whether it was held."""
    with db.write():
        return _release_turn(db, turn_id)


def release_everything(db: Database, watch: Callable[[Held], None]) -> Held:
    """Release all held rows in the order in which they came; returns how many. `watch` hears how far it is."""
    done = {"turn": 0, "delivery": 0}
    for kind, sql in _HELD:
        rows = [int(row[0]) for row in db.rows(sql)]
        for start in range(0, len(rows), _CHUNK):
            with db.write():
                release = _release_turn if kind == "turn" else _release_delivery
                done[kind] += sum(release(db, row) for row in rows[start : start + _CHUNK])
            watch(Held(done["turn"], done["delivery"]))
    return Held(done["turn"], done["delivery"])


def _release_turn(db: Database, turn_id: int) -> bool:
    if db.one("SELECT 1 FROM turn WHERE id = ? AND held_at IS NOT NULL", (turn_id,)) is None:
        return False
    move(db, TURN, turn_id, ("queued", "queued", "operator"), held_at=None, reason=_RELEASED)
    return True


def _release_delivery(db: Database, delivery_id: int) -> bool:
    if db.one("SELECT 1 FROM outbound WHERE id = ? AND held_at IS NOT NULL", (delivery_id,)) is None:
        return False
    resend(db, delivery_id)
    return True


def resend(db: Database, delivery_id: int) -> None:
    """`unknown -> waiting` of a held delivery, inside `db.write()`: each part that is left is a possible repeat."""
    newest = db.one("SELECT max(id) FROM outbound")
    columns: dict[str, object] = {"goes_after": newest[0] if newest else None, "finished_at": None, "repeat": 1}
    columns |= {"requeued_at": clock.now_ms(), "attempt": 0, "delays": 0, "not_before": None, "held_at": None}
    db.execute(_EVERY_PART, (delivery_id,))
    move(db, OUTBOUND, delivery_id, ("unknown", "waiting", "operator"), reason="sent_again", **columns)
