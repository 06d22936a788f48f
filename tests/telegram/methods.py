"""What each method of the fake Bot API does, except sending messages (sending.py) and polling (polling.py).

Owns the dispatch by name; does not own the wire, faults or recording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.telegram.chats import GENERAL
from tests.telegram.parameters import checked
from tests.telegram.polling import Polling
from tests.telegram.records import Refused, Request, bad
from tests.telegram.sending import Sending
from tests.telegram.world import World

_ACTION_WORDS = (
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note"
)
_ACTIONS = frozenset(_ACTION_WORDS.split())
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
MOST_COMMANDS = 100
LONGEST_COMMAND_DESCRIPTION = 256
LONGEST_CALLBACK_TEXT = 200


class Methods:
    """Calls methods by name. The caller holds the world's lock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.polling = Polling(world)
        sending = Sending(world)
        self._known: dict[str, Callable[[dict[str, Any]], Any]] = {
            "getUpdates": self.polling.get_updates,
            "getMe": lambda _: self._me(),
            "getWebhookInfo": lambda _: self.polling.webhook_info(),
            "setWebhook": lambda parameters: self.polling.set_webhook(parameters["url"]),
            "deleteWebhook": lambda _: self.polling.set_webhook(""),
            "sendMessage": sending.message,
            "sendRichMessage": sending.rich_message,
            "sendMessageDraft": sending.draft,
            "sendVoice": lambda parameters: sending.file("voice", parameters),
            "sendAudio": lambda parameters: sending.file("audio", parameters),
            "sendPhoto": lambda parameters: sending.file("photo", parameters),
            "sendDocument": lambda parameters: sending.file("document", parameters),
            "editMessageText": sending.edit_text,
            "editMessageReplyMarkup": sending.edit_markup,
            "deleteMessage": sending.delete,
            "sendChatAction": self._chat_action,
            "answerCallbackQuery": self._answer_callback,
            "setMyCommands": self._set_commands,
            "getMyCommands": lambda parameters: self._world.commands.get(_scope(parameters), []),
            "deleteMyCommands": self._delete_commands,
            "setMessageReaction": self._react,
            "getFile": world.get_file,
            "createForumTopic": self._create_topic,
            "getChat": lambda parameters: world.chats.reached(parameters["chat_id"]).shown(),
        }

    def call(self, request: Request, parameters: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of a call; what was executed is marked so in the request."""
        try:
            result = self._known[request.method](checked(request.method, parameters))
        except Refused as refusal:
            return refusal.status, refusal.body()
        request.executed = True
        return 200, {"ok": True, "result": result}

    def _me(self) -> dict[str, Any]:
        return {
            **self._world.bot.shown(),
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
            "has_topics_enabled": self._world.bot.has_topics_enabled,
        }

    def _chat_action(self, parameters: dict[str, Any]) -> bool:
        chat = self._world.chats.reached(parameters["chat_id"])
        if parameters["action"] not in _ACTIONS:
            raise bad("wrong parameter action in request")
        thread = parameters.get("message_thread_id")
        if not (chat.forum and thread == GENERAL):
            self._world.chats.check_thread(chat, thread)
        return True

    def _answer_callback(self, parameters: dict[str, Any]) -> bool:
        if len(parameters.get("text", "")) > LONGEST_CALLBACK_TEXT:
            raise bad("MESSAGE_TOO_LONG")
        if not self._world.presses.get(parameters["callback_query_id"], False):
            raise bad("query is too old and response timeout expired or query ID is invalid")
        return True

    def _set_commands(self, parameters: dict[str, Any]) -> bool:
        commands = parameters["commands"]
        if len(commands) > MOST_COMMANDS:
            raise bad("BOT_COMMANDS_TOO_MUCH")
        for command in commands:
            if not _COMMAND.fullmatch(str(command.get("command", "")).removeprefix("/")):
                raise bad("BOT_COMMAND_INVALID")
            if not 1 <= len(str(command.get("description", ""))) <= LONGEST_COMMAND_DESCRIPTION:
                raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
        self._world.commands[_scope(parameters)] = commands
        return True

    def _delete_commands(self, parameters: dict[str, Any]) -> bool:
        self._world.commands.pop(_scope(parameters), None)
        return True

    def _react(self, parameters: dict[str, Any]) -> bool:
        chat = self._world.chats.reached(parameters["chat_id"])
        if parameters["message_id"] not in chat.messages:
            raise bad("message to react not found")
        reactions = parameters.get("reaction", [])
        if len(reactions) > 1 or any(reaction.get("type") != "emoji" for reaction in reactions):
            raise bad("REACTIONS_TOO_MANY" if len(reactions) > 1 else "REACTION_INVALID")
        self._world.reactions[chat.id, parameters["message_id"]] = reactions
        return True

    def _create_topic(self, parameters: dict[str, Any]) -> dict[str, Any]:
        chat = self._world.chats.reached(parameters["chat_id"])
        if not (self._world.bot.has_topics_enabled if chat.kind == "private" else chat.forum):
            raise bad("the chat is not a forum")
        thread = chat.next_message()
        chat.topics[thread] = "open"
        return {"message_thread_id": thread, "name": parameters["name"], "icon_color": 7322096}


def _scope(parameters: dict[str, Any]) -> str:
    scope = parameters.get("scope", {"type": "default"})
    return json.dumps([scope, parameters.get("language_code", "")], sort_keys=True)
