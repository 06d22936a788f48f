"""What runs have used: of a conversation, a day, an agent. Does not own how a run's share is found (`turns`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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


#: What the sums are told apart by -> its name in SQL. A day is one of the machine's own zone.
_NAMES: Final = {
    "day": "date(t.queued_at / 1000, 'unixepoch', 'localtime')",
    "agent": "t.agent",
    "conversation": "(SELECT key FROM conversation WHERE id = t.conversation_id)",
}
GROUPS: Final = tuple(_NAMES)


@dataclass(frozen=True, slots=True)
class Share:
    """What a day, an agent or a conversation used; `priced` counts the messages of which the cost is known."""

    name: str
    used: Used
    priced: int


def shares(db: Database, by: str, since: int) -> list[Share]:
    """The sums over messages accepted since an instant: days in their order, else who used most first.

    What failed counts too. Looks at those messages only.
    """
    order = "1" if by == "day" else "coalesce(sum(input_tokens), 0) + coalesce(sum(output_tokens), 0) DESC, 2 DESC, 1"
    rows = db.rows(
        f"SELECT {_NAMES[by]}, count(*), sum(input_tokens), sum(output_tokens), sum(cost_usd), count(cost_usd) "
        "FROM turn t INDEXED BY turn_used WHERE agent IS NOT NULL AND queued_at >= ? "
        f"GROUP BY 1 ORDER BY {order}",
        (since,),
    )
    return [Share(row[0], Used(*row[1:5]), row[5]) for row in rows]
