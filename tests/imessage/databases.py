"""Files as Messages keeps them, with the few columns that Push cannot do without, or with those of a schema.

Owns making and changing them, also from another process; does not own what is read from them.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

#: No defaults and no constraints: whatever Messages might leave out can be NULL.
MINIMAL = """
CREATE TABLE message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, text TEXT, attributedBody BLOB,
  handle_id INTEGER, service TEXT, date INTEGER, is_from_me INTEGER, item_type INTEGER,
  associated_message_type INTEGER);
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT, chat_identifier TEXT);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
CREATE INDEX chat_message_join_idx_message_id_only ON chat_message_join(message_id);
"""

FRIEND = "+15550000010"
DATE = 811_692_807_123_456_789  # nanoseconds since 2001: in September 2026

_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint=0")
for line in sys.stdin:
    connection.execute(line)
    print("done", flush=True)
"""


def insert(connection: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> None:
    names = ", ".join(values)
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))


def make(path: Path, schema: str = MINIMAL, rows: int = 0) -> Path:
    """A chat.db in WAL mode with one friend, one chat with them, and this many messages of theirs in it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(schema)
        with connection:
            friend = {"ROWID": 1, "id": FRIEND}
            if "service TEXT NOT NULL" in schema:
                friend["service"] = "iMessage"
            insert(connection, "handle", friend)
            insert(connection, "chat", {"ROWID": 1, "guid": f"any;-;{FRIEND}", "chat_identifier": FRIEND})
            message = "INSERT INTO message (guid, text, handle_id, service, date, is_from_me, item_type) VALUES "
            said = ((f"G{n}", f"text {n}", 1, "iMessage", DATE + n, 0, 0) for n in range(1, rows + 1))
            connection.executemany(f"{message} (?, ?, ?, ?, ?, ?, ?)", said)
            joins = "INSERT INTO chat_message_join (chat_id, message_id) VALUES (1, ?)"
            connection.executemany(joins, ((n,) for n in range(1, rows + 1)))
    return path


def change(path: Path, *statements: str) -> None:
    """Commit these statements, one by one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


class Writer:
    """Another process with the file open for writing, as Messages has it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def do(self, statement: str) -> None:
        """Returns when the statement has been executed: committed, unless it stands in a transaction."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{statement}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    command = [sys.executable, "-c", _WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process)
