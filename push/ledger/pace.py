"""Send budgets and pauses, kept in push.db so that every process and every restart respects them.

Owns the counting; does not own how fast a channel may be (`push.providers`). Instants are milliseconds since 1970.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from push import clock
from push.ledger.database import Database
from push.ledger.schema import in_list
from push.model.values import Pace

#: A pause that ends further away than this comes from a clock that was wrong.
MAX_PAUSE_MS = 24 * 3600 * 1000

#: The keys under which pauses stand that concern no chat: of reading, of the menu of commands, of answers to presses.
READING, MENU, PRESSES = "reading", "menu", "presses"
_NO_CHAT = in_list((READING, MENU, PRESSES))


@dataclass(frozen=True, slots=True)
class Pause:
    """A chat to which nothing is sent until `until`."""

    channel: str
    key: str
    until: int
    reason: str


def free_at(db: Database, channel: str, budgets: Sequence[Pace]) -> int:
    """When a send that draws from all of `budgets` is allowed: an instant not after now means at once."""
    now = clock.now_ms()
    found = now
    for budget in budgets:
        sent, paused_until = _row(db, channel, budget.key)
        if paused_until is not None and now < paused_until <= now + MAX_PAUSE_MS:
            found = max(found, paused_until)
        for count, seconds in budget.limits:
            if len(sent) >= count:
                free = sent[-count] + int(seconds * 1000)
                if free <= now + int(seconds * 1000):  # else the clock was set back
                    found = max(found, free)
    return found


def take(db: Database, channel: str, budgets: Sequence[Pace]) -> None:
    """Draw one send from each budget. Inside `db.write()`, after `free_at` allowed it there."""
    now = clock.now_ms()
    for budget in budgets:
        sent, _ = _row(db, channel, budget.key)
        kept = json.dumps([*sent, now][-max(count for count, _ in budget.limits) :])
        sql = (
            "INSERT INTO pace (channel, key, sent) VALUES (?, ?, ?) "
            "ON CONFLICT (channel, key) DO UPDATE SET sent = excluded.sent"
        )
        db.execute(sql, (channel, budget.key, kept))


def arrived(db: Database, channel: str, budget: Pace) -> None:
    """The newest send from a budget has just been answered: it counts from now. Inside `db.write()`.

    The service counts what arrives, and a send that opened its connection first arrives later than the next one.
    """
    sent, _ = _row(db, channel, budget.key)
    if sent:
        kept = json.dumps([*sent[:-1], clock.now_ms()])
        db.execute("UPDATE pace SET sent = ? WHERE channel = ? AND key = ?", (kept, channel, budget.key))


def try_take(db: Database, channel: str, budgets: Sequence[Pace]) -> bool:
    """Draw one send from each budget if that is allowed now; for what is better left out than sent late."""
    if free_at(db, channel, budgets) > clock.now_ms():
        return False
    with db.write():
        if free_at(db, channel, budgets) > clock.now_ms():
            return False
        take(db, channel, budgets)
    return True


def pause(db: Database, channel: str, key: str, seconds: float, reason: str) -> None:
    """Send nothing from this budget for `seconds`, a day at most; a longer pause that stands already is kept."""
    now = clock.now_ms()
    until = now + min(int(seconds * 1000), MAX_PAUSE_MS)
    sql = (
        "INSERT INTO pace (channel, key, paused_until, pause_reason) VALUES (?, ?, ?, ?) ON CONFLICT (channel, key) "
        "DO UPDATE SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason "
        "WHERE paused_until IS NULL OR paused_until < excluded.paused_until OR paused_until > ?"
    )
    with db.write():
        db.execute(sql, (channel, key, until, reason, now + MAX_PAUSE_MS))


def pauses(db: Database) -> list[Pause]:
    """Every pause of sending that stands now."""
    now = clock.now_ms()
    sql = (
        "SELECT channel, key, paused_until, pause_reason FROM pace "
        f"WHERE paused_until IS NOT NULL AND paused_until BETWEEN ? AND ? AND key NOT IN {_NO_CHAT} "
        "ORDER BY paused_until"
    )
    return [Pause(*row) for row in db.rows(sql, (now, now + MAX_PAUSE_MS))]


def _row(db: Database, channel: str, key: str) -> tuple[list[int], int | None]:
    row = db.one("SELECT sent, paused_until FROM pace WHERE channel = ? AND key = ?", (channel, key))
    return (json.loads(row[0]), row[1]) if row else ([], None)
