"""Runners of this process that it follows no more, reaped once they have ended.

Owns that none stays in the system's table; does not own runners that are followed (`push.agents.process`).
"""

from __future__ import annotations

import os
from contextlib import suppress

_left: set[int] = set()


def leave(pid: int) -> None:
    """Follow this child no more."""
    reap()
    _left.add(pid)


def reap() -> None:
    """Let go of those that were left and have ended."""
    for pid in tuple(_left):
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        _left.discard(pid)
