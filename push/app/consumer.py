"""A consumer: the lanes' workers, the sweep, and a supervisor that replaces dead threads.

Owns starting and stopping them; lives inside `push consumer`, `push run` and, where nobody else consumes, `push chat`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from push import clock
from push.agents import process
from push.agents.spool import Spool
from push.ledger import turns
from push.model.values import Turn
from push.providers import local
from push.tasks import roles, sweep, wake
from push.tasks.drain import Drain, is_due, take_watch
from push.tasks.queue import Lane
from push.tasks.roles import Role
from push.tasks.sweep import Sweep
from push.tasks.turns import Gear, TurnWorker

SUPERVISE_SECONDS = 30.0
GRACEFUL_SECONDS = 10.0

log = logging.getLogger(__name__)


class Consumer:
    """Start once, stop once."""

    def __init__(self, gear: Gear, command: str) -> None:
        home = gear.settings.home
        self._gear = gear
        self._role: Role = roles.take_consumer(home.run, command)
        drain = Drain(
            gear.db,
            TurnWorker(gear, self._announce),
            gear.stop,
            (home.run / "locks", home.spool),
            (self._ring, lambda: sweep.call(home.run)),
        )
        self.turns = turns_lane(gear, drain)
        self._sweep = Sweep(gear.db, home, gear.stop, self.turns.ring, self._role.beat)
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the workers, then ring for everything that an earlier process left."""
        self.turns.serve(self._gear.settings.turns_workers, self._gear.db.close_thread)
        self._sweep.start()
        self._supervisor.start()

    def _ring(self, conversation_id: int) -> None:
        self.turns.ring(conversation_id)

    def _announce(self, turn: Turn) -> None:
        """A turn ended: whoever delivers for its target looks. So far that is the user's terminals."""
        wake.ring(self._gear.settings.home.run, local.desk(turn.target))

    def _supervise(self) -> None:
        pause = 0.0
        while not self._gear.stop.wait(pause):
            try:
                replaced = self.turns.replace_dead()
                if replaced:
                    log.error("%d worker threads had died and were replaced", replaced)
            except RuntimeError:  # no thread can be started now; the next look tries again
                log.exception("a dead worker thread could not be replaced")
            self._role.beat("turns", f"{self._gear.settings.turns_workers} workers")
            if self._gear.audit.lost:
                self._role.beat("audit", f"{self._gear.audit.lost} records could not be written")
            pause = SUPERVISE_SECONDS

    def is_idle(self) -> bool:
        """Whether nothing is open and due now: what `push consumer --drain` waits for."""
        return not any(is_due(not_before) for _, not_before in turns.open_conversations(self._gear.db))

    def stop(self) -> bool:
        """Stop taking work and leave running agents to their runners; returns whether all threads ended in time."""
        self._gear.stop.set()
        self.turns.ask_to_stop()
        deadline = clock.monotonic() + GRACEFUL_SECONDS
        left = self.turns.join(deadline)
        swept = self._sweep.join(max(deadline - clock.monotonic(), 0.1))
        self._supervisor.join(max(deadline - clock.monotonic(), 0.1))
        if self._gear.stop.hard:
            self._terminate_unwatched()
        self.turns.close()
        self._role.close()
        wake.ring(self._gear.settings.home.run, "terminal")  # who waits for an answer looks after a consumer
        sweep.call(self._gear.settings.home.run)  # other consumers go on with what we leave, our runners' ends too
        return not left and swept

    def _terminate_unwatched(self) -> None:
        """End the runs that no other consumer looks after, those that an earlier process began among them."""
        home = self._gear.settings.home
        for conversation_id, _ in turns.open_conversations(self._gear.db):
            turn = turns.head(self._gear.db, conversation_id)
            if turn is None or turn.state != "running":
                continue
            watch = take_watch(home.run / "locks", conversation_id)
            if watch is not None:
                process.terminate(Spool.at(home.spool, f"t{turn.id}-{turn.attempt}"))
                watch.unlock()


def turns_lane(gear: Gear, handler: Callable[[int], None] | None = None) -> Lane:
    """The lane of conversations; without a handler, only to ring it."""
    home = gear.settings.home
    return Lane("turns", home.queue_db, home.run, handler)
