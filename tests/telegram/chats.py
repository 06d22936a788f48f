"""The chats that the fake knows: people, groups, topics, message ids, and whether a bot may write there.

Owns who can be reached and why not; does not own what is sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.telegram.records import Refused, bad

GENERAL = 1  # the topic that every forum has: a message to it must not name it, an action may
_FIRST_SUPERGROUP = -1_000_000_000_000

#: State of a chat -> the 403 that every message to it meets.
_CLOSED = {
    "blocked": "Forbidden: bot was blocked by the user",
    "deactivated": "Forbidden: user is deactivated",
    "kicked": "Forbidden: bot was kicked from the supergroup chat",
    "uninitiated": "Forbidden: bot can't initiate conversation with a user",
}


@dataclass(slots=True)
class Chat:
    """One chat. `topics` are open, closed or deleted."""

    id: int
    kind: str  # private, group, supergroup
    name: str
    forum: bool = False
    state: str = "open"
    migrated_to: int | None = None
    topics: dict[int, str] = field(default_factory=dict)
    last_message: int = 0
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """The Chat object in a message."""
        if self.kind == "private":
            return {"id": self.id, "type": "private", "first_name": self.name}
        shown: dict[str, Any] = {"id": self.id, "type": self.kind, "title": self.name}
        return {**shown, "is_forum": True} if self.forum else shown

    def next_message(self) -> int:
        """An id that no message of this chat has."""
        self.last_message += 1
        return self.last_message

    def keep(self, message: dict[str, Any]) -> None:
        """Remember a message; its id is taken from now on."""
        self.messages[message["message_id"]] = message
        self.last_message = max(self.last_message, message["message_id"])


class Chats:
    """All chats by id."""

    def __init__(self, *, private_topics: bool) -> None:
        self._private_topics = private_topics
        self._by_id: dict[int, Chat] = {}

    def get(self, chat_id: int) -> Chat | None:
        """The chat, where it is known."""
        return self._by_id.get(chat_id)

    def ensure(self, chat_id: int, kind: str | None = None, name: str | None = None) -> Chat:
        """The chat, made known where it was not. An id tells what kind it is unless `kind` does."""
        if kind is None:
            kind = "private" if chat_id > 0 else "supergroup" if chat_id < _FIRST_SUPERGROUP else "group"
        return self._by_id.setdefault(chat_id, Chat(chat_id, kind, name or f"Chat {abs(chat_id)}"))

    def learn(self, shown: dict[str, Any]) -> Chat:
        """Make a chat known from the Chat object of an update."""
        name = shown.get("title") or shown.get("first_name")
        chat = self.ensure(shown["id"], shown.get("type"), name)
        chat.forum = chat.forum or bool(shown.get("is_forum"))
        return chat

    def reached(self, chat_id: int | str) -> Chat:
        """The chat that a call names, if a bot may act in it; raises Refused."""
        chat = self._by_id.get(chat_id) if isinstance(chat_id, int) else None
        if chat is None:
            raise bad("chat not found")
        if chat.migrated_to is not None:
            raise Refused(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=chat.migrated_to,
            )
        if chat.state in _CLOSED:
            raise Refused(403, _CLOSED[chat.state])
        return chat

    def check_thread(self, chat: Chat, thread: int | None) -> None:
        """Refuse a topic that is closed or deleted, was never there, or stands in a chat without topics."""
        if thread is None:
            return
        has_topics = self._private_topics if chat.kind == "private" else chat.forum
        state = chat.topics.get(thread) if has_topics else None
        if state == "closed":
            raise bad("TOPIC_CLOSED")
        if state != "open" or thread == GENERAL:
            raise bad("message thread not found")
