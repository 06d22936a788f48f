"""What an agent prints, on its way into the spool: filtered where that is asked for, counted, cut at the cap, synced.

Does not own when a run ends because of it (`runner.py`, which alone imports this, and as lean as it). Descriptors 1 and
2 of the runner are the spool's files. The agent writes to them itself, unless its lines are to be filtered.
"""

import fcntl
import os

PIPE_BYTES = 1 << 20  # no pipe holds more
FAST_GROWTH = 1 << 20  # bytes between two looks after which the next look is to be soon
FILES = (1, 2)


class LineFilter:
    """Passes lines on, without those that begin with `prefix`. Holds back less than the prefix's length."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._head = b""
        self._keep: bool | None = None  # None: at the beginning of a line

    def feed(self, data: bytes) -> bytes:
        """What of `data` (and of a beginning held back before) is to be kept."""
        data, self._head = self._head + data, b""
        kept = []
        at = 0
        while at < len(data):
            if self._keep is None:
                beginning = data[at : at + len(self._prefix)]
                if len(beginning) < len(self._prefix) and self._prefix.startswith(beginning):
                    self._head = beginning
                    break
                self._keep = beginning != self._prefix
            after = data.find(b"\n", at) + 1
            end = after or len(data)
            if self._keep:
                kept.append(data[at:end])
            if after:
                self._keep = None
            at = end
        return b"".join(kept)

    def end(self) -> bytes:
        """What was held back when the output ended."""
        return self._head


class Output:
    """Standard output and error of one run. `cap` is in bytes, for each; `pipe` is -1 where there is none (any more).

    `grows_fast` is what the last look saw; `refused` says that the disk took no more of the filtered lines.
    """

    def __init__(self, cap: int, prefix: bytes) -> None:
        self.pipe = -1
        self.refused = False
        self.grows_fast = False
        self.truncated = False
        self._cap = cap
        self._size = 0
        self._filter = LineFilter(prefix) if prefix else None

    def open_pipe(self) -> int:
        """The descriptor that is to be the agent's standard output; -1 where it keeps the spool's file."""
        if not self._filter:
            return -1
        self.pipe, end = os.pipe()
        os.set_blocking(self.pipe, False)
        return end

    def take(self) -> int:
        """Filter one piece from the pipe into the spool. Returns its length, 0 where there is none."""
        assert self._filter
        try:
            data = os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return 0
        self._keep(self._filter.feed(data))
        if not data:
            os.close(self.pipe)
            self.pipe = -1
        return len(data)

    def drain(self) -> None:
        """Take what was printed when the agent ended, and no more: somebody else may hold the pipe for ever."""
        taken = 0
        while self.pipe >= 0 and taken < PIPE_BYTES:
            length = self.take()
            if not length:
                break
            taken += length
        if self._filter:
            self._keep(self._filter.end())

    def is_over(self) -> bool:
        """Whether there is more of it than may be, or than the disk takes."""
        before, self._size = self._size, max(os.fstat(fd).st_size for fd in FILES)
        self.grows_fast = self._size - before > FAST_GROWTH
        return self.refused or self._size > self._cap

    def truncate(self) -> None:
        """Cut it at the cap."""
        self.truncated = True
        for fd in FILES:
            os.ftruncate(fd, min(self._cap, os.fstat(fd).st_size))

    def sync(self) -> None:
        """Make it durable."""
        for fd in FILES:
            sync(fd)

    def _keep(self, data: bytes) -> None:
        try:
            while data and not self.refused:
                data = data[os.write(1, data) :]
        except OSError:
            self.refused = True


def sync(fd: int) -> None:
    """Make a file durable. On macOS, fsync alone leaves it in the drive."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, full)
