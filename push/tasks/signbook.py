"""What was shown in a conversation lately, in the file of the lock that whoever shows something holds.

So that several bells, processes and restarts do not show a sign twice; losing it costs no more than that. Owns no
message: those that must be removed again are in the ledger (`push.ledger.progress`).
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from push import clock
from push.locks import FileLock

_MOST_BYTES = 4096


@dataclass(slots=True)
class Memory:
    """Instants are milliseconds since 1970; a `_misses` counts tries in a row that did not succeed.

    `typed_for` and `hushed` are turns: the one that typing was shown for last, and one whose progress is not shown.
    `shown` is the text of the progress message; `looked_at` is when it was last compared.
    """

    typed_at: int = 0
    typed_for: int = 0
    typing_misses: int = 0
    post_at: int = 0
    post_misses: int = 0
    hushed: int = 0
    shown: str = ""
    looked_at: int = 0
    ack_at: int = 0
    remove_at: int = 0
    remove_misses: int = 0


class Signbook:
    """A conversation's memory, held by one thread of all processes at a time."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock
        self._before = os.pread(lock.fd, _MOST_BYTES, 0)
        self.memory = _parsed(self._before)

    @classmethod
    def take(cls, path: Path) -> Signbook | None:
        """The book in this file; None while somebody else has it. Raises OSError."""
        lock = FileLock.take(path)
        return cls(lock) if lock is not None else None

    def close(self) -> None:
        """Write down what changed, and let others have it."""
        try:
            text = json.dumps(asdict(self.memory))
            if text.encode() != self._before:
                self._lock.write(text)
        finally:
            self._lock.unlock()


def _parsed(data: bytes) -> Memory:
    """What is written there; fresh where that is nothing, was cut by a crash, or is of another version or time."""
    fresh = Memory()
    try:
        raw = json.loads(data)
        if raw.keys() != asdict(fresh).keys() or any(type(raw[name]) is not type(getattr(fresh, name)) for name in raw):
            return fresh
    except (ValueError, AttributeError):
        return fresh
    memory = Memory(**raw)
    return fresh if max(memory.typed_at, memory.looked_at) > clock.now_ms() else memory  # the clock was set back
