"""Transitions: one guarded UPDATE and one history row each.

Owns that no row changes state but by its table; does not own when (`push.tasks`).
"""

from __future__ import annotations

from functools import lru_cache

from push import clock
from push.errors import ConflictError
from push.ledger.database import Database
from push.model.machines import MACHINES, Actor, Machine

_HISTORY = "INSERT INTO transition (machine, row_id, source, target, actor, at, reason) VALUES (?, ?, ?, ?, ?, ?, ?)"


class StaleRow(ConflictError):
    """The row is no longer in the state that the transition starts from: somebody else moved it."""

    code = "stale_row"


def born(db: Database, machine: Machine, row_id: int, state: str, by: Actor) -> None:
    """Record that a row came to be in `state`. Inside `db.write()`."""
    db.execute(_HISTORY, (machine.name, row_id, None, state, by, clock.now_ms(), None))


def move(db: Database, machine: Machine, row_id: int, edge: tuple[str, str, Actor], **columns: object) -> None:
    """Move row `row_id` along `edge` = (from, to, by), setting `columns` as well. Inside `db.write()`.

    A column `reason` goes into the history too. Raises ValueError for an edge that the table does not have, StaleRow
    when the row is not in `from`.
    """
    source, target, by = edge
    if not machine.allows(source, target, by):
        raise ValueError(f"{machine.name}: {by} may not move {source} to {target}")
    changed = db.execute(_statement(machine.name, source, target, tuple(columns)), (*columns.values(), row_id))
    if changed != 1:
        raise StaleRow(
            f"{machine.name} {row_id} is no longer {source}", why="somebody else moved it on", hint="push status"
        )
    db.execute(_HISTORY, (machine.name, row_id, source, target, by, clock.now_ms(), columns.get("reason")))


@lru_cache(maxsize=256)
def _statement(table: str, source: str, target: str, columns: tuple[str, ...]) -> str:
    assert table in MACHINES
    assignments = "".join(f", {column} = ?" for column in columns)
    return f"UPDATE {table} SET state = '{target}'{assignments} WHERE id = ? AND state = '{source}'"
