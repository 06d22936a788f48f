"""Chat commands that are handled in order, as turns of their own, without an agent."""

from __future__ import annotations

from dataclasses import dataclass

from push.config.settings import Settings
from push.gateway import commands, usage
from push.gateway.choosing import Choosing
from push.gateway.commands import Command
from push.ledger import turns
from push.ledger.database import Database
from push.model.values import Turn
from push.state import StateFile

NEW_SESSION = "A new session begins with your next message."
TEXT_ERASED = "Your last message is too old: its text is no longer kept. Send it again."
NOTHING_TO_RETRY = "There is no earlier message here to run again."


@dataclass(frozen=True, slots=True)
class Again:
    """The command stands for this message, which is to be run in its place."""

    text: str
    context: str | None


class Ordered:
    """Carries out commands, each under its conversation's lock."""

    def __init__(self, settings: Settings, db: Database, state: StateFile) -> None:
        self._db = db
        self._state = state
        self._choosing = Choosing(settings, db)

    def run(self, turn: Turn) -> str | Again:
        """What to answer, or the message to run. May be called a second time for a turn that a crash cut short."""
        command = commands.recognise(turn.text)
        assert command is not None
        if command.mistake:  # accepted by a version that knew other arguments
            return command.mistake
        return self._retry(turn) if command.name == "retry" else self._answer(turn, command)

    def _answer(self, turn: Turn, command: Command) -> str:
        match command.name:
            case "new":
                self._state.reset_session(turn.conversation)
                return NEW_SESSION
            case "agent":
                return self._choosing.agent(turn, command.argument)
            case "model":
                return self._choosing.model(turn, command.argument)
            case "usage":
                return usage.text(self._db, turn.conversation_id)
            case "unsupported":
                kind = command.argument.replace("_", " ")
                return f"Push can read only text so far; this {kind} was not read."
        raise AssertionError(f"/{command.name} is none of the commands in order")

    def _retry(self, turn: Turn) -> str | Again:
        last = turns.last_message(self._db, turn)
        if last is None:
            return NOTHING_TO_RETRY
        text = turns.whole_text(self._db, last)
        return Again(text, last.context) if text else TEXT_ERASED
