"""The way out to Telegram: parts of replies, and the signs of life beside them.

Owns what is asked of the Bot API and in which order; does not own retries, pauses, or who may be written to.
"""

from __future__ import annotations

import json
from typing import Any

from push.config.settings import Settings
from push.model.values import Delivered, Pace, Part, Refused, Rendered, SendOutcome
from push.providers.telegram import rendering
from push.providers.telegram.calls import BotApi
from push.providers.telegram.outcomes import outcome_of, sent

SEND_SECONDS = 30.0
SIGN_SECONDS = 5.0
TYPING_SECONDS = 4.0  # the next one is due by then

#: Connections are opened as they are needed. Signs have their own: however many stall, an answer finds a free one.
SEND_CONNECTIONS = 24
SIGN_CONNECTIONS = 16

# The service counts what arrives: a second between two sends shrinks on the way when the first was the slower one.
_CHAT_LIMIT = (1, 1.05)
_GROUP_LIMIT = (20, 61.0)
_BOT_LIMIT = (28, 1.0)

_GENERAL_TOPIC = 1  # it is addressed by naming no topic; its number is refused
_LONGEST_TOAST = 200  # characters
_NO_PREVIEW = {"is_disabled": True}


class TelegramChannel:
    """A bot that writes. Safe to use from several threads at once."""

    name = "telegram"

    def __init__(self, settings: Settings) -> None:
        """Raises ConfigError where there is no bot token, or what cannot be one."""
        self._sends = BotApi.of(settings.telegram, connections=SEND_CONNECTIONS)
        self._signs = BotApi.of(settings.telegram, connections=SIGN_CONNECTIONS)

    @staticmethod
    def render(markdown: str) -> Rendered:
        """An agent's reply as texts with entities, each within the service's limits."""
        return rendering.render(markdown)

    def send(self, target: str, part: Part, note: str = "") -> SendOutcome:
        """Send one part. What the service definitely refuses is tried once without its topic, or without formatting."""
        part = rendering.with_note(part, note) if note else part
        params: dict[str, Any] = {"text": part.text}
        if part.entities:
            params["entities"] = json.loads(part.entities)
        if not rendering.wants_preview(part):
            params["link_preview_options"] = _NO_PREVIEW
        outcome = _message(self._sends, target, params, SEND_SECONDS)
        if outcome == Refused("entities_refused") and part.entities:
            del params["entities"]
            params["text"] = rendering.as_plain(part).text
            outcome = _message(self._sends, target, params, SEND_SECONDS)
        return outcome

    def paces(self, target: str) -> tuple[Pace, ...]:
        """The chat's budget, whatever the topic, then the bot's."""
        chat = target.partition(":")[0]
        limits = (_CHAT_LIMIT, _GROUP_LIMIT) if chat.startswith("-") else (_CHAT_LIMIT,)
        return Pace(chat, limits), Pace("", (_BOT_LIMIT,))

    def typing(self, target: str) -> SendOutcome:
        """Show "typing" in the chat or topic."""
        if (address := _address(target)) is None:
            return Refused("bad_target")
        params = address | {"action": "typing"}
        return outcome_of(self._signs.call("sendChatAction", params, timeout_seconds=TYPING_SECONDS))

    def post(self, target: str, text: str, stop_button: str | None = None) -> SendOutcome:
        """A short message, without formatting or preview."""
        return _message(self._signs, target, _plain(text, stop_button), SIGN_SECONDS)

    def edit(self, target: str, receipt: str, text: str, stop_button: str | None = None) -> SendOutcome:
        """Replace a posted text, and its button."""
        outcome = self._on_message("editMessageText", target, receipt, _plain(text, stop_button))
        return Delivered(receipt) if outcome == Refused("not_modified") else outcome

    def remove(self, target: str, receipt: str) -> SendOutcome:
        """Remove a posted message. The service lets a bot do so for 48 hours."""
        outcome = self._on_message("deleteMessage", target, receipt, {})
        return Delivered(receipt) if outcome == Refused("message_gone") else outcome

    def answer_press(self, press_id: str, text: str) -> SendOutcome:
        """Show a text above the chat, and end the button's spinning."""
        params = {"callback_query_id": press_id, "text": text[:_LONGEST_TOAST]}
        return outcome_of(self._signs.call("answerCallbackQuery", params, timeout_seconds=SIGN_SECONDS))

    def announce_commands(self, commands: tuple[tuple[str, str], ...]) -> SendOutcome:
        """Replace the menu of commands."""
        params = {"commands": [{"command": name, "description": description} for name, description in commands]}
        return outcome_of(self._signs.call("setMyCommands", params, timeout_seconds=SIGN_SECONDS))

    def close(self) -> None:
        """Close the connections; what is under way ends with an unknown outcome."""
        self._sends.close()
        self._signs.close()

    def _on_message(self, method: str, target: str, receipt: str, params: dict[str, Any]) -> SendOutcome:
        address, number = _address(target), receipt.rpartition("/")[2]
        if address is None or not number.isdecimal():
            return Refused("bad_target")
        message = {"chat_id": address["chat_id"], "message_id": int(number)}
        outcome = outcome_of(self._signs.call(method, message | params, timeout_seconds=SIGN_SECONDS))
        return Delivered(receipt) if isinstance(outcome, Delivered) else outcome


def _message(api: BotApi, target: str, params: dict[str, Any], seconds: float) -> SendOutcome:
    """Send a message; where the topic proves to be gone, once more to the chat itself."""
    if (address := _address(target)) is None:
        return Refused("bad_target")
    outcome = sent(api.call("sendMessage", address | params, timeout_seconds=seconds), address["chat_id"])
    if outcome == Refused("thread_not_found") and "message_thread_id" in address:
        del address["message_thread_id"]
        outcome = sent(api.call("sendMessage", address | params, timeout_seconds=seconds), address["chat_id"])
    return outcome


def _address(target: str) -> dict[str, int] | None:
    """The chat, and the topic where there is one to name, of `<chat>` or `<chat>:<topic>`."""
    chat, _, topic = target.partition(":")
    try:
        address = {"chat_id": int(chat)}
        if topic and int(topic) != _GENERAL_TOPIC:
            address["message_thread_id"] = int(topic)
    except ValueError:
        return None
    return address


def _plain(text: str, stop_button: str | None) -> dict[str, Any]:
    params: dict[str, Any] = {"text": text, "link_preview_options": _NO_PREVIEW}
    if stop_button is not None:
        params["reply_markup"] = {"inline_keyboard": [[{"text": "Stop", "callback_data": stop_button}]]}
    return params
