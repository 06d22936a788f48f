"""The signs of life: when each is due in a conversation, and showing it.

Owns typing, the progress message (posted, edited, removed) and the acknowledgement of what waits. Each is shown once
and best effort: after an act the sign is due later, whatever came of it. Does not own when one looks (`signs.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from push import clock
from push.agents import process
from push.agents.spool import Spool
from push.gateway import notices, presses
from push.gateway.planning import Planner
from push.ledger import pace, progress, turns
from push.ledger.line import Place
from push.ledger.progress import Progress
from push.model.values import Delivered, NotSent, Refused, SendOutcome, Unknown
from push.providers.registry import Connected
from push.seams import seam
from push.tasks.drain import MAX_POSTPONE_MS
from push.tasks.signbook import Memory
from push.tasks.turns import Gear

TYPING_MS = 4000
POST_AFTER_MS = 15_000
EDIT_MS = 10_000
ACKNOWLEDGE_AFTER_MS = 5000
_SOON_MS = 1000  # what is due by then counts as due
_LONGEST_TYPING_MS = 60_000
_BUDGET_MS = 1000  # until a sign that the budget did not allow is tried again
_POST_AGAIN_MS = 15_000
_MOST_POSTS = 4
#: Until a message that could not be removed is tried again; after the last it stays where it is.
_REMOVE_AGAIN_MS = (2000, 10_000, 60_000, 600_000, 3_600_000, 14_400_000, 43_200_000)


@dataclass(frozen=True, slots=True)
class Look:
    """How a conversation stands: its line, the messages about its runs, and its channel, silent until `free_at`."""

    places: tuple[Place, ...]
    standing: tuple[Progress, ...]
    channel: Connected
    target: str
    memory: Memory
    free_at: int
    wants_progress: bool

    @property
    def head(self) -> Place | None:
        """The message that is, or will be, worked on; a command needs no sign."""
        return self.places[0] if self.places and self.places[0].kind == "message" else None


class Show:
    """What signs are shown with."""

    def __init__(self, gear: Gear, planner: Planner) -> None:
        self.db = gear.db
        self._planner = planner
        self._spools = gear.settings.home.spool

    def may_send(self, look: Look) -> bool:
        """Draw a send from the chat's budget; better left out than sent late."""
        return pace.try_take(self.db, look.channel.name, look.channel.paces(look.target))

    def heed(self, look: Look, outcome: SendOutcome) -> SendOutcome:
        """A pause that the service asks for holds for the whole chat."""
        if isinstance(outcome, NotSent) and outcome.retry_after:
            key = look.channel.paces(look.target)[0].key
            pace.pause(self.db, look.channel.name, key, outcome.retry_after, outcome.reason)
        return outcome

    def progress_text(self, place: Place) -> str:
        """What the message about a run says now."""
        agent = place.agent or "the agent"
        activity = self._planner.reader(agent).activity(self._spool(place).out) if place.agent else None
        return notices.progress(agent, activity, clock.now_ms() - (place.started_at or place.queued_at))

    def is_ending(self, place: Place) -> bool:
        """Whether a person has asked for the end of a run."""
        return process.asked_to_cancel(self._spool(place))

    def _spool(self, place: Place) -> Spool:
        return Spool.at(self._spools, f"t{place.id}-{place.attempt}")


class Sign(Protocol):
    """One kind of sign. Before an act nothing of it is due twice: `act` moves `due` into the future, or to None."""

    def due(self, look: Look) -> int | None:
        """When it is to be shown (milliseconds since 1970); None: not as things stand."""

    def act(self, show: Show, look: Look) -> None:
        """Show it."""


class Removal:
    """A message about a run that is over is removed; some tries, further and further apart."""

    def due(self, look: Look) -> int | None:
        """At once, or when the next try is."""
        return look.memory.remove_at if _over(look) else None

    def act(self, show: Show, look: Look) -> None:
        """Remove them all."""
        memory = look.memory
        for row in _over(look):
            outcome = show.heed(look, look.channel.remove(row.target, row.receipt))
            is_done = isinstance(outcome, Delivered) or (isinstance(outcome, Refused) and outcome.final)
            if is_done or memory.remove_misses >= len(_REMOVE_AGAIN_MS):
                progress.removed(show.db, row.turn_id)
                memory.remove_misses = memory.remove_at = 0
            else:
                memory.remove_at = clock.now_ms() + _REMOVE_AGAIN_MS[memory.remove_misses]
                memory.remove_misses += 1
                return


class Typing:
    """From the moment a message is the one to be answered, every 4 s until it is; rarer where it does not succeed."""

    def due(self, look: Look) -> int | None:
        """For a message that was not shown yet at once, else a distance after the last."""
        head, memory = look.head, look.memory
        if head is None:
            return None
        if head.not_before is not None and _SOON_MS < head.not_before - clock.now_ms() <= MAX_POSTPONE_MS:
            return head.not_before
        if memory.typed_for != head.id and not memory.typing_misses:
            return 0
        return memory.typed_at + min(TYPING_MS << memory.typing_misses, _LONGEST_TYPING_MS)

    def act(self, show: Show, look: Look) -> None:
        """Show it once. It draws from no budget."""
        assert look.head is not None
        memory = look.memory
        memory.typed_at, memory.typed_for = clock.now_ms(), look.head.id
        outcome = show.heed(look, look.channel.typing(look.target))
        memory.typing_misses = 0 if isinstance(outcome, Delivered) else min(memory.typing_misses + 1, 4)


class Posting:
    """After 15 s of a run one message says what it is doing, with a button that stops it."""

    def due(self, look: Look) -> int | None:
        """15 s after the run began, unless the message stands, or could not be posted."""
        head, memory = look.head, look.memory
        if not look.wants_progress or head is None or head.state != "running" or head.id == memory.hushed:
            return None
        if any(row.turn_id == head.id for row in look.standing):
            return None
        return max((head.started_at or head.queued_at) + POST_AFTER_MS, memory.post_at)

    def act(self, show: Show, look: Look) -> None:
        """Post it. Killed before the row is there, it is an orphan: its button, pressed, removes it."""
        assert look.head is not None
        memory, head = look.memory, look.head
        if not show.may_send(look):
            memory.post_at = clock.now_ms() + _BUDGET_MS
            return
        text = show.progress_text(head)
        outcome = show.heed(look, look.channel.post(look.target, text, presses.stop_button(head.id)))
        if isinstance(outcome, Delivered):
            seam("progress.sent")
            progress.posted(show.db, head.id, (look.channel.name, look.target), outcome.receipt)
            memory.shown, memory.post_misses, memory.post_at = text, 0, 0
            return
        memory.post_misses += 1
        memory.post_at = clock.now_ms() + _POST_AGAIN_MS
        if isinstance(outcome, Refused | Unknown) or memory.post_misses >= _MOST_POSTS:
            memory.hushed, memory.post_misses, memory.post_at = head.id, 0, 0


class Editing:
    """The message is brought up to date, at most every 10 s, where it has something new to say."""

    def due(self, look: Look) -> int | None:
        """10 s after the last change, or look."""
        row = _present(look)
        return max(row.edited_at, look.memory.looked_at) + EDIT_MS if row else None

    def act(self, show: Show, look: Look) -> None:
        """Compare, and edit."""
        row, memory, head = _present(look), look.memory, look.head
        assert row is not None
        assert head is not None
        memory.looked_at = clock.now_ms()
        text = show.progress_text(head)
        if text == memory.shown or not show.may_send(look):
            return
        outcome = show.heed(look, look.channel.edit(row.target, row.receipt, text, presses.stop_button(row.turn_id)))
        progress.edited(show.db, row.turn_id)
        if isinstance(outcome, Delivered):
            memory.shown = text
        elif isinstance(outcome, Refused):  # a person removed it, perhaps
            memory.hushed = row.turn_id


class Acknowledgement:
    """One short notice for all messages that have begun to wait behind another, when the first has waited for 5 s."""

    def due(self, look: Look) -> int | None:
        """None also where one of them is about to run."""
        waiting = _waiting(look)
        return (
            max(min(place.queued_at for place in waiting) + ACKNOWLEDGE_AFTER_MS, look.memory.ack_at)
            if waiting
            else None
        )

    def act(self, show: Show, look: Look) -> None:
        """Post it, once: it counts as told before it is."""
        waiting = _waiting(look)
        if show.is_ending(look.places[0]) or not show.may_send(look):
            look.memory.ack_at = clock.now_ms() + _BUDGET_MS
            return
        turns.acknowledge(show.db, [place.id for place in waiting])
        show.heed(look, look.channel.post(look.target, notices.waiting(len(waiting))))


SIGNS: Final[tuple[Sign, ...]] = (Removal(), Typing(), Posting(), Editing(), Acknowledgement())


def _over(look: Look) -> list[Progress]:
    return [row for row in look.standing if row.turn_state != "running"]


def _present(look: Look) -> Progress | None:
    """The message about the run of this moment, where it is still to be changed."""
    head = look.head
    if head is None or head.state != "running" or head.id == look.memory.hushed:
        return None
    return next((row for row in look.standing if row.turn_id == head.id), None)


def _waiting(look: Look) -> list[Place]:
    """The messages behind a running one whose senders do not know; one that stops it (`/now`) is about to run."""
    if not look.places or look.places[0].state != "running":
        return []
    return [
        place
        for place in look.places[1:]
        if place.kind == "message" and not place.has_begun and not place.ahead and place.acknowledged_at is None
    ]
