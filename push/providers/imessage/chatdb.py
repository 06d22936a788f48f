"""Messages' chat.db: opened for reading only, one short snapshot at a time.

Owns the file, and what can be wrong with it; does not own its columns (`push.providers.imessage.columns`), what a row
means (`push.providers.imessage.rows`), nor the cursor.

Never `immutable=1`, which does not see the WAL, and never open for writing, which has stopped Messages. No snapshot
outlives a read: Messages could not empty its WAL, and we would go on seeing old rows.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import operator
import sqlite3
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from push.providers.imessage import columns
from push.providers.imessage.rows import Row

_T = TypeVar("_T")

_PRIMARY: Final = 0xFF  # the part of a result code that does not depend on the build

#: SQLite's primary result code -> what is wrong. Whatever else it says is `sqlite_<code>`.
_REASONS: Final = {
    sqlite3.SQLITE_ERROR: "schema",  # a table or column that was there is gone
    sqlite3.SQLITE_PERM: "no_permission",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_READONLY: "folder_not_writable",  # a WAL without its index, which cannot be made here
    sqlite3.SQLITE_IOERR: "io_error",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_CANTOPEN: "no_permission",  # that the file is there was seen before
    sqlite3.SQLITE_AUTH: "no_permission",
    sqlite3.SQLITE_NOTADB: "not_a_database",
}


@dataclass(frozen=True, slots=True)
class Unavailable:
    """chat.db cannot be read now; the next attempt opens it anew.

    `reason` is a stable code: no_permission (for Messages' own: Full Disk Access is missing), missing (also: nobody is
    signed in), locked, not_a_database, damaged, schema, folder_not_writable, io_error, replaced, sqlite_<code>.
    `detail` names the columns that are missing.
    """

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Which file it is: another one in its place has another."""

    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Version:
    """Two of one `ChatDb` are equal exactly where nobody committed anything in between."""

    file: FileIdentity
    opening: int
    commits: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Rows as they were at one moment, in the order of their ROWID.

    `again` are those that were asked for once more and still exist; `newest` is the highest ROWID of all, 0 for none.
    """

    version: Version
    rows: tuple[Row, ...]
    again: tuple[Row, ...]
    newest: int

    @property
    def is_cut(self) -> bool:
        """Whether there are rows behind the last one."""
        return bool(self.rows) and self.rows[-1].rowid < self.newest


@dataclass(frozen=True, slots=True)
class _Opened:
    connection: sqlite3.Connection
    file: FileIdentity
    statement: str  # with the source of the messages left out


class ChatDb:
    """chat.db at `path`. Used by one thread; nothing is opened before it is asked for. Never raises for the file.

    Somebody else's lock is waited for at most `patience` seconds.
    """

    def __init__(self, path: Path, patience: float = 1.0) -> None:
        self._path = path
        self._patience = patience
        self._open: _Opened | None = None
        self._openings = 0

    def version(self) -> Version | Unavailable:
        """The cheap test for anything new: compare it with that of the last snapshot."""
        return self._with_file(self._version)

    def read(self, after: int, limit: int, again: Sequence[int] = ()) -> Snapshot | Unavailable:
        """The first `limit` rows with a ROWID above `after`, and those of `again`, from one moment."""

        def work(opened: _Opened) -> Snapshot:
            # First the version: what is committed before the snapshot begins is then read twice, and never missed.
            version = self._version(opened)
            opened.connection.execute("BEGIN")
            try:
                newest = opened.connection.execute("SELECT MAX(ROWID) FROM message").fetchone()[0]
                rows = _rows(opened, "ROWID > ? ORDER BY ROWID LIMIT ?", (after, limit))
                wanted = (json.dumps(list(again)),)
                once_more = _rows(opened, "ROWID IN (SELECT value FROM json_each(?))", wanted) if again else ()
            finally:
                if opened.connection.in_transaction:  # some errors end it themselves
                    opened.connection.execute("ROLLBACK")
            return Snapshot(version, rows, once_more, newest or 0)

        return self._with_file(work)

    def close(self) -> None:
        """Close the file. Asking again opens it again."""
        if self._open is not None:
            self._open.connection.close()
            self._open = None

    def _with_file(self, work: Callable[[_Opened], _T]) -> _T | Unavailable:
        try:
            opened = self._opened()
            return opened if isinstance(opened, Unavailable) else work(opened)
        except sqlite3.Error as exc:
            self.close()
            code = getattr(exc, "sqlite_errorcode", None)
            if code is None:  # not the file's fault but ours
                raise
            return Unavailable(_REASONS.get(code & _PRIMARY, f"sqlite_{code & _PRIMARY}"))

    def _opened(self) -> _Opened | Unavailable:
        """The open file; where another one stands in its place now, that one."""
        file = _identity(self._path)
        if self._open is not None and self._open.file == file:
            return self._open
        self.close()
        if isinstance(file, Unavailable):
            return file
        opened = _open_file(self._path, file, self._patience)
        if isinstance(opened, _Opened):
            self._open = opened
            self._openings += 1
        return opened

    def _version(self, opened: _Opened) -> Version:
        commits = opened.connection.execute("PRAGMA data_version").fetchone()[0]
        return Version(opened.file, self._openings, commits)


def _identity(path: Path) -> FileIdentity | Unavailable:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Unavailable("missing")
    except PermissionError:
        return Unavailable("no_permission")
    except OSError:
        return Unavailable("io_error")
    if not stat.S_ISREG(found.st_mode):  # of a pipe SQLite would wait for a writer
        return Unavailable("not_a_database")
    return FileIdentity(found.st_dev, found.st_ino)


def _open_file(path: Path, file: FileIdentity, patience: float) -> _Opened | Unavailable:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    with contextlib.ExitStack() as unless_it_is_good:
        unless_it_is_good.callback(connection.close)
        connection.text_factory = _decoded
        connection.execute("PRAGMA query_only=1")
        there = {table: _columns(connection, table) for table in columns.NEEDED}
        if missing := columns.missing(there):
            return Unavailable("schema", ", ".join(missing))
        if _identity(path) != file:  # put there between our look and the opening
            return Unavailable("replaced")
        unless_it_is_good.pop_all()
    return _Opened(connection, file, columns.statement(there))


def _decoded(text: bytes) -> str | bytes:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(name).lower() for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _rows(opened: _Opened, which: str, values: tuple[int | str, ...]) -> tuple[Row, ...]:
    found = opened.connection.execute(opened.statement.format(which), values).fetchall()
    return tuple(columns.row(list(lines)) for _, lines in itertools.groupby(found, key=operator.itemgetter(0)))
