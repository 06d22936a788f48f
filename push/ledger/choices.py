"""What a person chose for one conversation: its agent and its model. Does not own the settings' rules."""

from __future__ import annotations

from dataclasses import dataclass

from push.ledger.database import Database


@dataclass(frozen=True, slots=True)
class Choice:
    """None: as the settings, or the agent's own configuration, say."""

    agent: str | None = None
    model: str | None = None


def of(db: Database, conversation_id: int) -> Choice:
    """What was chosen for a conversation."""
    row = db.one("SELECT agent, model FROM conversation WHERE id = ?", (conversation_id,))
    return Choice(*row) if row else Choice()


def choose(db: Database, conversation_id: int, choice: Choice) -> None:
    """Keep the choice; it holds from the next run on."""
    with db.write():
        sql = "UPDATE conversation SET agent = ?, model = ? WHERE id = ?"
        db.execute(sql, (choice.agent, choice.model, conversation_id))
