"""The SQLite in use, chosen in one place: cysqlite's where it is installed, else the standard library's.

SQLite before 3.51.3 can lose committed pages when two connections checkpoint at once (ADR 0009), and the standard
library's is as old as the system. One build serves push.db and queue.db. Does not own what is in them.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peewee import SqliteDatabase

CYSQLITE = importlib.util.find_spec("cysqlite") is not None
_CODE = re.compile(r"\(code=(\d+), ext=\d+\)\Z")  # where cysqlite says it; the standard library has an attribute
_FIXED_IN = (3, 51, 3)
_FIXED_BACKPORTS = ((3, 50, 7), (3, 44, 6))


def peewee_database(path: Path, pragmas: Mapping[str, Any], timeout_seconds: float) -> SqliteDatabase:
    """A peewee database on `path` (not opened yet), with thread-local connections."""
    if CYSQLITE:
        from playhouse.cysqlite_ext import CySqliteDatabase

        database: SqliteDatabase = CySqliteDatabase(
            str(path), rank_functions=False, pragmas=dict(pragmas), timeout=timeout_seconds
        )
        return database
    return SqliteDatabase(str(path), pragmas=dict(pragmas), timeout=timeout_seconds)


def version() -> tuple[int, int, int]:
    """The version of the SQLite library in use."""
    if CYSQLITE:
        import cysqlite

        found = cysqlite.sqlite_version_info
    else:
        import sqlite3

        found = sqlite3.sqlite_version_info
    return (int(found[0]), int(found[1]), int(found[2]))


def has_wal_reset_fault(found: tuple[int, int, int]) -> bool:
    """Whether this SQLite can corrupt a WAL database that several connections checkpoint."""
    if found >= _FIXED_IN:
        return False
    return not any(found[:2] == fixed[:2] and found >= fixed for fixed in _FIXED_BACKPORTS)


def result_code(exc: BaseException | None) -> int:
    """SQLite's primary result code of an error of either library, wrapped by peewee or not; 0 where it has none.

    A full disk ends the transaction by itself, and the rollback after it complains (code 1) that there is none: what
    led to that counts.
    """
    code = 0
    while exc is not None and code <= 1:
        found = _CODE.search(str(exc))
        code = (getattr(exc, "sqlite_errorcode", None) or (int(found[1]) if found else code)) & 0xFF
        exc = exc.__cause__ or exc.__context__
    return code


def errors() -> tuple[type[Exception], ...]:
    """What the library in use raises for trouble with a file (for queue.db, which peewee does not wrap)."""
    if CYSQLITE:
        import cysqlite

        return (cysqlite.DatabaseError,)
    import sqlite3

    return (sqlite3.DatabaseError,)
