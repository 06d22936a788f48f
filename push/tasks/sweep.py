"""The sweep: rings whatever is open and due, and empties the spool of what is over.

It makes every lost bell harmless, and touches no lock but its own. One process of a home sweeps at a time.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from push import clock
from push.agents import spool
from push.agents.spool import Spool
from push.ledger import outbox, progress, turns
from push.ledger.database import Database
from push.locks import FileLock
from push.model.machines import TURN
from push.paths import Home
from push.providers import local
from push.tasks import wake
from push.tasks.bells import Bells
from push.tasks.drain import is_due
from push.tasks.stop import StopFlag

PERIOD_SECONDS = 30.0

log = logging.getLogger(__name__)


def call(run_dir: Path) -> None:
    """Ask whoever sweeps this home to look now; where nobody leads, another consumer takes over."""
    wake.ring(run_dir, "sweep")


class Sweep:
    """A thread that rings at start, when the next row becomes due, and every 30 s.

    `leads` says whether this process is the one of its home that sweeps.
    """

    def __init__(
        self,
        db: Database,
        home: Home,
        stop: StopFlag,
        bells: Bells,
        beat: Callable[[str, str], None],
    ) -> None:
        self._db = db
        self._run_dir = home.run
        self._spools = home.spool
        self._stop = stop
        self._bells = bells
        self._beat = beat
        self._called = False
        self.leads = False
        self._thread = threading.Thread(target=self._loop, name="sweep", daemon=True)

    def start(self) -> None:
        """Begin; ends with the stop flag."""
        self._thread.start()

    def join(self, seconds: float | None) -> bool:
        """Wait for its end, None: however long; returns whether it ended."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        listener = leader = None
        try:
            while not self._stop.is_set:
                pause = PERIOD_SECONDS
                try:  # no descriptor, a full disk, an outage of the ledger: it is this loop that repairs their effects
                    listener = listener or wake.Listener(self._run_dir, "sweep", PERIOD_SECONDS)
                    leader = leader or self._lead()
                    self.leads = leader is not None
                    pause = self.once() if leader else PERIOD_SECONDS
                    self._beat("sweep", f"next in {pause:.0f} s" if leader else "another process leads")
                except Exception:
                    log.exception("the sweep could not do its work")
                if listener:
                    listener.wait_for(pause, self._stop.fd)
                else:
                    self._stop.wait(pause)
        finally:
            if listener is not None:
                listener.close()
            if leader is not None:
                leader.unlock()
            self._db.close_thread()

    def _lead(self) -> FileLock | None:
        """The leader's lock; where another process has it, that one is asked to look, once.

        We may come after one that was killed, and the bells that it had taken are lost.
        """
        leader = FileLock.take(self._run_dir / "leader.lock")
        if leader is None and not self._called:
            self._called = True
            call(self._run_dir)
        return leader

    def once(self) -> float:
        """Ring every conversation that is due; returns the seconds until the next becomes due, at most 30."""
        pause = PERIOD_SECONDS
        for not_before, ring in self._open():
            if not_before is None or is_due(not_before):
                ring()
            else:
                pause = min(pause, (not_before - clock.now_ms()) / 1000)
        self._empty_spool()
        return max(pause, 0.05)

    def _open(self) -> Iterator[tuple[int | None, Callable[[], None]]]:
        """Everything that is open: when it becomes due (None: at once), and how to ring for it."""
        lanes = self._bells.lanes
        for conversation_id in turns.open_controls(self._db):
            yield None, partial(lanes["control"].ring, conversation_id)
        for conversation_id, not_before in turns.open_conversations(self._db):
            yield not_before, partial(lanes["turns"].ring, conversation_id)
            yield not_before, partial(lanes["signs"].ring, conversation_id)  # typing, for runs that outlived us
        for channel, target, stream, not_before in outbox.open_targets(self._db):
            if channel != local.CHANNEL:  # the terminal looks by itself
                yield not_before, partial(self._bells.deliver, channel, target, stream)
        for conversation_id in progress.open_conversations(self._db):
            yield None, partial(lanes["signs"].ring, conversation_id)

    def _empty_spool(self) -> None:
        """Remove the folders of runs that are over: a kill between the answer's commit and the removal leaves them."""
        if not self._spools.is_dir():
            return
        for folder in self._spools.iterdir():
            run = re.fullmatch(r"t(\d{1,18})-(\d{1,18})", folder.name)
            turn = turns.get(self._db, int(run[1])) if run else None
            if run and (turn is None or turn.state not in TURN.open or int(run[2]) < turn.attempt):
                try:
                    spool.remove(Spool.at(self._spools, folder.name))
                except OSError as exc:  # what an agent put there, or left running, need not let itself be removed
                    log.warning("cannot empty %s: %s", folder, exc.strerror)
