"""Locks between processes: `flock` on files that are never unlinked.

A lock belongs to the open file description: a child that inherits the descriptor holds it too, and the kernel frees
it at the last close. What a runner holds too is therefore closed and never unlocked: LOCK_UN would free the runner's
reference as well. What no child is to hold is unlocked: every child has it for the moment between its fork and exec.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from push import clock
from push.errors import TemporaryError
from push.paths import make_private, open_private

_PROBE_SECONDS = 0.3  # somebody's look at a lock holds it for microseconds; do not mistake that for an owner


class FileLock:
    """An exclusive lock held on a file until `close`."""

    __slots__ = ("fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def take(cls, path: Path, *, wait_seconds: float = 0.0) -> FileLock | None:
        """The lock, or None while somebody else holds it after `wait_seconds`."""
        make_private(path.parent)
        fd = open_private(path, os.O_RDWR | os.O_CREAT)
        deadline = clock.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as exc:
                if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    os.close(fd)
                    raise
                if clock.monotonic() >= deadline:
                    os.close(fd)
                    return None
                time.sleep(0.01)
            else:
                return cls(path, fd)

    @classmethod
    def take_role(cls, path: Path) -> FileLock | None:
        """As `take`, but patient enough not to be refused by a passing `is_held`."""
        return cls.take(path, wait_seconds=_PROBE_SECONDS)

    def write(self, text: str) -> None:
        """Replace the file's content (for whoever asks who holds it)."""
        data = text.encode()
        os.pwrite(self.fd, data, 0)
        os.ftruncate(self.fd, len(data))

    def close(self) -> None:
        """Drop our reference; a child that inherited the descriptor keeps the lock."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def unlock(self) -> None:
        """Free it at once, and close. Only for a lock that no child is to hold, and that others try without patience.

        With `close` alone, the child of another thread that is just between fork and exec would keep it locked.
        """
        if self.fd >= 0:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock of a role file now. Not for conversation locks: a look disturbs their takers."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # whoever only looks needs no right to write
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


class WriterLock:
    """Fair queueing of writers over threads and processes (DESIGN.md 2.7); correctness rests on BEGIN IMMEDIATE.

    A process lock, then a blocking `flock`, whose waiters the kernel queues. A holder that does not let go (stopped
    with SIGSTOP in the middle of a write) costs the waiters an error each, and no thread for ever.
    """

    def __init__(self, path: Path, *, timeout_seconds: float = 30.0) -> None:
        make_private(path.parent)
        self._path = path
        self._fd = open_private(path, os.O_RDWR | os.O_CREAT)
        self._thread_lock = threading.Lock()
        self._timeout = timeout_seconds

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock. Raises TemporaryError when it is not free in time."""
        if not self._thread_lock.acquire(timeout=self._timeout):
            raise self._stuck()
        try:
            self._flock()
            try:
                yield
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)  # this descriptor is never inherited, so nobody shares it
        finally:
            self._thread_lock.release()

    def _flock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _FlockWaiter(self._fd).wait(self._timeout):
                self._fd = open_private(self._path, os.O_RDWR | os.O_CREAT)  # the old one is the waiter's to close
                raise self._stuck() from None

    def _stuck(self) -> TemporaryError:
        return TemporaryError(
            f"the ledger's writer lock was not free within {self._timeout:.0f} s",
            why="a process of Push is stuck in a write, or was stopped with SIGSTOP",
            hint="push status",
            code="writer_lock",
        )

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)


class _FlockWaiter:
    """A thread in a blocking `flock`, which knows no timeout: who waits too long leaves it to close the descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._mutex = threading.Lock()
        self._taken = threading.Event()
        self._left = False
        threading.Thread(target=self._take, name="writer-lock", daemon=True).start()

    def _take(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        with self._mutex:
            if self._left:
                os.close(self._fd)
            else:
                self._taken.set()

    def wait(self, seconds: float) -> bool:
        """Whether the lock was taken in time; if not, this waiter frees it as soon as it gets it."""
        if self._taken.wait(seconds):
            return True
        with self._mutex:
            self._left = not self._taken.is_set()
        return not self._left
