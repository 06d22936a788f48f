"""The bells: keyed, blocking Huey storage on the disposable queue.db, and the lanes on it.

A bell says "look at this key"; ringing one that already waits is a no-op, and every bell is safe to lose and to
repeat. Does not own work: rows of push.db are the work (ADR 0001, 0003).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from huey import Huey
from huey.consumer import Consumer
from huey.registry import Message
from huey.storage import CySqliteStorage, SqliteStorage

from push import clock
from push.ledger import engine
from push.paths import open_private
from push.tasks import wake

#: Every lane, in the order in which a consumer starts those that it serves.
LANES = ("control", "turns", "deliver", "media", "reply", "jobs")
_READ_TIMEOUT_SECONDS = 30.0
_T = TypeVar("_T")

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
        with suppress(FileExistsError):
            os.close(open_private(Path(filename), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        super().__init__(name, filename, fsync=False, cache_mb=1)

    def _create_connection(self) -> Any:
        connection = super()._create_connection()
        self._inode = Path(self.filename).stat().st_ino
        return connection

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
        return data

    def _in_present_file(self, action: Callable[[], _T]) -> _T:
        """Run `action` on the file that is there now: deleted, replaced or damaged ones are made anew, once."""
        if self._conn is not None and not self._is_present():
            self._anew()
        try:
            return action()
        except engine.errors() as exc:
            if "locked" not in str(exc):
                for suffix in ("", "-wal", "-shm"):
                    Path(self.filename + suffix).unlink(missing_ok=True)
            self._anew()
            return action()

    def _is_present(self) -> bool:
        try:
            return Path(self.filename).stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _anew(self) -> None:
        self.close()
        with suppress(FileExistsError):
            os.close(open_private(Path(self.filename), os.O_RDWR | os.O_CREAT | os.O_EXCL))
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
        """Ask the lane's consumers to look at `key`."""
        self._task(key)

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

    def close(self) -> None:
        """Close the connection to queue.db."""
        self.huey.storage.close()


def _served_elsewhere(key: Any) -> None:
    raise RuntimeError(f"bell {key!r} rang in a process that serves no such lane")
