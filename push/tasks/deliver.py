"""The lanes `deliver` and `answers`: send a target's open rows in order, each through `push.delivery`.

Owns the lock of a target's stream and what happens after an outcome; does not own outcomes. The stream 1 holds the
answers to control commands: they overtake, in a lane of their own, so that no stalled reply holds them up.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from push import clock
from push.config.settings import Settings
from push.delivery.sending import Ended, Policy, Sender, Waits
from push.errors import TemporaryError
from push.ledger import outbox, pace
from push.ledger.database import Database
from push.ledger.moves import StaleRow
from push.locks import FileLock
from push.model.values import Outbound, Part, SendOutcome
from push.providers.registry import Connected
from push.tasks.channels import Channels
from push.tasks.drain import is_due
from push.tasks.stop import StopFlag

NORMAL, URGENT = 0, 1
#: Rows of one target that a worker sends before it lets others have its place.
BUDGET = 5
_GIVE_WAY_MS = 100

log = logging.getLogger(__name__)


def key(channel: str, target: str) -> str:
    """The bell of a target."""
    return f"{channel} {target}"


def target_lock(run_dir: Path, channel: str, target: str, stream: int = NORMAL) -> Path:
    """The lock file of a target's stream."""
    digest = hashlib.sha256(target.encode()).hexdigest()[:16]
    return run_dir / "targets" / f"{channel}-{digest}{'-urgent' if stream else ''}.lock"


class Deliver:
    """Answers the bells of one lane. `ring` rings a key again; `later` rings it at an instant."""

    def __init__(
        self,
        stream: int,
        gear: tuple[Settings, Database, StopFlag],
        channels: Channels,
        bells: tuple[Callable[[str], None], Callable[[int, str], None]],
    ) -> None:
        settings, self._db, self._stop = gear
        self._stream = stream
        self._run_dir = settings.home.run
        resends = settings.delivery.on_unknown == "once"
        self._policy = Policy(settings.delivery.expire_after, resends, self._stop.wait)
        self._channels = channels
        self._ring, self._later = bells

    def __call__(self, bell: str) -> None:
        """Send what is open and due for the target, at most BUDGET rows."""
        name, _, target = bell.partition(" ")
        channel = self._channels.get(name)
        if channel is None:
            return  # the owner switched it off; the rows wait, and are listed
        lock = FileLock.take(target_lock(self._run_dir, name, target, self._stream))
        if lock is None:
            return  # whoever holds it looks again after unlocking
        until = None
        try:
            until = self._work(channel, target, lock)
        except (TemporaryError, OSError):
            log.exception("deliveries to a target of %s are held up", name)
            return
        finally:
            lock.unlock()
        self._look_again(name, target, until)

    def _work(self, channel: Connected, target: str, lock: FileLock) -> int | None:
        """Returns when to go on, where the row that was left does not say so itself."""
        for _ in range(BUDGET):
            row = outbox.head(self._db, channel.name, target, self._stream)
            if row is None or not is_due(row.not_before) or self._stop.is_set:
                return None
            if (until := self._overtaken_until(channel, target)) is not None:
                return until
            try:
                outcome = self._send(channel, row, lock)
            except StaleRow:
                continue  # a person dropped it in between
            if isinstance(outcome, Waits) and not is_due(outcome.until):
                return outcome.until
        return None

    def _overtaken_until(self, channel: Connected, target: str) -> int | None:
        """When to look again, where an answer to a control command waits for the budget that both streams draw from."""
        urgent = outbox.head(self._db, channel.name, target, URGENT) if self._stream == NORMAL else None
        if urgent is None or urgent.state == "sending" or not is_due(urgent.not_before):
            return None
        return max(clock.now_ms() + _GIVE_WAY_MS, pace.free_at(self._db, channel.name, channel.paces(target)))

    def _send(self, channel: Connected, row: Outbound, lock: FileLock) -> Ended | Waits:
        def send_part(_sequence: int, part: Part, note: str) -> SendOutcome:
            return channel.send(row.target, part, note)

        return Sender(self._db, self._policy, send_part, channel.paces(row.target), lock).send(row)

    def _look_again(self, name: str, target: str, until: int | None) -> None:
        """What was committed while we unlocked was told to nobody."""
        if self._stop.is_set:
            return
        bell = key(name, target)
        if until is not None:
            self._later(until, bell)
            return
        row = outbox.head(self._db, name, target, self._stream)
        if row is None:
            return
        if is_due(row.not_before):
            self._ring(bell)
        else:
            assert row.not_before is not None
            self._later(row.not_before, bell)
