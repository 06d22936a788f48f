"""Chat commands that are handled at once, beside what runs: help, status, stop."""

from __future__ import annotations

from push.config.settings import Settings
from push.gateway import commands
from push.ledger.database import Database
from push.model.values import Turn
from push.state import StateFile


class Controls:
    """Carries out control commands, one at a time per conversation."""

    def __init__(self, settings: Settings, db: Database, state: StateFile) -> None:
        self._settings = settings
        self._db = db
        self._state = state

    def run(self, turn: Turn) -> str:
        """What to answer. May be called a second time for a command that a crash cut short."""
        return "\n".join(f"/{name} {text}" for name, text in commands.menu())

    def make_way(self, conversation_id: int) -> None:
        """Stop what runs where a message wants to be handled before it (`/now`)."""
