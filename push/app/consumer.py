"""A consumer: the lanes' workers, the sweep, retention, and a supervisor that replaces dead threads.

Owns starting and stopping them; lives inside `push consumer`, `push run` and, where nobody else consumes, `push chat`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from push import clock
from push.agents import process
from push.agents.spool import Spool
from push.ledger import outbox, pace, turns
from push.model.values import Turn
from push.tasks import deliver, sweep, wake
from push.tasks.bells import Bells
from push.tasks.control import Control
from push.tasks.deliver import Deliver
from push.tasks.drain import Drain, is_due, take_watch
from push.tasks.later import Later
from push.tasks.retention import RetentionLoop
from push.tasks.roles import Role
from push.tasks.signs import Signs
from push.tasks.sweep import Sweep
from push.tasks.turns import Gear, TurnWorker

SUPERVISE_SECONDS = 30.0
SOON_MS = 5_000  # the rest of a long text or answer is waited for, the end of a pause is not
GRACEFUL_SECONDS = 10.0
#: A send that hangs holds its worker for half a minute; several of them are not to hold up everybody's answers.
_WORKERS = {"control": 2, "answers": 12, "deliver": 8, "signs": 2}

log = logging.getLogger(__name__)


class Consumer:
    """Start once, stop once. The role is its owner's to take, and to give up with `leave`."""

    def __init__(self, gear: Gear, role: Role) -> None:
        home = gear.settings.home
        self._gear = gear
        self._role = role
        self._later = Later()
        worker = TurnWorker(gear, self._ended)
        folders = (home.run / "locks", home.spool)
        drain = Drain(
            gear.db, worker, gear.stop, folders, (lambda key: self._ring("turns", key), lambda: sweep.call(home.run))
        )
        handlers: dict[str, Callable[[Any], None]] = {
            "turns": drain,
            "control": Control(
                gear,
                self._ended,
                lambda key: self._ring("turns", key),
                lambda instant, key: self._ring_at(instant, "control", key),
            ),
            "answers": self._deliver("answers", deliver.URGENT),
            "deliver": self._deliver("deliver", deliver.NORMAL),
            "signs": Signs(gear, lambda instant, key: self._ring_at(instant, "signs", key)),
        }
        self.bells = Bells(home, handlers)
        self._workers = _WORKERS | {"turns": gear.settings.turns_workers}
        self._sweep = Sweep(gear.db, home, gear.stop, self.bells, self._role.beat)
        self._retention = RetentionLoop(gear, lambda: self._sweep.leads, self._role.beat)
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    def _deliver(self, lane: str, stream: int) -> Deliver:
        gear = self._gear
        bells = (lambda key: self._ring(lane, key), lambda instant, key: self._ring_at(instant, lane, key))
        return Deliver(stream, (gear.settings, gear.db, gear.stop), gear.channels, bells)

    def start(self) -> None:
        """Start the workers, then ring for everything that an earlier process left."""
        self._role.forget()
        for name, lane in self.bells.lanes.items():
            lane.serve(self._workers[name], self._gear.db.close_thread)
        self._later.start()
        self._sweep.start()
        self._retention.start()
        self._supervisor.start()

    def _ring(self, lane: str, key: int | str) -> None:
        self.bells.lanes[lane].ring(key)

    def _ring_at(self, instant: int, lane: str, key: int | str) -> None:
        self._later.at(instant, (lane, key), lambda: self._ring(lane, key))

    def _ended(self, turn: Turn) -> None:
        self.bells.ended(turn)

    def _supervise(self) -> None:
        pause = 0.0
        while not self._gear.stop.wait(pause):
            for name, lane in self.bells.lanes.items():
                try:
                    replaced = lane.replace_dead()
                    if replaced:
                        log.error("%d worker threads of %s had died and were replaced", replaced, name)
                except RuntimeError:  # no thread can be started now; the next look tries again
                    log.exception("a dead worker thread could not be replaced")
                self._role.beat(name, f"{self._workers[name]} workers")
            if self._gear.audit.lost:
                self._role.beat("audit", f"{self._gear.audit.lost} records could not be written")
            pause = SUPERVISE_SECONDS

    def is_idle(self) -> bool:
        """Whether nothing is open and due now, or in a moment: what `push consumer --drain` waits for."""
        db = self._gear.db
        due = [not_before or 0 for _, not_before in turns.open_conversations(db)]
        for name, target, _, not_before in outbox.open_targets(db):
            if (channel := self._gear.channels.get(name)) is not None:
                due.append(max(not_before or 0, pace.free_at(db, name, channel.paces(target))))
        return not turns.open_controls(db) and not any(is_due(instant - SOON_MS) for instant in due)

    def stop(self, seconds: float = GRACEFUL_SECONDS) -> bool:
        """Stop taking work and leave running agents to their runners; returns whether all threads ended in time."""
        self._gear.stop.set()
        lanes = self.bells.lanes.values()
        for lane in lanes:
            lane.ask_to_stop()
        self._later.close()
        deadline = clock.monotonic() + seconds
        left = sum(lane.join(deadline) for lane in lanes)
        swept = self._sweep.join(max(deadline - clock.monotonic(), 0.1))
        swept = self._retention.join(max(deadline - clock.monotonic(), 0.1)) and swept
        if self._supervisor.is_alive():
            self._supervisor.join(max(deadline - clock.monotonic(), 0.1))
        if self._gear.stop.hard:
            self._terminate_unwatched()
        self.bells.close()
        return not left and swept

    def outlast(self) -> None:
        """After `stop`: wait for the threads that did not end in time; each does what it does to its end."""
        for lane in self.bells.lanes.values():
            lane.outlast()
        self._sweep.join(None)
        self._retention.join(None)
        if self._supervisor.is_alive():
            self._supervisor.join()
        self.bells.close()

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


def leave(role: Role, run_dir: Path) -> None:
    """Give a consumer's role up, and tell those who may go on."""
    role.close()
    wake.ring(run_dir, "terminal")  # who waits for an answer looks after a consumer
    sweep.call(run_dir)  # other consumers go on with what we leave, our runners' ends too
