"""Where an update comes from and who may speak there. Owns the allowlist's rule; does not own the list.

Ids decide, never names. What speaks for a chat, and every bot, is no person, whoever is listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from push.providers.base import Allowlist
from push.providers.telegram.fields import identifier, table, words

CHANNEL = "telegram"

#: Accounts that the service puts in place of a person: itself, an anonymous admin, a channel.
_STAND_INS = frozenset({777000, 1087968824, 136817688})
_GROUPS = frozenset({"group", "supergroup"})
_GENERAL_TOPIC = 1


@dataclass(frozen=True, slots=True)
class Place:
    """A chat, or a topic in it, in which one can write."""

    chat: int
    form: str  # "dm" | "group"
    topic: int | None

    @property
    def conversation(self) -> str:
        """The conversation's key."""
        topic = "" if self.topic is None else f":topic:{self.topic}"
        return f"{CHANNEL}:{self.form}:{self.chat}{topic}"

    @property
    def target(self) -> str:
        """Where an answer goes: the chat's id, and that of the topic."""
        return f"{self.chat}" if self.topic is None else f"{self.chat}:{self.topic}"


def place(message: dict[str, Any], sender: int) -> Place | None:
    """Where `message` stands. A private chat has the id of the person in it; None for what is neither that nor a group.

    Only `is_topic_message` makes a topic: in other groups every reply has a thread id, to which nothing can be sent.
    """
    chat = table(message.get("chat"))
    number, kind = identifier(chat.get("id")), words(chat.get("type"))
    if number is None or not ((kind == "private" and number == sender) or (kind in _GROUPS and number < 0)):
        return None
    thread = identifier(message.get("message_thread_id"))
    is_topic = message.get("is_topic_message") is True and thread is not None and thread > _GENERAL_TOPIC
    return Place(number, "dm" if kind == "private" else "group", thread if is_topic else None)


def listed(sender: int | None, chat: int | None, allowed: Allowlist) -> bool:
    """Whether `sender` may speak in `chat`: a listed person in private, everybody in a listed chat."""
    return chat in allowed.chats or (sender in allowed.users and chat in {None, sender})


def is_person(update: dict[str, Any]) -> bool:
    """Whether a person speaks, for themselves. `update` is a message, or what else has a `from`."""
    sender = table(update.get("from"))
    return (
        sender.get("is_bot", False) is False
        and identifier(sender.get("id")) not in _STAND_INS
        and "sender_chat" not in update
        and "sender_business_bot" not in update
    )
