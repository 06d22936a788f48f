"""A file to which several processes and threads append whole lines, and which is rotated by size.

Owns the writing, the lock, the rotation (`x`, `x.1`, … `x.<keep>`) and forgetting what is old; does not own what a line
says.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from push import clock
from push.paths import make_private, open_private

MAX_BYTES = 10 * 1024 * 1024
KEEP = 5

_LOCK_SECONDS = 1.0
_LOOK_BYTES = 256 * 1024  # at either end of a file, for a line that tells its instant

#: When a line was written (milliseconds since 1970); None where it does not tell.
Instant = Callable[[str], int | None]


class AppendFile:
    """Lines for `path` (mode 0600, created at the first line).

    A line is one `write` to an append-only descriptor while the file itself is locked; the descriptor is opened anew
    when somebody else rotated or removed the file. A holder of the lock that was stopped delays a line by a second at
    most: then it is written without the lock, and without rotating, which is still one write in one piece.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, keep: int = KEEP) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._fd = -1
        self._thread_lock = threading.Lock()

    def write(self, line: str) -> None:
        """Append the line and a newline; all of it, or nothing.

        Raises OSError (a full disk), and TemporaryError where the folder cannot be made.
        """
        data = line.encode(errors="backslashreplace") + b"\n"
        with self._thread_lock:
            locked = self._open_current()
            try:
                if locked and self._size() > max(0, self._max_bytes - len(data)):
                    self._rotate()
                    locked = self._open_current()
                self._append(data, locked=locked)
            finally:
                if locked and self._fd >= 0:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)  # nobody inherits or shares this descriptor

    def close(self) -> None:
        """Close the descriptor; a later line opens it again."""
        with self._thread_lock:
            self._drop()

    def forget(self, limit_ms: int, instant: Instant) -> int:
        """Remove rotated files in which nothing is younger than `limit_ms`; returns how many.

        The current file is rotated where its oldest line is older than a quarter of that, so that no line is kept for
        much longer than the limit. What tells no instants is no log of ours, and is not rotated.
        """
        before = clock.now_ms() - limit_ms
        with self._thread_lock:
            if not self.path.exists():
                return self._remove_older(before, instant)  # nobody writes, so nobody rotates
            try:
                return self._forget_locked(before, limit_ms // 4, instant) if self._open_current() else 0
            finally:
                self._drop()

    def _forget_locked(self, before: int, quarter_ms: int, instant: Instant) -> int:
        """As `forget`, while the names of the files are ours: another's rotation would give one to a newer file."""
        count = self._remove_older(before, instant)
        oldest = instant_of_oldest(self.path, instant)
        if oldest is None or clock.now_ms() - oldest <= quarter_ms:
            return count
        if _newest(self.path, instant) < before:
            self.path.unlink()
            return count + 1
        self._rotate()
        return count

    def _remove_older(self, before: int, instant: Instant) -> int:
        old = [path for path in rotated(self.path, self._keep) if _newest(path, instant) < before]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def _open_current(self) -> bool:
        """Have the file that now has the name open. Returns whether it is locked too."""
        while True:
            if self._fd < 0:
                make_private(self.path.parent)
                self._fd = open_private(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            locked = _lock(self._fd)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), self.path.stat()):
                    return locked
            self._drop()

    def _append(self, data: bytes, *, locked: bool) -> None:
        size = self._size()
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            data = b"\n" + data  # a power cut tore the last line; do not let it take this one along
        count = os.write(self._fd, data)
        if count < len(data):
            if locked:
                os.ftruncate(self._fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def _rotate(self) -> None:
        names = [self.path, *(_numbered(self.path, number) for number in range(1, self._keep + 1))]
        for newer, older in reversed(list(pairwise(names))):
            with suppress(FileNotFoundError):
                newer.replace(older)
        self._drop()

    def _size(self) -> int:
        return os.fstat(self._fd).st_size

    def _drop(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> bool:
    deadline = clock.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        else:
            return True


def rotated(path: Path, keep: int = KEEP) -> list[Path]:
    """The rotated files that are there, the newest first."""
    return [old for number in range(1, keep + 1) if (old := _numbered(path, number)).is_file()]


def instant_of_oldest(path: Path, instant: Instant) -> int | None:
    """When the first line of a file was written; None where there is no file, or it does not tell."""
    return next((at for line in _lines(path, 0) if (at := instant(line)) is not None), None)


def _newest(path: Path, instant: Instant) -> int:
    """When the last line of a file was written; where it does not tell, when the file was."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return clock.now_ms()
    lines = _lines(path, max(status.st_size - _LOOK_BYTES, 0))
    told = [at for line in lines if (at := instant(line)) is not None]
    return told[-1] if told else int(status.st_mtime * 1000)


def _lines(path: Path, offset: int) -> Iterator[str]:
    if not path.is_file():  # opening a pipe of that name would never end
        return
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(offset)
        yield from file.read(_LOOK_BYTES).decode(errors="replace").split("\n")


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
