"""Sending one outbound row. Does not own whose turn it is, nor how a channel sends.

The row is `sending` before the first part leaves, so that a killed sender leaves an unknown outcome and never a
forgotten one. The caller holds the target's lock.
"""

from __future__ import annotations

from collections.abc import Callable

from push.ledger import outbox
from push.ledger.database import Database
from push.model.values import Delivered, NotSent, Outbound, Refused, SendOutcome, Unknown
from push.seams import seam

#: Sends part (sequence, text) of a row, once.
SendPart = Callable[[int, str], SendOutcome]

RETRY_SECONDS = 1.0


def send(db: Database, row: Outbound, send_part: SendPart) -> SendOutcome:
    """Send what of `row` is not yet delivered, in order; returns the outcome of the last part tried."""
    outbox.sending(db, row)
    outcome: SendOutcome = Unknown("nothing to send")
    for sequence, text, done in row.parts:
        if done:
            continue
        outcome = send_part(sequence, text)
        seam("delivery.part_sent")
        match outcome:
            case Delivered(receipt):
                outbox.part_delivered(db, row, sequence, receipt)
            case NotSent(reason, retry_after):
                outbox.not_sent(db, row, reason, retry_after if retry_after is not None else RETRY_SECONDS)
                return outcome
            case Refused(reason):
                outbox.end(db, row, "failed", reason)
                return outcome
            case Unknown(reason):
                outbox.end(db, row, "unknown", reason)
                return outcome
    return outcome
