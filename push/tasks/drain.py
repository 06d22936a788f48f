"""The bell of a conversation: take its locks, work its open rows in order, look again after unlocking.

Two locks per conversation. The *conversation lock* is inherited by the runner: free means that nobody executes. The
*watch* says that a living process already looks after the conversation: a held conversation lock behind a free watch
is a runner that outlived its consumer, and is waited for (ADR 0002).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from push import clock
from push.agents import process
from push.agents.spool import Spool
from push.ledger import turns
from push.ledger.database import Database
from push.locks import FileLock
from push.model.values import Turn
from push.tasks.stop import StopFlag
from push.tasks.turns import Step, TurnWorker

#: Rows of one conversation that a worker handles before it lets others have its place.
BUDGET = 5
_MAX_STEPS = 4 * BUDGET  # a turn takes a few: waiting, interrupted, run
#: A postponement further away than this comes from a clock that was wrong; the row is due.
MAX_POSTPONE_MS = 24 * 3600 * 1000

log = logging.getLogger(__name__)


class Drain:
    """Answers the bells of the turns lane. `ring` rings a conversation again, `reschedule` wakes the sweep."""

    def __init__(
        self,
        db: Database,
        worker: TurnWorker,
        stop: StopFlag,
        folders: tuple[Path, Path],
        bells: tuple[Callable[[int], None], Callable[[], None]],
    ) -> None:
        self._db = db
        self._worker = worker
        self._stop = stop
        self._locks, self._spools = folders
        self._ring, self._reschedule = bells

    def __call__(self, conversation_id: int) -> None:
        """Work the conversation's open, due rows, at most BUDGET of them."""
        watch = take_watch(self._locks, conversation_id)
        if watch is None:
            return  # whoever holds it looks again after unlocking
        try:
            lock = self._conversation_lock(conversation_id)
            if lock is None:
                return
            try:
                self._work(conversation_id, lock)
            finally:
                lock.close()
        finally:
            watch.unlock()  # else a bell of this moment could find it held by nobody who looks again
        self._look_again(conversation_id)

    def _work(self, conversation_id: int, lock: FileLock) -> None:
        budget = BUDGET
        for _ in range(_MAX_STEPS):
            turn = turns.head(self._db, conversation_id)
            if turn is None or not is_due(turn.not_before) or self._stop.is_set:
                return
            step = self._worker.handle(turn, lock.fd)
            budget -= step is Step.ENDED
            if step is Step.HANDED_OVER or budget == 0:
                return

    def _conversation_lock(self, conversation_id: int) -> FileLock | None:
        """The conversation lock; waits for a runner that outlived its consumer. None when we are to stop."""
        path = self._locks / f"c{conversation_id}.lock"
        lock = FileLock.take(path)
        if lock is not None or self._stop.is_set:
            return lock
        turn = turns.head(self._db, conversation_id)
        if turn is not None and turn.state == "running":
            log.info("conversation %d: waiting for the runner of turn %d", conversation_id, turn.id)
            if not process.wait_for_runner(Spool.at(self._spools, f"t{turn.id}-{turn.attempt}"), self._stop.fd):
                return None
        lock = FileLock.take(path, wait_seconds=1.0)  # its last holder may be just closing it
        if lock is None:
            log.error("conversation %d: its lock is held by no runner that we know", conversation_id)
        return lock

    def _look_again(self, conversation_id: int) -> None:
        """What was committed while we unlocked was told to nobody; what is due later is the sweep's."""
        if self._stop.is_set:
            return
        turn: Turn | None = turns.head(self._db, conversation_id)
        if turn is None:
            return
        if is_due(turn.not_before):
            self._ring(conversation_id)
        else:
            self._reschedule()


def take_watch(locks: Path, conversation_id: int) -> FileLock | None:
    """The watch of a conversation, to be unlocked; None while a living process looks after it."""
    return FileLock.take(locks / f"c{conversation_id}.watch")


def is_due(not_before: int | None) -> bool:
    """Whether a row may be worked on now."""
    if not_before is None:
        return True
    ahead = not_before - clock.now_ms()
    return ahead <= 0 or ahead > MAX_POSTPONE_MS
