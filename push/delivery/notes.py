"""What is put before a part that a person may wonder about. Does not own how a channel shows it."""

from __future__ import annotations

from push import clock
from push.model.values import Outbound, OutboundPart

_REPEAT = "🔁 Possibly a repeat:"
_LATE = "⏳ Late, written {at}:"
_UNDELIVERED = "⚠️ An earlier answer could not be delivered (push retries list)."
_UNDELIVERED_MANY = "⚠️ {count} earlier answers could not be delivered (push retries list)."


def before(row: Outbound, part: OutboundPart, missed: int) -> str:
    """The note before `part`; "" for none. At most 90 UTF-16 units.

    `missed` counts earlier answers of the conversation that the person does not know to be undeliverable.
    """
    if part.repeats:
        return _REPEAT
    if row.late and part.seq == row.parts[0].seq:
        return _LATE.format(at=f"{clock.from_ms(row.created_at):%d %b %H:%M} UTC")
    return undelivered(missed) if missed else ""


def undelivered(count: int) -> str:
    """What a person is told at the next contact about `count` answers that did not reach him."""
    return _UNDELIVERED if count == 1 else _UNDELIVERED_MANY.format(count=count)
