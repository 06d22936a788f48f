"""What is put before a part that a person may wonder about. Does not own how a channel shows it."""

from __future__ import annotations

from push import clock
from push.model.values import Outbound, OutboundPart

REPEAT = "🔁 Possibly a repeat:"
_LATE = "⏳ Late, written {at}:"
UNDELIVERED = "⚠️ An earlier answer could not be delivered. On the machine: push retries list"
UNDELIVERED_MANY = "⚠️ {count} earlier answers could not be delivered. On the machine: push retries list"


def before(row: Outbound, part: OutboundPart, *, is_first: bool) -> str:
    """The note before `part`, the first of this send or not; "" for none. At most 90 UTF-16 units."""
    if part.repeats:
        return REPEAT
    if row.late and is_first:
        return _LATE.format(at=f"{clock.from_ms(row.created_at):%d %b %H:%M} UTC")
    return ""


def undelivered(count: int) -> str:
    """What a person is told at the next contact about `count` answers that did not reach him."""
    return UNDELIVERED if count == 1 else UNDELIVERED_MANY.format(count=count)
