"""getUpdates and the webhook: the poll that blocks, and which of two pollers wins.

Owns waiting; does not own the queue's order (updates.py).
"""

from __future__ import annotations

import time
from typing import Any

from tests.telegram.records import Refused
from tests.telegram.world import World

LONGEST = 50  # seconds
MOST = 100  # updates

OTHER_POLLER = "terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_ACTIVE = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
WEBHOOK_SET = "terminated by setWebhook request"


class Polling:
    """At most one poll waits; a newer one ends it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: object | None = None
        self._ended_by = OTHER_POLLER
        self._offset: int | None = None  # of the poll before, with the times of its start and end
        self._started = self._finished = float("-inf")
        self._next_conflict = float("-inf")

    def get_updates(self, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        """The earliest unconfirmed updates, as soon as there are some. The caller holds the world's lock."""
        world, offset = self._world, parameters.get("offset", 0)
        if "allowed_updates" in parameters:
            world.queue.allow(parameters["allowed_updates"])
        if world.webhook:
            raise self._conflict(WEBHOOK_ACTIVE)
        limit = min(max(parameters.get("limit", MOST), 1), MOST)
        timeout = float(min(max(parameters.get("timeout", 0), 0), LONGEST))
        now = time.monotonic()
        if offset == self._offset:  # a bot that spins on one offset is slowed down
            if now < self._started + world.bot.hold:
                timeout = max(timeout, world.bot.hold)
            if now < self._finished + 0.5:
                limit = 1
        self._offset, self._started = offset, now
        world.queue.confirm(offset, world.now())
        world.touch()
        mine = self._waiting = object()  # from now on a poll that waited before is the older one
        self._ended_by = OTHER_POLLER
        world.wait(lambda: self._waiting is not mine or bool(world.queue.waiting), timeout)
        if self._waiting is not mine:
            raise self._conflict(self._ended_by)
        self._waiting = None
        self._finished = time.monotonic()
        return [] if world.stopped else world.queue.first(limit)

    def set_webhook(self, url: str) -> bool:
        """Send updates to an address (nobody does: they stay queued) or, with "", let the bot poll again."""
        self._world.webhook = url
        if url:
            self._waiting, self._ended_by = None, WEBHOOK_SET
        self._world.touch()
        return True

    def webhook_info(self) -> dict[str, Any]:
        """The method getWebhookInfo."""
        waiting = len(self._world.queue.waiting)
        return {"url": self._world.webhook, "has_custom_certificate": False, "pending_update_count": waiting}

    def _conflict(self, reason: str) -> Refused:
        now = time.monotonic()
        if now < self._next_conflict:
            self._world.wait(lambda: False, self._world.bot.hold)
        else:
            self._next_conflict = now + self._world.bot.hold
        return Refused(409, f"Conflict: {reason}")
