"""Alarms within one process: what becomes due soon is rung then, without waiting for the sweep.

A hint like every bell: what a killed process had in here, the sweep rings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from push import clock

_LONGEST_SECONDS = 60.0  # beyond that the sweep is soon enough


class Later:
    """One thread that calls at the given instants (milliseconds since 1970); the earliest per key counts."""

    def __init__(self) -> None:
        self._alarms: dict[Hashable, tuple[int, Callable[[], None]]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="later", daemon=True)

    def start(self) -> None:
        """Begin; `close` ends it."""
        self._thread.start()

    def at(self, instant: int, key: Hashable, call: Callable[[], None]) -> None:
        """Call at `instant`, once, unless the same key is called earlier. `call` must be quick and not raise."""
        if instant - clock.now_ms() > _LONGEST_SECONDS * 1000:
            return
        with self._changed:
            known = self._alarms.get(key)
            if known is None or instant < known[0]:
                self._alarms[key] = (instant, call)
                self._changed.notify()

    def close(self) -> None:
        """Forget everything that is left."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(1)

    def _loop(self) -> None:
        while True:
            with self._changed:
                due = [key for key, (instant, _) in self._alarms.items() if instant <= clock.now_ms()]
                calls = [self._alarms.pop(key)[1] for key in due]
                if not calls:
                    if self._closed:
                        return
                    self._changed.wait(self._pause())
                    continue
            for call in calls:
                call()

    def _pause(self) -> float | None:
        if not self._alarms:
            return None
        ahead = min(instant for instant, _ in self._alarms.values()) - clock.now_ms()
        return min(max(ahead / 1000, 0), _LONGEST_SECONDS)
