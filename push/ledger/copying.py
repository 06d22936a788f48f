"""A copy of push.db for a backup: one snapshot, taken while others write. Does not own what is done with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from push.ledger import engine
from push.ledger.database import Database
from push.paths import open_private


@dataclass(frozen=True, slots=True)
class Copied:
    """What is in a copy."""

    schema: int
    turns: int
    deliveries: int


def copy(db: Database, target: Path) -> Copied:
    """Write everything that is committed now into a new file (0600), and look at what is in it.

    `VACUUM INTO` reads one snapshot and locks nobody out; what was erased is in no page of the copy. Nothing is
    synchronised to the disk. Raises TemporaryError where push.db cannot be read, or the copy cannot be written.
    """
    os.close(open_private(target, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    try:
        db.rows("VACUUM INTO ?", (str(target),))
    finally:
        db.close_thread()
    copied = engine.peewee_database(target, {}, 10)
    try:
        numbers = [
            int(copied.execute_sql(sql).fetchone()[0])
            for sql in ("PRAGMA user_version", "SELECT count(*) FROM turn", "SELECT count(*) FROM outbound")
        ]
    finally:
        copied.close()
    return Copied(*numbers)
