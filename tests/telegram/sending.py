"""Messages of the bot: sent, edited, deleted, with Telegram's checks in its order.

Owns what a person sees of them; does not own updates.
"""

from __future__ import annotations

import time
from typing import Any

from tests.telegram.chats import Chat
from tests.telegram.parameters import Upload
from tests.telegram.rates import retry_after
from tests.telegram.records import Refused, Sent, bad
from tests.telegram.texts import LONGEST_CAPTION, LONGEST_TEXT, accepted, units
from tests.telegram.world import World

LONGEST_CALLBACK_DATA = 64  # bytes
LONGEST_QUOTE = 1024
_MODES = frozenset({"html", "markdown", "markdownv2"})


class Sending:
    """The methods that make or change messages. The caller holds the world's lock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def message(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The method sendMessage."""
        return self._post("text", self._target(parameters), _text(parameters), parameters)

    def rich_message(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The method sendRichMessage; only its raw text is looked at."""
        chat, rich = self._target(parameters), parameters["rich_message"]
        text = rich.get("markdown") or rich.get("html") or ""
        if not text:
            raise bad("rich message is empty")
        return self._post("rich", chat, (text, []), parameters)

    def file(self, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """The methods sendVoice, sendAudio, sendPhoto and sendDocument."""
        chat, given = self._target(parameters), parameters[kind]
        caption = accepted(parameters.get("caption", ""), parameters.get("caption_entities", []), LONGEST_CAPTION)
        if isinstance(given, Upload):
            if not given.content:
                raise bad("file must be non-empty")
            given = self._world.add_file(given.content, given.name)
        elif given not in self._world.files:
            raise bad("wrong file identifier/HTTP URL specified")
        return self._post(kind, chat, caption, {**parameters, "file_id": given})

    def draft(self, parameters: dict[str, Any]) -> bool:
        """The method sendMessageDraft: nothing of it stays but the request."""
        chat = self._target(parameters)
        if chat.kind != "private" or not parameters["draft_id"]:
            raise bad("a draft needs a private chat and a draft_id other than 0")
        accepted(parameters.get("text", ""), parameters.get("entities", []), LONGEST_TEXT)
        return True

    def edit_text(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The method editMessageText. A keyboard that is not sent along is taken away."""
        sent = self._own(parameters)
        if sent.kind != "text":
            raise bad("there is no text in the message to edit")
        text, entities = _text(parameters)
        markup = _markup(parameters)
        if (sent.text, sent.entities, sent.reply_markup) == (text, entities, markup):
            raise bad(
                "message is not modified: specified new message content and reply markup are exactly the same as a "
                "current content and reply markup of the message"
            )
        sent.versions.append(sent.text)
        sent.text, sent.entities, sent.reply_markup, sent.edits = text, entities, markup, sent.edits + 1
        return self._shown(sent)

    def edit_markup(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The method editMessageReplyMarkup."""
        sent, markup = self._own(parameters), _markup(parameters)
        if sent.reply_markup == markup:
            raise bad("message is not modified: the reply markup is exactly the same as the current one")
        sent.reply_markup, sent.edits = markup, sent.edits + 1
        return self._shown(sent)

    def delete(self, parameters: dict[str, Any]) -> bool:
        """The method deleteMessage."""
        chat = self._world.chats.reached(parameters["chat_id"])
        if chat.messages.pop(parameters["message_id"], None) is None:
            raise bad("message to delete not found")
        sent = self._world.sent.get((chat.id, parameters["message_id"]))
        if sent is not None:
            sent.deleted = True
        return True

    def _target(self, parameters: dict[str, Any]) -> Chat:
        """The chat, with its topic checked."""
        chat = self._world.chats.reached(parameters["chat_id"])
        self._world.chats.check_thread(chat, parameters.get("message_thread_id"))
        return chat

    def _own(self, parameters: dict[str, Any]) -> Sent:
        chat = self._world.chats.reached(parameters["chat_id"])
        if parameters["message_id"] not in chat.messages:
            raise bad("message to edit not found")
        sent = self._world.sent.get((chat.id, parameters["message_id"]))
        if sent is None:
            raise bad("message can't be edited")
        return sent

    def _post(
        self, kind: str, chat: Chat, text: tuple[str, list[dict[str, Any]]], parameters: dict[str, Any]
    ) -> dict[str, Any]:
        markup, reply_to = _markup(parameters), _reply(chat, parameters)
        self._keep_pace(chat)
        sent = Sent(
            chat.id, chat.next_message(), kind, *text, parameters.get("message_thread_id"), reply_to, markup,
            time.monotonic(), self._world.now(), parameters.get("file_id"),
            parameters.get("disable_notification", False),
        )  # fmt: skip
        self._world.sent[chat.id, sent.message_id] = sent
        shown = self._shown(sent)
        chat.keep(shown)
        return shown

    def _keep_pace(self, chat: Chat) -> None:
        pace, now = self._world.pace, time.monotonic()
        if pace is None:
            return
        _, wait = pace.wait(chat.id, now)
        if wait > 0:
            seconds = retry_after(wait)
            raise Refused(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
        pace.count(chat.id, now)

    def _shown(self, sent: Sent) -> dict[str, Any]:
        """The Message object."""
        chat = self._world.chats.ensure(sent.chat)
        shown: dict[str, Any] = {
            "message_id": sent.message_id,
            "from": self._world.bot.shown(),
            "chat": chat.shown(),
            "date": int(sent.wall),
        }
        if sent.thread is not None:
            shown |= {"message_thread_id": sent.thread, "is_topic_message": True}
        if sent.reply_to in chat.messages:
            replied = chat.messages[sent.reply_to]
            shown["reply_to_message"] = {key: value for key, value in replied.items() if key != "reply_to_message"}
        if sent.edits:
            shown["edit_date"] = int(self._world.now())
        if sent.reply_markup and "inline_keyboard" in sent.reply_markup:
            shown["reply_markup"] = sent.reply_markup
        return {**shown, **self._content(sent)}

    def _content(self, sent: Sent) -> dict[str, Any]:
        words = ("text", "entities") if sent.kind in {"text", "rich"} else ("caption", "caption_entities")
        content: dict[str, Any] = {words[0]: sent.text} if sent.text else {}
        if sent.entities:
            content[words[1]] = sent.entities
        if sent.file_id is None:
            return content
        file = self._world.files[sent.file_id]
        media: dict[str, Any] = {"file_id": sent.file_id, "file_unique_id": f"u{sent.file_id}", "file_size": file.size}
        if sent.kind in {"voice", "audio"}:
            media["duration"] = 0
        elif sent.kind == "photo":
            media |= {"width": 90, "height": 90}
        return {**content, sent.kind: [media] if sent.kind == "photo" else media}


def _text(parameters: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    mode = parameters.get("parse_mode")
    if mode is not None and mode.lower() not in _MODES:
        raise bad("unsupported parse_mode")
    text, entities = accepted(parameters["text"], parameters.get("entities", []), LONGEST_TEXT)
    if not text:
        raise bad("message text is empty")
    return text, entities


def _reply(chat: Chat, parameters: dict[str, Any]) -> int | None:
    reply = parameters.get("reply_parameters")
    if reply is None:
        return None
    replied, quote = chat.messages.get(reply.get("message_id")), reply.get("quote")
    if replied is None:
        if reply.get("allow_sending_without_reply"):
            return None
        raise bad("message to be replied not found")
    if quote is not None and (units(quote) > LONGEST_QUOTE or quote not in replied.get("text", "")):
        raise bad("QUOTE_TEXT_INVALID")
    return int(reply["message_id"])


def _markup(parameters: dict[str, Any]) -> dict[str, Any] | None:
    markup: dict[str, Any] | None = parameters.get("reply_markup")
    for button in (button for row in (markup or {}).get("inline_keyboard", []) for button in row):
        actions = [key for key in button if key not in {"text", "icon_custom_emoji_id", "style"}]
        if not button.get("text") or len(actions) != 1:
            raise bad("an inline keyboard button needs a text and exactly one action")
        data = button.get("callback_data", "-")
        if not isinstance(data, str) or not 1 <= len(data.encode()) <= LONGEST_CALLBACK_DATA:
            raise bad("BUTTON_DATA_INVALID")
    return None if markup == {"inline_keyboard": []} else markup  # which is how a keyboard is taken away
