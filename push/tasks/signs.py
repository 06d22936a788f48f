"""The lane `signs`: typing, progress messages, acknowledgements of what waits. Best effort, holds nothing up.

Owns when a conversation is looked at; does not own what is shown then (`push.tasks.presence`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from push import clock
from push.gateway.planning import Planner
from push.ledger import conversations, line, pace, progress
from push.model.values import Pace
from push.tasks.presence import SIGNS, Look, Show
from push.tasks.signbook import Memory, Signbook
from push.tasks.turns import Gear

_LOOKS = 3
_AGAIN_MS = 1000
_LONGEST_MS = 30_000  # `later` forgets what is further away than a minute

log = logging.getLogger(__name__)


class Signs:
    """Answers the bells of the signs lane: a conversation each. `later` rings one again at an instant."""

    def __init__(self, gear: Gear, later: Callable[[int, int], None]) -> None:
        self._gear = gear
        self._later = later
        self._show = Show(gear, Planner(gear.settings, gear.db, gear.state))
        self._locks = gear.settings.home.run / "locks"

    def __call__(self, conversation_id: int) -> None:
        """Show what is due, and come back when the next sign is."""
        if self._gear.stop.is_set:
            return
        try:
            due = self._next(conversation_id)
        except Exception:  # a full disk, an outage of the ledger, a defect: nothing here may do harm
            log.exception("conversation %d: signs", conversation_id)
            due = clock.now_ms() + _LONGEST_MS
        if due is not None and not self._gear.stop.is_set:
            self._later(min(due, clock.now_ms() + _LONGEST_MS), conversation_id)

    def _next(self, conversation_id: int) -> int | None:
        """Show what is due now; returns when to look again, None where nothing is to be shown any more.

        After unlocking it is looked again: a bell of that moment found the lock taken.
        """
        for _ in range(_LOOKS):
            if self._look(conversation_id, Memory()) is None:
                return None
            book = Signbook.take(self._locks / f"s{conversation_id}.lock")
            if book is None:
                return None  # whoever holds it looks again
            try:
                self._show_due(conversation_id, book.memory)
            finally:
                book.close()
            look = self._look(conversation_id, book.memory)
            due = _due(look) if look is not None else None
            if due is None or due > clock.now_ms():
                return due
        return clock.now_ms() + _AGAIN_MS

    def _show_due(self, conversation_id: int, memory: Memory) -> None:
        for sign in SIGNS:
            look = self._look(conversation_id, memory)  # the one before may have taken seconds
            due = sign.due(look) if look is not None else None
            if look is not None and due is not None and max(due, look.free_at) <= clock.now_ms():
                sign.act(self._show, look)

    def _look(self, conversation_id: int, memory: Memory) -> Look | None:
        """How the conversation stands; None where there is nothing that could be shown, or nowhere to show it."""
        db = self._gear.db
        places = line.of(db, conversation_id)
        if places and places[0].state != "running" and conversations.is_paused(db, conversation_id):
            places = []  # nobody works on what waits there
        standing = progress.of(db, conversation_id)
        if not places and not standing:
            return None
        name, target = (places[0].channel, places[0].target) if places else (standing[0].channel, standing[0].target)
        channel = self._gear.channels.get(name)
        if channel is None:
            return None
        chats = tuple(Pace(budget.key, ()) for budget in channel.paces(target))  # a pause, whatever was sent
        return Look(
            places=tuple(places),
            standing=tuple(standing),
            channel=channel,
            target=target,
            memory=memory,
            free_at=pace.free_at(db, name, chats),
            wants_progress=self._gear.settings.progress == "message",
        )


def _due(look: Look) -> int | None:
    dues = [due for sign in SIGNS if (due := sign.due(look)) is not None]
    return max(min(dues), look.free_at) if dues else None
