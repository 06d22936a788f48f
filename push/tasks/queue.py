"""The bells: keyed, blocking Huey storage on the disposable queue.db, and the lanes on it.

A bell says "look at this key"; ringing one that already waits is a no-op, and every bell is safe to lose and to
repeat. Does not own work: rows of push.db are the work (ADR 0001, 0003).
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from huey import Huey
from huey.consumer import Consumer
from huey.registry import Message
from huey.storage import CySqliteStorage, SqliteStorage

from push import clock
from push.ledger import engine
from push.locks import FileLock
from push.paths import open_private
from push.tasks import wake

_READ_TIMEOUT_SECONDS = 30.0
#: SQLite's result codes for a broken file, for trouble that a new file would not cure (locked, full), and for
#: missing permissions, which a file that was moved away gives too.
_BROKEN, _PASSING, _FORBIDDEN = frozenset({10, 11, 26}), frozenset({5, 6, 13}), frozenset({3, 8, 14})
_RING_ERRORS: tuple[type[Exception], ...] = (OSError, *engine.errors())
_FILE_ERRORS: tuple[type[Exception], ...] = (FileNotFoundError, *engine.errors())  # gone: another one renews it
_T = TypeVar("_T")

log = logging.getLogger(__name__)

_Base: Any = CySqliteStorage if engine.CYSQLITE else SqliteStorage


class BellStorage(_Base):
    """SQLite storage in which a waiting bell is unique, and readers block on a datagram socket.

    `synchronous=OFF`: the file may be deleted or damaged at any time; it is then made anew.
    """

    blocking = True
    ddl = [*SqliteStorage.ddl, "create unique index if not exists task_bell on task (queue, data)"]  # noqa: RUF012

    def __init__(self, name: str, run_dir: Path, filename: str) -> None:
        self.run_dir = run_dir
        self.listener: wake.Listener | None = None
        self._inode = 0
        self._renewals = 0
        self._renewing = threading.Lock()
        super().__init__(name, filename, fsync=False, cache_mb=1, create_tables=False)
        self._in_present_file(self.initialize_schema)

    def _create_connection(self) -> Any:
        self._inode = Path(self.filename).stat().st_ino
        return super()._create_connection()

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a bell unless the same one waits, and wake the lane's consumers."""
        sql = "insert or ignore into task (queue, data, priority) values (?, ?, ?)"
        values = (self.name, self.to_blob(data), priority or 0)
        self._in_present_file(lambda: self.sql(sql, values, commit=True))
        wake.ring(self.run_dir, self.name)

    def dequeue(self) -> bytes | None:
        """The next bell; waits up to 30 s for one."""
        take: Callable[[], bytes | None] = super().dequeue
        data = self._in_present_file(take)
        if data is None and self.listener is not None and self.listener.wait():
            data = self._in_present_file(take)
        if data is not None and self.listener is not None:
            self._wake_another(self.listener)
        return data

    def _wake_another(self, listener: wake.Listener) -> None:
        """A full socket drops wake-ups, so whoever got a bell wakes one more thread where others wait."""
        with suppress(*engine.errors()):
            if self.sql("select 1 from task where queue = ? limit 1", (self.name,), results=True):
                listener.ring_self()

    def _in_present_file(self, action: Callable[[], _T]) -> _T:
        """Run `action` on the file that is there now; a deleted, replaced or damaged one is made anew.

        One that is not provably broken is first only opened again, with all its tables.
        """
        if not self._is_present():
            self._renew(self._renewals, None)
        for is_first in (True, False):
            seen = self._renewals
            try:
                return action()
            except _FILE_ERRORS as exc:
                code = engine.result_code(exc)
                if code in _PASSING or (code in _FORBIDDEN and not is_first):
                    raise
                log.warning("queue.db cannot be used (SQLite says %d)", code)
                self._renew(seen, self._inode if code in _BROKEN or not is_first else None)
        return action()

    def _is_present(self) -> bool:
        try:
            found = Path(self.filename).stat().st_ino
        except FileNotFoundError:
            return False
        return self._conn is None or found == self._inode

    def _renew(self, seen: int, broken: int | None) -> None:
        """Open the file again, with all its tables; made anew where it is gone, or still the one of inode `broken`.

        One at a time, in all threads and processes: else one would delete what another has just made.
        """
        with self._renewing, FileLock.take(self.run_dir / "queue.lock", wait_seconds=5.0) or nullcontext():
            if self._renewals != seen:
                return
            self._renewals += 1
            self.close()
            path = Path(self.filename)
            if broken and path.exists() and path.stat().st_ino == broken:
                path.unlink()
            if not path.exists():
                for suffix in ("-wal", "-shm"):
                    Path(self.filename + suffix).unlink(missing_ok=True)
                os.close(open_private(path, os.O_RDWR | os.O_CREAT))
            with suppress(*_FILE_ERRORS):  # whatever is wrong, the next use tells
                self.initialize_schema()
        wake.ring(self.run_dir, "sweep")  # whatever bells were in the old file are rung again


class _BellSerializer:
    """A bell is its key in JSON: nothing that is read from queue.db is ever executed, as a pickle would be."""

    def __init__(self) -> None:
        self.task_name = ""

    def serialize(self, message: Message) -> bytes:
        return json.dumps(message.args[0]).encode()

    def deserialize(self, data: bytes) -> Message:
        key = json.loads(bytes(data))
        return Message(
            id=str(key), name=self.task_name, eta=None, retries=0, retry_delay=0, priority=0, args=(key,), kwargs={}
        )


class _Workers(Consumer):
    """Huey's worker threads without its main loop, scheduler and signal handlers, which are not ours to use."""

    def start(self) -> None:
        for _, thread in self.worker_threads:
            thread.start()


class Lane:
    """One Huey instance: bells of one kind, and, in a consumer, the threads that answer them."""

    def __init__(self, name: str, queue_db: Path, run_dir: Path, handler: Callable[[Any], None] | None = None) -> None:
        serializer = _BellSerializer()
        self.name = name
        self.huey = Huey(
            name, results=False, serializer=serializer, storage_class=BellStorage, run_dir=run_dir,
            filename=str(queue_db),
        )  # fmt: skip
        self._task = self.huey.task(name=name)(handler or _served_elsewhere)
        serializer.task_name = self.huey._registry.task_to_string(self._task.task_class)
        self._workers: _Workers | None = None
        self._count = 0

    def ring(self, key: int | str) -> None:
        """Ask the lane's consumers to look at `key`. Never fails: what could not be rung is rung by the sweep."""
        try:
            self._task(key)
        except _RING_ERRORS as exc:
            log.warning("lane %s: could not ring (%s)", self.name, type(exc).__name__)

    def serve(self, workers: int, when_thread_ends: Callable[[], None]) -> None:
        """Start `workers` threads; each calls `when_thread_ends` as its last act."""
        storage = self.huey.storage
        storage.listener = wake.Listener(storage.run_dir, self.name, _READ_TIMEOUT_SECONDS)
        self.huey.on_shutdown(name="close")(when_thread_ends)
        self._count = workers
        self._workers = _Workers(self.huey, workers=workers, periodic=False)
        self._workers.start()

    def replace_dead(self) -> int:
        """Start a thread for each that died; returns how many did."""
        if self._workers is None or self._workers.stop_flag.is_set():
            return 0
        dead = [index for index, (_, thread) in enumerate(self._workers.worker_threads) if not thread.is_alive()]
        for index in dead:
            worker = self._workers._create_worker()
            thread = self._workers._create_process(worker, f"Worker-{index + 1}")
            self._workers.worker_threads[index] = (worker, thread)
            thread.start()
        return len(dead)

    def ask_to_stop(self) -> None:
        """Let every thread end after the bell that it is answering."""
        if self._workers is not None:
            self._workers.stop_flag.set()
            self.huey.storage.listener.shut()
            for _ in range(self._count):
                self.huey.storage.listener.ring_self()

    def join(self, deadline: float) -> int:
        """Wait for the threads until `deadline` (monotonic seconds); returns how many still run."""
        if self._workers is None:
            return 0
        threads = [thread for _, thread in self._workers.worker_threads]
        for thread in threads:
            while thread.is_alive() and clock.monotonic() < deadline:
                self.huey.storage.listener.ring_self()  # its socket holds few bytes: one may have been dropped
                thread.join(0.05)
        self.huey.storage.listener.close()
        return sum(thread.is_alive() for thread in threads)

    def outlast(self) -> None:
        """After `join`: wait for the threads that still ran, however long they take."""
        for _, thread in self._workers.worker_threads if self._workers else ():
            if thread.is_alive():
                thread.join()

    def close(self) -> None:
        """Close the connection to queue.db."""
        self.huey.storage.close()


def _served_elsewhere(key: Any) -> None:
    raise RuntimeError(f"bell {key!r} rang in a process that serves no such lane")
