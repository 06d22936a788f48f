"""Small calls to a service that nobody waits for: answers to presses, the menu of commands.

Owns that they hold nobody up; best effort, and lost with the process.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

_MOST = 100

log = logging.getLogger(__name__)


class Courtesy:
    """One thread, and a bounded queue in front of it: what does not fit is left out."""

    def __init__(self, name: str, when_thread_ends: Callable[[], None]) -> None:
        self._calls: queue.Queue[Callable[[], object] | None] = queue.Queue(_MOST)
        self._when_thread_ends = when_thread_ends
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        """Begin; `close` ends it."""
        self._thread.start()

    def do(self, call: Callable[[], object]) -> None:
        """Call it soon."""
        with suppress(queue.Full):
            self._calls.put_nowait(call)

    def close(self) -> None:
        """Take nothing more; a call that is under way is not waited for."""
        self.do(lambda: None)
        with suppress(queue.Full):
            self._calls.put_nowait(None)

    def _loop(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:
                log.exception("a courtesy failed")
        self._when_thread_ends()
