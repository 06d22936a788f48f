"""The lane `control`: commands that are handled at once, whatever runs. Does not own their words (`push.gateway`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from push.gateway.controls import Controls
from push.ledger import turns
from push.locks import FileLock
from push.model.values import Part, Rendered, Turn
from push.tasks.turns import Gear


class Control:
    """Answers the bells of the control lane: a conversation's open commands, in their order."""

    def __init__(self, gear: Gear, ended: Callable[[Turn], None], ring: Callable[[int], None]) -> None:
        """`ended` is called after each command, so that its answer is sent; `ring` rings the conversation's turns."""
        self._gear = gear
        self._controls = Controls(gear.settings, gear.db, gear.state)
        self._ended = ended
        self._ring = ring
        self._locks: Path = gear.settings.home.run / "locks"

    def __call__(self, conversation_id: int) -> None:
        """Handle what is open; what is committed while we unlock is rung for by whoever commits it."""
        lock = FileLock.take(self._locks / f"x{conversation_id}.lock")
        if lock is None:
            return
        try:
            while (turn := turns.control_head(self._gear.db, conversation_id)) is not None:
                text = self._controls.run(turn)
                turns.answer_command(self._gear.db, turn, Rendered((Part(text),)))
                self._ended(turn)
            self._controls.make_way(conversation_id)
        finally:
            lock.unlock()
        self._ring(conversation_id)
