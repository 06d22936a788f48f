"""What a conversation has used, for `/usage`. Does not own the sums (`push.ledger.usage`)."""

from __future__ import annotations

from push import clock
from push.gateway.quantities import counted
from push.ledger import usage
from push.ledger.database import Database
from push.ledger.usage import Used

_DAY_MS = 24 * 3600 * 1000


def text(db: Database, conversation_id: int) -> str:
    """The whole answer."""
    whole = usage.of(db, conversation_id)
    if not whole.messages:
        return "No agent has run in this conversation yet."
    day = usage.of(db, conversation_id, clock.now_ms() - _DAY_MS)
    return f"In the last 24 hours: {_sentence(day)}.\nIn all: {_sentence(whole)}."


def _sentence(used: Used) -> str:
    parts = [counted(used.messages, "message")]
    if used.input_tokens is not None or used.output_tokens is not None:
        parts.append(f"{used.input_tokens or 0:,} tokens read, {used.output_tokens or 0:,} written")
    if used.cost_usd is not None:
        parts.append(f"${used.cost_usd:.2f}")
    return ", ".join(parts)
