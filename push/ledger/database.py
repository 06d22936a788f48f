"""The connection to push.db: WAL, `synchronous=FULL`, every write `BEGIN IMMEDIATE` behind the writer lock.

Owns opening, migrating, reading and writing; does not own what any table means.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import peewee

from push.errors import ConfigError, DependencyError, PushError, TemporaryError
from push.ledger import engine
from push.ledger.schema import APPLICATION_ID, MIGRATIONS, VERSION
from push.locks import WriterLock
from push.paths import open_private

_BUSY_SECONDS = 10.0
_MOMENT_MS = 100
_PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "cache_size": -2000,
    "journal_size_limit": 64 * 1024 * 1024,
    "secure_delete": 1,  # every write leaves an old copy of its row behind: what is erased later must be gone there too
    "fullfsync": 1,  # macOS: fsync alone does not flush the drive; elsewhere a no-op
}

Row = tuple[Any, ...]


class Database:
    """push.db. One connection per thread, kept open; safe to use from every thread of a process, never over a fork."""

    def __init__(self, path: Path, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._peewee = engine.peewee_database(path, _PRAGMAS, busy_seconds)
        self._writer = WriterLock(path.with_name(path.name + ".writer"))
        self._file: tuple[int, int] | None = None

    @classmethod
    def open(cls, path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> Database:
        """Open and migrate, creating the file (0600) where there is none. Others' locks are waited for `busy_seconds`.

        Raises DependencyError when the schema is newer than this version knows, ConfigError when it is another
        program's, TemporaryError when the file cannot be opened, is locked for long or is not a database.
        """
        try:
            with suppress(FileExistsError):  # closing a descriptor of an open database would drop SQLite's own locks
                os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            database = cls(path, busy_seconds)
            database._migrate()
            database._file = _identity(path)
        except (peewee.DatabaseError, OSError) as exc:
            raise unavailable(path, exc) from exc
        return database

    @classmethod
    def open_existing(cls, path: Path, *, busy_seconds: float = _BUSY_SECONDS) -> Database | None:
        """As `open`, but None where there is no file yet: for commands that only look."""
        return cls.open(path, busy_seconds=busy_seconds) if path.exists() else None

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one reading statement outside a transaction of ours and return all its rows."""
        with self._translated():
            return list(self._peewee.execute_sql(sql, tuple(parameters)).fetchall())

    def one(self, sql: str, parameters: Sequence[object] = ()) -> Row | None:
        """The first row, or None."""
        with self._translated():
            row: Row | None = self._peewee.execute_sql(sql, tuple(parameters)).fetchone()
            return row

    def each(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """As `rows`, one row at a time: for more than fits into memory. Inside `snapshot`."""
        with self._translated():
            yield from self._peewee.execute_sql(sql, tuple(parameters))

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one writing statement inside `write`; returns how many rows it changed."""
        return int(self._peewee.execute_sql(sql, tuple(parameters)).rowcount)

    def insert(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one INSERT inside `write`; returns the row's id."""
        return int(self._peewee.execute_sql(sql, tuple(parameters)).lastrowid)

    @contextmanager
    def write(self) -> Iterator[None]:
        """One durable transaction. Build everything before entering: others wait. Not to be nested.

        Raises TemporaryError also where the file was deleted or replaced: what is written to it would be lost.
        """
        with self._translated(), self._writer.held(), self._peewee.atomic("IMMEDIATE"):
            if self._file is not None and _identity(self.path) != self._file:
                raise TemporaryError(
                    f"{self.path} was deleted or replaced while Push was running",
                    why="what was written to it now would be lost",
                    hint="push doctor",
                    code="ledger_replaced",
                )
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One consistent, short read: every statement inside sees the same rows."""
        with self._translated(), self._peewee.atomic("DEFERRED"):
            yield

    @property
    def used_bytes(self) -> int:
        """How much of the file is in use."""
        size, pages, free = (self.one(f"PRAGMA {name}") for name in ("page_size", "page_count", "freelist_count"))
        assert size
        assert pages
        assert free
        return int(size[0] * (pages[0] - free[0]))

    def empty_wal(self) -> bool:
        """Move the WAL into the file and cut it to nothing; others wait a moment. False where a reader prevents it."""
        with self._translated():
            self.rows("PRAGMA wal_checkpoint(PASSIVE)")  # most of the work, while others write
            with self._writer.held():
                patience = self.one("PRAGMA busy_timeout")
                self.rows(f"PRAGMA busy_timeout = {_MOMENT_MS}")
                try:
                    found = self.one("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    self.rows(f"PRAGMA busy_timeout = {patience[0] if patience else 0}")
        return found is not None and found[0] == 0

    def rewrite(self) -> None:
        """Write the whole file anew, without free pages and what is left in them. Others wait until it is done."""
        with self._translated(), self._writer.held():
            self._peewee.execute_sql("VACUUM")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Trouble with the file (locked, full, damaged) as an error that a person understands."""
        try:
            yield
        except peewee.IntegrityError:
            raise
        except peewee.DatabaseError as exc:
            raise unavailable(self.path, exc) from exc
        except engine.errors() as exc:  # what comes up while fetching, which peewee does not wrap
            raise unavailable(self.path, exc) from exc

    def close_thread(self) -> None:
        """Close the calling thread's connection."""
        if not self._peewee.is_closed():
            self._peewee.close()

    def close(self) -> None:
        """Close the calling thread's connection and the writer lock."""
        self.close_thread()
        self._writer.close()

    def _migrate(self) -> None:
        version = self._version()
        if version > VERSION:
            raise DependencyError(
                f"{self.path} has schema {version}; this version of Push knows {VERSION}",
                why="a newer Push has written it, and only that or a newer one can use it",
                hint=f"git -C {shlex.quote(str(Path(__file__).parents[2]))} pull",
                code="schema_newer",
            )
        if self.one("SELECT 1 FROM sqlite_master") and self.one("PRAGMA application_id") != (APPLICATION_ID,):
            raise ConfigError(
                f"{self.path} is not a ledger of this Push",
                why="another program, or an earlier implementation, keeps its own tables there; they are left alone",
                hint=f"mv {shlex.quote(str(self.path))} {shlex.quote(str(self.path))}.foreign",
                code="foreign_database",
            )
        if version == VERSION:
            return
        if version == 0 and self.one("SELECT 1 FROM sqlite_master"):
            raise TemporaryError(
                f"{self.path} has lost its schema's version",
                why="it is damaged",
                hint="push backup restore --help",
                code="ledger_damaged",
            )
        with self.write():
            for number in range(self._version(), VERSION):
                for statement in MIGRATIONS[number]:
                    self.execute(statement)
            self.execute(f"PRAGMA user_version = {VERSION}")

    def _version(self) -> int:
        row = self.one("PRAGMA user_version")
        return int(row[0]) if row else 0


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def unavailable(path: Path, exc: BaseException) -> PushError:
    """The error that tells a person why push.db cannot be used now. Holds no SQL, and nothing of the library's text."""
    kind = _KINDS.get(exc.errno or 0) if isinstance(exc, OSError) else _KINDS.get(-engine.result_code(exc))
    why, hint, code = _TROUBLE.get(kind or "", (type(exc).__name__, "push doctor", "ledger_unavailable"))
    quoted, folder = shlex.quote(str(path)), shlex.quote(str(path.parent))
    return TemporaryError(f"cannot use {path}", why=why, hint=hint.format(path=quoted, folder=folder), code=code)


#: What the trouble is: of `errno`, or, negative, of SQLite's result code.
_KINDS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, -13), "full"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM, -3, -8, -14), "closed"),
    **dict.fromkeys((-11, -26), "damaged"),
    **dict.fromkeys((-5, -6, -15), "locked"),
    **dict.fromkeys((errno.EIO, -10), "failing"),
}
_TROUBLE = {
    "locked": (
        "another program holds it",
        "push doctor",
        "ledger_locked",
    ),
    "full": ("the disk is full", "push doctor --fix", "disk_full"),
    "closed": ("it cannot be opened for writing", "chmod 600 {path}; chmod 700 {folder}", "ledger_not_writable"),
    "damaged": ("it is not a SQLite database, or is damaged", "push backup restore --help", "ledger_damaged"),
    "failing": ("the disk reports an error, or is full", "df -h {folder}", "disk_failing"),
}
