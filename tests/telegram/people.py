"""What people do in Telegram, as the updates that a bot gets of it.

Owns building updates; does not own the queue.
"""

from __future__ import annotations

from typing import Any

from tests.telegram.chats import Chat
from tests.telegram.texts import commands
from tests.telegram.world import World


class People:
    """Builds and queues updates. The caller holds the world's lock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._presses = 0

    def add(self, update: dict[str, Any]) -> dict[str, Any]:
        """Queue an update as it is; the chats, topics, messages and presses in it are known from now on."""
        for inner in update.values():
            if isinstance(inner, dict):
                self._learn(inner)
        press = update.get("callback_query")
        if press is not None:
            self._world.presses[press["id"]] = True
        complete = self._world.queue.add(update, self._world.now())
        self._world.touch()
        return complete

    def say(self, user: int, text: str | None, place: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        """A message, or with `edit` in the place a new version of one."""
        chat = self._world.chats.ensure(user if place["chat"] is None else place["chat"])
        old = None if place["edit"] is None else chat.messages[place["edit"]]
        message = self._message(user, chat) if old is None else {**old, "edit_date": int(self._world.now())}
        self._place(message, chat, place)
        if text is not None:
            message["text"] = text
            message.pop("entities", None)
            if marked := commands(text):
                message["entities"] = marked
        message |= fields
        return self.add({"message" if old is None else "edited_message": message})

    def press(self, user: int, data: str, chat_id: int, message_id: int | None) -> dict[str, Any]:
        """A press of a button that the bot showed: the newest with this data, or that of one message."""
        chat = self._world.chats.ensure(chat_id)
        sent = [message for (at, _), message in self._world.sent.items() if at == chat_id and not message.deleted]
        fitting = [
            message.message_id
            for message in sent
            if message_id in {None, message.message_id} and data in _buttons(message.reply_markup)
        ]
        if not fitting:
            raise LookupError(f"no button {data!r} in chat {chat_id}")
        self._presses += 1
        shown = {**chat.messages[fitting[-1]], "reply_markup": self._world.sent[chat_id, fitting[-1]].reply_markup}
        press = {
            "id": f"press{self._presses}",
            "from": _user(user),
            "message": shown,
            "chat_instance": str(-chat_id),
            "data": data,
        }
        return self.add({"callback_query": press})

    def close(self, chat_id: int, state: str) -> None:
        """Let a chat be open, blocked, deactivated, kicked or uninitiated; the bot is told as it would be."""
        chat = self._world.chats.ensure(chat_id)
        old, chat.state = chat.state, state
        status = {"open": "member", "blocked": "kicked", "kicked": "kicked"}
        if state != old and state in status and old in status:
            bot = self._world.bot.shown()
            member = {
                "chat": chat.shown(),
                "from": _user(max(chat_id, 1)),
                "date": int(self._world.now()),
                "old_chat_member": {"status": status[old], "user": bot},
                "new_chat_member": {"status": status[state], "user": bot},
            }
            self.add({"my_chat_member": member})

    def migrate(self, old_id: int, new_id: int, user: int) -> None:
        """Turn a group into a supergroup with another id; both tell it with a service message."""
        old = self._world.chats.ensure(old_id)
        new = self._world.chats.ensure(new_id, "supergroup", old.name)
        old.migrated_to = new_id
        self.add({"message": {**self._message(user, old), "migrate_to_chat_id": new_id}})
        self.add({"message": {**self._message(user, new), "migrate_from_chat_id": old_id}})

    def _message(self, user: int, chat: Chat) -> dict[str, Any]:
        return {
            "message_id": chat.next_message(),
            "from": _user(user),
            "chat": chat.shown(),
            "date": int(self._world.now()),
        }

    def _place(self, message: dict[str, Any], chat: Chat, place: dict[str, Any]) -> None:
        """Topic, reply and quote."""
        thread, reply_to, quote = place["thread"], place["reply_to"], place["quote"]
        if thread is not None:
            chat.forum = chat.kind == "supergroup"
            message |= {"chat": chat.shown(), "message_thread_id": thread, "is_topic_message": True}
        if reply_to is not None:
            replied = chat.messages[reply_to]
            message["reply_to_message"] = {key: value for key, value in replied.items() if key != "reply_to_message"}
            if chat.kind == "supergroup" and not chat.forum:  # a thread of replies, not a topic
                message["message_thread_id"] = replied.get("message_thread_id", reply_to)
        if quote is not None:
            position = message.get("reply_to_message", {}).get("text", "").find(quote)
            message["quote"] = {"text": quote, "position": max(position, 0), "is_manual": True}

    def _learn(self, inner: dict[str, Any]) -> None:
        if isinstance(inner.get("message"), dict):  # of a callback query
            self._learn(inner["message"])
        if not isinstance(inner.get("chat"), dict):
            return
        chat = self._world.chats.learn(inner["chat"])
        if inner.get("is_topic_message"):
            chat.topics.setdefault(inner["message_thread_id"], "open")
        if "message_id" in inner and "date" in inner and "old_reaction" not in inner:
            chat.keep(inner)


def _user(user: int) -> dict[str, Any]:
    return {"id": user, "is_bot": False, "first_name": f"Person {user}", "language_code": "en"}


def _buttons(markup: dict[str, Any] | None) -> list[Any]:
    return [button.get("callback_data") for row in (markup or {}).get("inline_keyboard", []) for button in row]
