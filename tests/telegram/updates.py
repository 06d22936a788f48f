"""The queue of updates as getUpdates shows it: order, offset, what is allowed, 24 hours.

Owns what is in the queue; does not own waiting (polling.py). Every time is given to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KEPT = 86_400.0  # seconds
#: Sent only to bots that ask for them.
NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_KIND_WORDS = (
    "message edited_message channel_post edited_channel_post business_connection business_message "
    "edited_business_message deleted_business_messages message_reaction message_reaction_count inline_query "
    "chosen_inline_result callback_query shipping_query pre_checkout_query purchased_paid_media poll poll_answer "
    "my_chat_member chat_member chat_join_request chat_boost removed_chat_boost managed_bot "
    "stopped_message_generation"
)
KINDS = frozenset(_KIND_WORDS.split())


@dataclass(slots=True)
class Queue:
    """Updates that no offset has confirmed yet. `tail` is the id that the next one gets."""

    tail: int
    allowed: frozenset[str] = KINDS - NOT_BY_DEFAULT
    waiting: list[tuple[dict[str, Any], float]] = field(default_factory=list)

    def allow(self, kinds: list[str]) -> None:
        """Remember which kinds are wanted from now on; what is queued stays. An empty list is the default one."""
        named = KINDS & {kind.lower() for kind in kinds}
        self.allowed = named or KINDS - NOT_BY_DEFAULT

    def add(self, update: dict[str, Any], now: float) -> dict[str, Any]:
        """Queue it unless its kind is not wanted; kinds that no list can name yet always come.

        An id that it brings along is kept, and later ones follow it: Telegram starts anew after a quiet week.
        """
        complete = {"update_id": self.tail, **update}
        self.tail = complete["update_id"] + 1
        kind = next((key for key in complete if key != "update_id"), "")
        if kind not in KINDS or kind in self.allowed:
            self.waiting.append((complete, now + KEPT))
        return complete

    def confirm(self, offset: int, now: float) -> None:
        """Forget what is expired or below the offset. A negative one keeps that many; one too far keeps all."""
        self.waiting = [(update, end) for update, end in self.waiting if end > now]
        if offset < 0:
            self.waiting = self.waiting[offset:]
        elif offset <= self.tail:
            self.waiting = [(update, end) for update, end in self.waiting if update["update_id"] >= offset]

    def first(self, limit: int) -> list[dict[str, Any]]:
        """The earliest unconfirmed updates."""
        return [update for update, _ in self.waiting[:limit]]
