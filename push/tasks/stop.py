"""The stop flag of a process: a descriptor that becomes, and stays, readable when it shall end."""

from __future__ import annotations

import os
import select


class StopFlag:
    """Set once, from a signal handler or a thread; `fd` may be polled by any number of threads.

    `hard` says that running agents shall be stopped too, and not left to their runners.
    """

    def __init__(self, *, hard: bool = False) -> None:
        self.fd, self._write_end = os.pipe()
        self.hard = hard
        self._is_set = False

    def set(self) -> None:
        """Ask everything that watches to end."""
        if not self._is_set:
            self._is_set = True
            os.write(self._write_end, b"!")

    @property
    def is_set(self) -> bool:
        """Whether it has been set."""
        return self._is_set

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep until it is set (True), at most `seconds`."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        return bool(poller.poll(None if seconds is None else seconds * 1000))

    def close(self) -> None:
        """Close both ends, when nobody watches any more."""
        os.close(self.fd)
        os.close(self._write_end)
