"""Roles: which processes of a home live, and what their loops do. A role is alive exactly while its file is locked.

`poll` and `scheduler` are single, consumers may be several (slots). Holding a role keeps a small JSON file current;
it is read by `push status` and never trusted for signalling anybody.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from push import clock
from push.errors import ConflictError
from push.locks import FileLock, is_held

CONSUMER_SLOTS = 16
SINGLE = ("poll", "scheduler")
#: The loop in which a process says how it stands to its configuration, in the first of its roles.
CONFIG: Final = "config"
#: A channel that was not read for so long is deaf: status says so, and the owner is told elsewhere.
DEAF_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Reading:
    """How a process that can reload stands to its configuration.

    `begun` and `ended` count how often it began to read it, and was through with what followed, its start included.
    The settings in effect were read at `read_at` (milliseconds since 1970); `refused`, `why` and `hint` tell why
    newer ones are not in effect, "" where nothing newer was read.
    """

    begun: int
    ended: int
    read_at: int
    refused: str = ""
    why: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a role. Instants are milliseconds since 1970; `loops` maps a loop to (last beat, what it does)."""

    role: str
    pid: int
    command: str
    started_at: int
    loops: dict[str, tuple[int, str]]
    reading: Reading | None = None


class Role:
    """A role that this process holds until `close`."""

    def __init__(self, name: str, command: str, lock: FileLock, reading: Reading | None = None) -> None:
        self.name = name
        self._lock = lock
        self._mutex = threading.Lock()
        self._content: dict[str, Any] = {
            "pid": os.getpid(),
            "command": command,
            "started_at": clock.now_ms(),
            "loops": {},
        }
        if reading is not None:
            self._content["reading"] = asdict(reading)
        self._write()

    def beat(self, loop: str, note: str, *others: str) -> None:
        """Say that a loop, and `others` with it, is alive, and what it does or why it sleeps.

        All of it is seen at once. A full disk leaves it unsaid.
        """
        with self._mutex, suppress(OSError):
            self._content["loops"] |= dict.fromkeys((loop, *others), (clock.now_ms(), note))
            self._write()

    def tell(self, reading: Reading, note: str) -> None:
        """Say how the process stands to its configuration. A full disk leaves it unsaid."""
        with self._mutex, suppress(OSError):
            self._content["reading"] = asdict(reading)
            self._content["loops"][CONFIG] = (clock.now_ms(), note)
            self._write()

    def forget(self, *kept: str) -> None:
        """Of the loops only those named, and the one of the configuration, are still there."""
        with self._mutex, suppress(OSError):
            loops = self._content["loops"]
            self._content["loops"] = {name: loops[name] for name in (CONFIG, *kept) if name in loops}
            self._write()

    def _write(self) -> None:
        self._lock.write(json.dumps(self._content))

    def close(self) -> None:
        """Give the role up."""
        with self._mutex:
            self._lock.unlock()


def take(run_dir: Path, name: str, command: str, reading: Reading | None = None) -> Role:
    """Take a single role; `reading` is for a process that can reload. Raises ConflictError naming who holds it."""
    lock = FileLock.take_role(_path(run_dir, name))
    if lock is None:
        found = _read(run_dir, name)
        who = f"`{found.command}` (process {found.pid}, since {clock.iso(found.started_at)})" if found else "a process"
        raise ConflictError(
            f"{who} runs already in this home",
            why=f"one home has one {name}: two would do the same twice",
            hint="push status",
            code="role_taken",
        )
    return Role(name, command, lock, reading)


def take_consumer(run_dir: Path, command: str, reading: Reading | None = None) -> Role:
    """Take a free consumer slot. Raises ConflictError when all are taken."""
    for slot in range(CONSUMER_SLOTS):
        lock = FileLock.take(_path(run_dir, f"consumer-{slot}"))
        if lock is not None:
            return Role(f"consumer-{slot}", command, lock, reading)
    raise ConflictError(
        f"{CONSUMER_SLOTS} consumers run already",
        why="more of one home would not help",
        hint="push status",
        code="role_taken",
    )


def living(run_dir: Path) -> list[Holder]:
    """Every role that is held now."""
    names = (*SINGLE, *(f"consumer-{slot}" for slot in range(CONSUMER_SLOTS)))
    held = [_read(run_dir, name) for name in names if is_held(_path(run_dir, name))]
    return [holder for holder in held if holder is not None]


def consumer_lives(run_dir: Path) -> bool:
    """Whether any consumer of this home lives."""
    return any(is_held(_path(run_dir, f"consumer-{slot}")) for slot in range(CONSUMER_SLOTS))


def _path(run_dir: Path, name: str) -> Path:
    return run_dir / f"{name}.role"


def _read(run_dir: Path, name: str) -> Holder | None:
    try:
        raw = json.loads(_path(run_dir, name).read_text())
        loops = {loop: (int(at), str(note)) for loop, (at, note) in raw["loops"].items()}
        reading = Reading(**raw["reading"]) if "reading" in raw else None
        return Holder(name, int(raw["pid"]), str(raw["command"]), int(raw["started_at"]), loops, reading)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # being written at this very moment, or by another version
