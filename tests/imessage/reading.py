"""chat.db as the tests read it: what must be there is there, or the test fails.

Owns opening and closing; does not own the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from push.providers.imessage.chatdb import ChatDb, Snapshot, Version


@contextmanager
def opened(path: Path) -> Iterator[ChatDb]:
    with closing(ChatDb(path, patience=0.05)) as db:
        yield db


def read(db: ChatDb, after: int = 0, limit: int = 100, again: tuple[int, ...] = ()) -> Snapshot:
    found = db.read(after, limit, again)
    assert isinstance(found, Snapshot), found
    return found


def version(db: ChatDb) -> Version:
    found = db.version()
    assert isinstance(found, Version), found
    return found
