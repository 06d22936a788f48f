"""What the runs of a conversation have used. Does not own how a run's share is found (`push.ledger.turns`)."""

from __future__ import annotations

from dataclasses import dataclass

from push.ledger.database import Database


@dataclass(frozen=True, slots=True)
class Used:
    """Sums over messages that an agent was run for. None: no run said so; tokens are counts, the cost is in USD."""

    messages: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None


_SUMS = (
    "SELECT count(*), sum(input_tokens), sum(output_tokens), sum(cost_usd) FROM turn "
    "WHERE conversation_id = ? AND agent IS NOT NULL AND queued_at >= ?"
)


def of(db: Database, conversation_id: int, since: int = 0) -> Used:
    """What a conversation used for messages accepted since an instant (milliseconds since 1970)."""
    row = db.one(_SUMS, (conversation_id, since))
    assert row is not None
    return Used(*row)
