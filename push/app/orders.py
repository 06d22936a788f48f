"""What a process is asked to do from outside: SIGTERM and SIGINT end it, SIGHUP and a datagram have it reload.

Owns signals, and what a lost terminal means; does not own ending or reloading. Imports little: a signal that comes
while the rest is being imported is not to end the process in its own way.
"""

from __future__ import annotations

import enum
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from push.tasks import wake
from push.tasks.reload import NAME
from push.tasks.stop import StopFlag

#: The kernel sends SIGHUP a moment before the terminal of a shell that was killed is gone.
_HANGUP_SECONDS = 0.1


class Order(enum.Enum):
    """What is to be done now."""

    END = "end"
    RELOAD = "reload"


class Orders:
    """Made, listened to and closed in the main thread, where the handlers run."""

    def __init__(self) -> None:
        self._ends = 0
        self._hangups = 0
        self._target: tuple[StopFlag, bool, Callable[[], None]] | None = None
        self._listener: wake.Listener | None = None
        self._pipe: tuple[int, int] | None = None
        # nohup ignores SIGHUP: that process is to outlive its terminal.
        self._terminal = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN and _has_terminal()
        for number, handler in (
            (signal.SIGTERM, self._on_end),
            (signal.SIGINT, self._on_end),
            (signal.SIGHUP, self._on_hangup),
        ):
            signal.signal(number, handler)

    def listen(self, run_dir: Path) -> None:
        """Hear datagrams too, and whatever signal comes while this thread sleeps in `wait`, whichever thread gets it.

        The handler runs in the main thread only, and only once that wakes.
        """
        self._pipe = os.pipe()
        for fd in self._pipe:
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        self._listener = wake.Listener(run_dir, NAME, 0)

    def steer(self, stop: StopFlag, hurry: Callable[[], None]) -> None:
        """From now on an end sets `stop`, as it was made to be; what came before counts.

        `hurry` ends the agents that were left to their runners: at a second signal, and where the flag would have had
        them ended, but was set by a reload. It runs in a thread of its own.
        """
        self._target = (stop, stop.hard, hurry)
        if self._ends:
            self._apply()

    def spare(self) -> bool:
        """Before a reload sets the flag: that ends no agent. False where the process is to end, and the flag is set."""
        assert self._target is not None
        self._target[0].hard = False
        if self._ends:
            self._apply()
        return not self._ends

    def wait(self) -> Order:
        """Sleep until something is asked for. All wishes to reload up to now are one."""
        assert self._listener is not None
        assert self._pipe is not None
        while True:
            asked = self._listener.wait_for(0)
            if self._hangups and self._terminal:
                time.sleep(_HANGUP_SECONDS)
                self._heed_terminal()
            if self._ends:
                return Order.END
            if asked or self._hangups:
                self._hangups = 0
                return Order.RELOAD
            poller = select.poll()
            for fd in (self._listener.fileno(), self._pipe[0]):
                poller.register(fd, select.POLLIN)
            poller.poll()
            self._drain()

    def close(self) -> None:
        """Hear nothing more; a late signal does not turn a good end into a death."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if self._pipe is not None:
            signal.set_wakeup_fd(-1)
            for fd in self._pipe:
                os.close(fd)
        if self._listener is not None:
            self._listener.close()

    def _drain(self) -> None:
        assert self._pipe is not None
        try:
            while os.read(self._pipe[0], 64):
                pass
        except BlockingIOError:
            return

    def _on_end(self, _number: int, _frame: FrameType | None) -> None:
        self._end()

    def _on_hangup(self, _number: int, _frame: FrameType | None) -> None:
        self._hangups += 1
        self._heed_terminal()

    def _heed_terminal(self) -> None:
        """The window of a process in the foreground was closed: it ends, and leaves no orphan."""
        if self._terminal and not _has_terminal():
            self._terminal = False
            self._end()

    def _end(self) -> None:
        self._ends += 1
        self._apply()

    def _apply(self) -> None:
        if self._target is None:
            return
        stop, was_hard, hurry = self._target
        is_hard = was_hard or self._ends > 1
        is_late = stop.is_set and is_hard and not stop.hard
        stop.hard = is_hard
        stop.set()
        if is_late:
            threading.Thread(target=hurry, name="terminate").start()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
