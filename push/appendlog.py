"""A file to which several processes and threads append whole lines, and which is rotated by size.

Owns the writing, the lock and the rotation (`x`, `x.1`, … `x.<keep>`); does not own what a line says.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from push import clock
from push.paths import make_private, open_private

MAX_BYTES = 10 * 1024 * 1024
KEEP = 5

_LOCK_SECONDS = 1.0


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
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{n}") for n in range(1, self._keep + 1))]
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
