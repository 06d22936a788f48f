"""Sending one outbound row: what each outcome of an attempt leads to. Does not own whose turn it is (`push.tasks`).

The row is `sending` before a part leaves, so that a killed sender leaves an unknown outcome and never a forgotten one.
The caller holds the lock of the target's stream.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from push import clock
from push.delivery import notes
from push.delivery.journal import Journal
from push.errors import TemporaryError
from push.ledger import outbox, pace
from push.ledger.database import Database
from push.locks import FileLock
from push.model.values import (
    Delivered,
    NotSent,
    Outbound,
    OutboundPart,
    Pace,
    Part,
    Refused,
    SendOutcome,
    Unknown,
)
from push.seams import seam

#: Refusals that may not be for good are tried this often in all.
MAX_ATTEMPTS = 3
_REFUSED_SECONDS = 5.0
_LONGEST_BACKOFF_SECONDS = 60.0
_STORE_AGAIN_SECONDS = 1.0

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Sends a part of a row, once, with a note before its text ("" for none).
SendPart = Callable[[int, Part, str], SendOutcome]


@dataclass(frozen=True, slots=True)
class Policy:
    """How long an unsent row is tried (seconds), and whether an unknown outcome is followed by one more send.

    `gives_up` sleeps where push.db cannot take an outcome, and says whether to stop trying (the process ends).
    """

    expire_after: float
    resend_unknown: bool
    gives_up: Callable[[float], bool] = lambda _seconds: True


@dataclass(frozen=True, slots=True)
class Ended:
    """The row is out of the way: delivered, given up, or held for a person."""

    delivered: bool


@dataclass(frozen=True, slots=True)
class Waits:
    """The row, and those behind it, wait until this instant (milliseconds since 1970)."""

    until: int


class Sender:
    """Sends rows of one channel by one policy."""

    def __init__(
        self,
        db: Database,
        policy: Policy,
        send_part: SendPart,
        paces: Sequence[Pace] = (),
        lock: FileLock | None = None,
    ) -> None:
        """The first of `paces` is the chat's own: a pause that the service asks for stops it.

        `lock` is the stream's, whose file keeps how far a send came; without one a killed sender leaves doubt.
        """
        self._db = db
        self._policy = policy
        self._send_part = send_part
        self._paces = paces
        self._journal = Journal(lock)

    def send(self, row: Outbound) -> Ended | Waits:
        """Send what of `row` is not delivered yet, in order, as far as budgets and outcomes allow."""
        if row.state == "sending":  # we hold the stream's lock: whoever was sending it is dead
            return self._recover(row)
        if row.state == "waiting" and clock.now_ms() - row.since > self._policy.expire_after * 1000:
            outbox.end(self._db, row, "failed", "expired")
            return Ended(delivered=False)
        self._journal.claimed(row.id)
        free = outbox.claim(self._db, row, self._paces)
        return Waits(free) if free is not None else self._send(row)

    def _recover(self, row: Outbound) -> Ended | Waits:
        """Take up what a killed sender left: what it came to where that is proven, else as an unknown outcome."""
        part = next(part for part in row.parts if not part.delivered)
        outcome = self._journal.proof(row.id, part.seq)
        match outcome:
            case Delivered(receipt):
                until = outbox.part_delivered(self._db, row, part.seq, receipt, self._paces)
                is_last = part.seq == row.parts[-1].seq
                return Ended(delivered=True) if is_last else Waits(until or clock.now_ms())
            case Unknown(reason):
                return self._unknown(row, part, reason, "recovery")
            case _:
                return self._not_delivered(row, part, outcome)

    def _send(self, row: Outbound) -> Ended | Waits:
        row = outbox.get(self._db, row.id)
        missed = outbox.untold(self._db, row.conversation_id)
        for part in row.parts:
            if part.delivered:
                continue
            note = notes.before(row, part, len(missed))
            outcome = self._attempt(row, part, note)
            seam("delivery.part_received")
            if not isinstance(outcome, Delivered):
                return self._store(partial(self._not_delivered, row, part, outcome))
            if missed and note == notes.undelivered(len(missed)):
                self._store(partial(outbox.told, self._db, missed))
            delivered = partial(outbox.part_delivered, self._db, row, part.seq, outcome.receipt, self._paces)
            until = self._store(delivered)
            missed = []
            if until is not None:
                return Waits(until)
        return Ended(delivered=True)

    def _attempt(self, row: Outbound, part: OutboundPart, note: str) -> SendOutcome:
        self._journal.handed(row.id, part.seq)
        outcome = self._send_part(part.seq, part.part, note)
        seam("delivery.part_sent")
        match outcome:
            case Delivered(receipt):
                self._journal.received(row.id, part.seq, receipt)
            case NotSent() | Refused():
                with suppress(OSError):
                    self._journal.claimed(row.id)
        return outcome

    def _store(self, outcome: Callable[[], T]) -> T:
        """What became of a send is known to us alone: forgotten, it would be unknown, and sent twice."""
        while True:
            try:
                return outcome()
            except TemporaryError:
                log.warning("what became of a send cannot be stored; trying on")
                if self._policy.gives_up(_STORE_AGAIN_SECONDS):
                    raise

    def _not_delivered(self, row: Outbound, part: OutboundPart, outcome: NotSent | Refused | Unknown) -> Ended | Waits:
        match outcome:
            case NotSent(reason, retry_after):
                return Waits(self._later(row, reason, retry_after))
            case Refused(reason, final) if final or row.attempt + 1 >= MAX_ATTEMPTS:
                outbox.end(self._db, row, "failed", reason)
                return Ended(delivered=False)
            case Refused(reason):
                return Waits(outbox.try_again(self._db, row, reason, _REFUSED_SECONDS * (row.attempt + 1)))
            case Unknown(reason):
                return self._unknown(row, part, reason, "sender")

    def _later(self, row: Outbound, reason: str, retry_after: float | None) -> int:
        """Proven not executed: after what the service asks for, which holds for the whole chat, else backing off."""
        if retry_after is None:
            backoff = min(2.0**row.delays, _LONGEST_BACKOFF_SECONDS)
            return outbox.not_sent(self._db, row, reason, backoff * random.uniform(0.8, 1.2))
        retry_after = min(retry_after, pace.MAX_PAUSE_MS / 1000)
        if self._paces and retry_after > 0:
            pace.pause(self._db, row.channel, self._paces[0].key, retry_after, reason)
        return outbox.not_sent(self._db, row, reason, retry_after)

    def _unknown(self, row: Outbound, part: OutboundPart, reason: str, by: str) -> Ended | Waits:
        """It may have been executed: once more, marked; a second time, or with `hold`, a person decides."""
        if part.repeats or not self._policy.resend_unknown:
            outbox.hold(self._db, row, reason, by)
            return Ended(delivered=False)
        outbox.unknown(self._db, row, part.seq, reason, by)
        return Waits(clock.now_ms())
