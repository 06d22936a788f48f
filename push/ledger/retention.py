"""Erasing texts that were kept as long as their owner wants: of messages, answers, and updates that were rejected.

Owns what goes (texts, and what an agent printed in a failure) and what stays (ids, states, histories, receipts, usage);
does not own when (`push.tasks.retention`). An event's id outlives its text, so that it is never answered again. What is
still listed (`push retries list`), or still to be answered or delivered, is kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from push import clock
from push.ledger.database import Database
from push.ledger.schema import in_list

#: States in which an answer is over, and no longer listed.
_OVER = in_list(("delivered", "dropped"))
#: Messages, or answers, of one transaction: others wait meanwhile.
BATCH: Final = 200

_TURNS = (
    "SELECT finished_at, id FROM turn INDEXED BY turn_kept WHERE erased_at IS NULL AND finished_at IS NOT NULL "
    "AND finished_at < ? AND (finished_at, id) > (?, ?) AND state <> 'merged' AND held_at IS NULL "
    "AND (state <> 'failed' OR dismissed_at IS NOT NULL) "
    f"AND NOT EXISTS (SELECT 1 FROM outbound o WHERE o.turn_id = turn.id AND o.state NOT IN {_OVER}) "
    f"ORDER BY finished_at, id LIMIT {BATCH}"
)
_DELIVERIES = (
    "SELECT finished_at, id FROM outbound INDEXED BY outbound_kept WHERE erased_at IS NULL "
    "AND finished_at IS NOT NULL AND finished_at < ? AND (finished_at, id) > (?, ?) AND held_at IS NULL "
    f"AND state IN {_OVER} AND (state = 'dropped' OR repeat = 0 OR dismissed_at IS NOT NULL) "
    f"ORDER BY finished_at, id LIMIT {BATCH}"
)
_REJECTED = (
    "SELECT rejected_at, id FROM rejected WHERE dismissed_at IS NOT NULL AND raw <> '' "
    f"AND rejected_at < ? AND (rejected_at, id) > (?, ?) ORDER BY rejected_at, id LIMIT {BATCH}"
)
_OLDEST = (
    "SELECT queued_at FROM turn INDEXED BY turn_kept WHERE erased_at IS NULL AND finished_at IS NOT NULL "
    "ORDER BY finished_at LIMIT 1"
)
_PIECES = "(id = ? OR merged_into = ?)"


@dataclass(frozen=True, slots=True)
class Kept:
    """How many messages have their texts, the oldest of them, and how many have not, since the last time of erasing.

    Instants are milliseconds since 1970.
    """

    messages: int
    since: int | None
    erased: int
    erased_at: int | None


def erase(db: Database, before: int) -> Iterator[tuple[str, int]]:
    """Erase what ended before an instant (milliseconds since 1970), the oldest first.

    After each transaction of at most BATCH rows it tells (what it erased, how many): stop asking, and it has stopped.
    """
    sorts: tuple[tuple[str, str, Callable[[Database, int, int], int]], ...] = (
        ("messages", _TURNS, _erase_turn),
        ("answers", _DELIVERIES, _erase_delivery),
        ("rejected", _REJECTED, _erase_rejected),
    )
    for name, query, act in sorts:
        last = (0, 0)
        while found := db.rows(query, (before, *last)):
            last = found[-1]
            now = clock.now_ms()
            with db.write():
                count = sum(act(db, int(number), now) for _, number in found)
                db.execute(_MILESTONE, ("erased", now, count if name == "messages" else 0))
            yield name, count


_MILESTONE = (
    "INSERT INTO milestone (name, at, count) VALUES (?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET at = excluded.at, count = count + excluded.count"
)


def _erase_turn(db: Database, number: int, now: int) -> int:
    """The pieces of a pasted text go with it."""
    both = (number, number)
    db.execute(f"UPDATE revision SET text = NULL WHERE turn_id IN (SELECT id FROM turn WHERE {_PIECES})", both)
    sql = f"UPDATE turn SET text = NULL, context = NULL, detail = NULL, erased_at = ? WHERE {_PIECES}"
    return db.execute(f"{sql} AND erased_at IS NULL", (now, *both))


def _erase_delivery(db: Database, number: int, now: int) -> int:
    db.execute("UPDATE part SET text = '', entities = NULL WHERE outbound_id = ?", (number,))
    return db.execute("UPDATE outbound SET source = NULL, erased_at = ? WHERE id = ?", (now, number))


def _erase_rejected(db: Database, number: int, _now: int) -> int:
    return db.execute("UPDATE rejected SET raw = '' WHERE id = ?", (number,))


def kept(db: Database) -> Kept:
    """What has its text, without counting it: ids are given without gaps, and what was erased is counted then."""
    given = db.one("SELECT seq FROM sqlite_sequence WHERE name = 'turn'")
    oldest = db.one(_OLDEST)
    erased = db.one("SELECT at, count FROM milestone WHERE name = 'erased'") or (None, 0)
    messages = (int(given[0]) if given else 0) - int(erased[1])
    return Kept(messages, int(oldest[0]) if oldest else None, int(erased[1]), erased[0])


def wants_compacting(db: Database) -> bool:
    """Whether something was erased since the file was last written anew.

    SQLite overwrites what is erased, but not every copy that it made of a row when it moved it to another page.
    """
    erased = db.one("SELECT at FROM milestone WHERE name = 'erased'")
    return erased is not None and int(erased[0]) >= compacted_at(db)


def compact(db: Database) -> None:
    """Write the file anew without what was erased. Others wait: about a second for 150 MB that remain."""
    now = clock.now_ms()
    db.rewrite()
    with db.write():
        db.execute("DELETE FROM milestone WHERE name = 'compacted'")
        db.execute(_MILESTONE, ("compacted", now, 0))


def compacted_at(db: Database) -> int:
    """When the file was last written anew; 0 where it never was, or the clock was ahead then: nobody knows when."""
    row = db.one("SELECT at FROM milestone WHERE name = 'compacted'")
    return int(row[0]) if row and row[0] <= clock.now_ms() else 0
