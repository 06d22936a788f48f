"""Chat commands that are handled in order, as turns of their own, without an agent."""

from __future__ import annotations

from dataclasses import dataclass

from push.config.settings import Settings
from push.gateway import commands
from push.ledger.database import Database
from push.model.values import Turn
from push.state import StateFile

NEW_SESSION = "A new session begins with your next message."


@dataclass(frozen=True, slots=True)
class Again:
    """The command stands for this message, which is to be run in its place."""

    text: str
    context: str | None


class Ordered:
    """Carries out commands, each under its conversation's lock."""

    def __init__(self, settings: Settings, db: Database, state: StateFile) -> None:
        self._settings = settings
        self._db = db
        self._state = state

    def run(self, turn: Turn) -> str | Again:
        """What to answer, or the message to run. May be called a second time for a turn that a crash cut short."""
        command = commands.recognise(turn.text)
        assert command is not None
        self._state.reset_session(turn.conversation)
        return NEW_SESSION
