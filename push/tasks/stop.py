"""The stop flag of a process: a descriptor that becomes, and stays, readable when it shall end."""

from __future__ import annotations

import os


class StopFlag:
    """Set once, from a signal handler or a thread; `fd` may be polled by any number of threads.

    `hard` says that running agents shall be stopped too, and not left to their runners.
    """

    def __init__(self) -> None:
        self.fd, self._write_end = os.pipe()
        self.hard = False
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

    def close(self) -> None:
        """Close both ends, when nobody watches any more."""
        os.close(self.fd)
        os.close(self._write_end)
