"""What pressing a button of ours does. Does not own posting the buttons (`push.tasks.signs`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from push.gateway import cancelling
from push.ledger import turns
from push.ledger.database import Database
from push.model.machines import TURN
from push.providers.base import Pressed

_STOP = "stop:"
_MOST_DIGITS = 18  # of a row's id


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person is shown. `conversation_id`: where something changed. `is_stale`: the button is of no use."""

    text: str
    conversation_id: int | None = None
    is_stale: bool = False


def stop_button(turn_id: int) -> str:
    """What the button that stops a turn sends back."""
    return f"{_STOP}{turn_id}"


def press(db: Database, spools: Path, pressed: Pressed) -> Answer:
    """Carry out a press. A button of another conversation, or that we never made, does nothing."""
    number = pressed.data.removeprefix(_STOP)
    if not pressed.data.startswith(_STOP) or not number.isascii() or not number.isdigit() or len(number) > _MOST_DIGITS:
        return Answer("This button does nothing any more.")
    turn = turns.get(db, int(number))
    if turn is None or turn.conversation != pressed.conversation:
        return Answer("This button does nothing here.")
    if turn.state not in TURN.open or not cancelling.cancel(db, spools, turn.id):
        return Answer("It is over already.", turn.conversation_id, is_stale=True)
    return Answer("Stopping.", turn.conversation_id)
