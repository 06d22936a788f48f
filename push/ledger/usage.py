"""What runs have used: of a conversation, a day, an agent. Does not own how a run's share is found (`turns`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, TypeVar

from push import clock
from push.ledger.database import Database

N = TypeVar("N", int, float)


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


_QUARTER_MS = 15 * 60 * 1000  # every zone's day begins with one

#: What the sums are told apart by -> its name in SQL.
_NAMES: Final = {
    "day": f"queued_at / {_QUARTER_MS}",
    "agent": "agent",
    "conversation": "(SELECT key FROM conversation WHERE id = conversation_id)",
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

    What failed counts too. A day is one of the machine's own zone. Looks at those messages only.
    """
    rows = db.rows(
        f"SELECT {_NAMES[by]}, count(*), sum(input_tokens), sum(output_tokens), sum(cost_usd), count(cost_usd) "
        "FROM turn t INDEXED BY turn_used WHERE agent IS NOT NULL AND queued_at >= ? GROUP BY 1",
        (since,),
    )
    found = [Share(str(row[0]), Used(*row[1:5]), row[5]) for row in rows]
    if by == "day":
        days = groupby(found, lambda share: clock.local_day(int(share.name) * _QUARTER_MS))
        return [total(day, list(parts)) for day, parts in days]
    return sorted(found, key=lambda share: (-_tokens(share.used), -share.used.messages, share.name))


def total(name: str, parts: Sequence[Share]) -> Share:
    """Their sum; what none of them knows stays unknown."""
    used = Used(
        sum(part.used.messages for part in parts),
        _sum([part.used.input_tokens for part in parts]),
        _sum([part.used.output_tokens for part in parts]),
        _sum([part.used.cost_usd for part in parts]),
    )
    return Share(name, used, sum(part.priced for part in parts))


def _sum(values: Sequence[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _tokens(used: Used) -> int:
    return (used.input_tokens or 0) + (used.output_tokens or 0)
