"""Chat commands that are handled at once, beside what runs: help, status, stop; and making way for `/now`.

Owns what they do, each so that doing it twice is harmless; does not own committing what is answered (`push.tasks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from push import clock
from push.gateway import cancelling, commands, standing
from push.gateway.quantities import counted, span
from push.ledger import conversations, line
from push.ledger.database import Database
from push.ledger.line import Place
from push.model.values import Turn

DEFECT = "⚠️ Push could not do this; its log on the machine says why."
_NOTHING = "Nothing runs or waits here."
_BY_ITSELF = "Nothing to stop: it had just ended by itself."

#: The poller's loops: name -> (last beat, note).
Loops = Callable[[], Mapping[str, tuple[int, str]]]


class Controls:
    """Carries out control commands, one at a time per conversation."""

    def __init__(self, db: Database, spools: Path, loops: Loops) -> None:
        self._db = db
        self._spools = spools
        self._loops = loops

    def run(self, turn: Turn) -> str:
        """What to answer. May be called a second time for a command that a crash cut short."""
        command = commands.recognise(turn.text)
        assert command is not None
        if command.mistake:
            return command.mistake
        if command.name == "status":
            return standing.text(self._db, turn.conversation_id, self._loops())
        if command.name == "stop":
            return self._stop_all(turn) if command.argument else self._stop(turn)
        return "\n".join(f"/{name}: {text}" for name, text in commands.menu())

    # -- stop ----------------------------------------------------------------------------------------------------

    def _stop(self, command: Turn) -> str:
        """Stop what ran when the command was accepted: never what has come, or begun, in its place since."""
        if said := self._ended(command):
            return said
        places = self._before(command)
        if not places:
            return _NOTHING
        head = places[0]
        if not cancelling.cancel(self._db, self._spools, head.id):
            return self._ended(command) or _BY_ITSELF  # between the two looks
        if head.state != "running":
            return f"Nothing runs here. {_taken(head)}{_more(len(places) - 1)}"
        return f"{_stopping(head)}{_more(len(places) - 1)}"

    def _ended(self, command: Turn) -> str:
        """What became of the message that ended first since the command was accepted; "" where none did."""
        ended = line.ended_since(self._db, command)
        if not ended:
            return ""
        number, state = ended[0]
        return f"Message {number} is stopped." if state == "cancelled" else _BY_ITSELF

    def _stop_all(self, command: Turn) -> str:
        """Take back what waits, then stop what runs, so that nothing of it can begin in between."""
        while line.take_back(self._db, [place.id for place in self._before(command) if place.state != "running"]):
            pass  # a line is looked at in pieces
        left = self._before(command)
        for place in left:
            cancelling.cancel(self._db, self._spools, place.id)
        running = next((place for place in left if place.state == "running"), None)
        cancelled = [number for number, state in line.ended_since(self._db, command) if state == "cancelled"]
        others = sum(running is None or number != running.id for number in cancelled)
        if running is None:
            return f"Took back {counted(others, 'message')}; nothing runs here." if others else _NOTHING
        return _stopping(running) + (f" Took back {counted(others, 'message')} more." if others else "")

    def _before(self, command: Turn) -> list[Place]:
        """The line as it is now, without what was said after the command."""
        return [place for place in line.of(self._db, command.conversation_id) if place.id < command.id]

    # -- now -----------------------------------------------------------------------------------------------------

    def make_way(self, conversation_id: int) -> int | None:
        """Stop what runs where a message wants to be handled before it (`/now`).

        Returns the newest such message; None where none waits any more. What began after it was said goes on: that is
        an earlier `/now`.
        """
        places = line.of(self._db, conversation_id)
        wishes = self._wishes(conversation_id, places)
        if not wishes:
            return None
        newest, head = max(wishes, key=lambda place: place.id), places[0]
        began_after = head.ahead and (head.started_at or 0) > newest.queued_at
        if head.has_begun and not began_after:
            cancelling.cancel(self._db, self._spools, head.id)
        return newest.id

    def newest_wish(self, conversation_id: int) -> int | None:
        """The newest message that waits to be handled before what runs."""
        wishes = self._wishes(conversation_id, line.of(self._db, conversation_id))
        return max((place.id for place in wishes), default=None)

    def _wishes(self, conversation_id: int, places: list[Place]) -> list[Place]:
        """None in a paused conversation: what makes way there would make it for nothing."""
        wishes = [place for place in places if place.ahead and not place.has_begun]
        return [] if wishes and conversations.is_paused(self._db, conversation_id) else wishes


def _stopping(place: Place) -> str:
    lasted = span(clock.now_ms() - (place.started_at or place.queued_at))
    return f"Stopping message {place.id}, at work for {lasted}."


def _taken(place: Place) -> str:
    return f"Took back message {place.id}, which waited for {span(clock.now_ms() - place.queued_at)}."


def _more(count: int) -> str:
    if not count:
        return ""
    return f" {counted(count, 'more waits', 'more wait')}; /stop all takes {'it' if count == 1 else 'them'} back too."
