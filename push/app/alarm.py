"""A channel that has been deaf for minutes is told to the owner through another channel, where there is one.

Owns when that is; does not own delivering it.
"""

from __future__ import annotations

import logging

from push import clock
from push.errors import PushError
from push.ledger import conversations, outbox
from push.model.values import Part
from push.tasks import deliver
from push.tasks.bells import Bells
from push.tasks.roles import DEAF_SECONDS
from push.tasks.turns import Gear

log = logging.getLogger(__name__)


class Deafness:
    """Watches one channel. Used by the thread that reads it."""

    def __init__(self, gear: Gear, bells: Bells, channel: str) -> None:
        self._gear = gear
        self._bells = bells
        self._channel = channel
        self._heard_at = clock.monotonic()
        self._told = False

    def heard(self) -> None:
        """The channel answered."""
        self._heard_at = clock.monotonic()
        self._told = False

    def check(self, note: str) -> None:
        """The channel did not answer, for the reason in `note`: tell the owner once, when it has lasted."""
        seconds = clock.monotonic() - self._heard_at
        if self._told or seconds < DEAF_SECONDS:
            return
        text = f"⚠️ Push has not been able to read {self._channel} for {seconds / 60:.0f} minutes: {note}"
        try:
            found = conversations.newest_elsewhere(self._gear.db, self._channel, self._gear.settings.channels)
            if found is None:
                return
            outbox.enqueue_notice(self._gear.db, found.id, found.target, "deaf", (Part(text),))
            self._told = True
        except PushError as exc:
            log.warning("the owner could not be told: %s", exc.message)
            return
        self._bells.deliver(found.channel, found.target, deliver.NORMAL)
