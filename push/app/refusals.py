"""Counting what is ignored: one audit record per sender, reason and minute, however much comes.

Owns that a flood of strangers fills neither disk nor log; does not own who is refused (`push.providers`).
"""

from __future__ import annotations

import math
from collections import Counter

from push import clock
from push.audit import Audit
from push.ledger import allowlist
from push.ledger.database import Database
from push.providers.base import Ignored

_MINUTE_SECONDS = 60.0
_MOST_KEYS = 1000

NOT_ALLOWLISTED = "not_allowlisted"


class Refusals:
    """Used by the one thread that reads the channel."""

    def __init__(self, db: Database, audit: Audit, channel: str) -> None:
        self._db = db
        self._audit = audit
        self._channel = channel
        self._strangers: Counter[tuple[str, str]] = Counter()
        self._minutes: dict[tuple[str, str | None, str | None], tuple[float, int]] = {}

    def take(self, ignored: Ignored) -> None:
        """Record the first of its kind in a minute at once, and the number of the others when the minute is over."""
        now = clock.monotonic()
        if ignored.reason == NOT_ALLOWLISTED and ignored.sender is not None:
            self._strangers[ignored.sender, ignored.chat or ignored.sender] += 1
        key = (ignored.reason, ignored.sender, ignored.chat)
        if key in self._minutes and now - self._minutes[key][0] < _MINUTE_SECONDS:
            since, more = self._minutes[key]
            self._minutes[key] = (since, more + 1)
            return
        self._end(now)
        self._minutes[key] = (now, 0)
        self._record(key, 1, ignored.kind)

    def flush(self) -> None:
        """After a batch: store the counts of strangers, and record the minutes that are over."""
        self._end(clock.monotonic())
        if self._strangers:
            allowlist.refuse(self._db, self._channel, dict(self._strangers))
            self._strangers.clear()

    def close(self) -> None:
        """The channel is read no more: what this minute has counted is recorded."""
        self._end(math.inf)

    def _end(self, now: float) -> None:
        for key, (since, more) in list(self._minutes.items()):
            if now - since >= _MINUTE_SECONDS or len(self._minutes) > _MOST_KEYS:
                del self._minutes[key]
                if more:
                    self._record(key, more, None)

    def _record(self, key: tuple[str, str | None, str | None], count: int, kind: str | None) -> None:
        reason, sender, chat = key
        self._audit.record(
            "message_ignored",
            channel=self._channel,
            reason=reason,
            sender=sender,
            chat_identifier=chat,
            kind=kind,
            count=count,
        )
