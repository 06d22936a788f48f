"""A message of a person who may speak, as the gateway takes it: its text, what stands around it, or what it cannot be.

Owns which messages in a group are for the bot, and what becomes of each kind of content; does not own who may speak.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from push import clock
from push.model.values import Inbound
from push.providers.base import Edited, Ignored
from push.providers.telegram import context
from push.providers.telegram.addressing import Bot, Wording, is_command, units, without_mention, without_name, wording
from push.providers.telegram.fields import identifier, instant, table, words
from push.providers.telegram.origins import CHANNEL, Place

#: UTF-16 units from which on a text may be the beginning of one that the sender's app has split, and how long its turn
#: then waits for the rest (milliseconds).
SPLIT_UNITS = 4000
HOLD_MS = 1000

_DAY_MS = 86_400_000


def kind_of(message: dict[str, Any]) -> str:
    """What a message is made of: `text`, a kind of attachment, or `service` for what nobody wrote."""
    return "text" if "text" in message else context.attachment(message) or "service"


def inbound(message: dict[str, Any], here: Place, event_id: str, bot: Bot) -> Inbound | Ignored:
    """What to store of `message`, which a person wrote `here`.

    Without words it becomes the command `/unsupported KIND`, which is answered with a fixed sentence.
    """
    kind, said = kind_of(message), _wording(message, bot)
    if kind == "service":
        return ignored("service_message", kind, message)
    if here.form == "group" and not _is_for_us(message, said, bot):
        return ignored("group_not_addressed", kind, message)
    unread = Inbound(
        channel=CHANNEL,
        conversation=here.conversation,
        target=here.target,
        event_id=event_id,
        sender=_sender(message),
        text=f"/unsupported {kind}",
        received_ms=_received_ms(message.get("date")),
        kind="command",
        message_ref=reference(message),
    )
    if not said.text:
        return unread
    text = _text(said, here, bot)
    forwarded, replied = context.forwarded(message), context.replied(message, bot)
    speaker = context.speaker(message) if here.form == "group" else []
    around = [*speaker, *forwarded, *replied, *context.attached(message)]
    is_plain = kind == "text" and not forwarded
    return replace(
        unread,
        text=text,
        kind="message",
        context="\n".join(around) or None,
        own_words=not forwarded,
        hold_ms=HOLD_MS if is_plain and units(text) >= SPLIT_UNITS else 0,
        joins=is_plain and not replied and not is_command(text),  # the rest of a text answers nothing of its own
    )


def edited(message: dict[str, Any], here: Place, bot: Bot) -> Edited | Ignored:
    """The new text of a message. One without words, such as a location that moves, changes nothing."""
    text = _text(_wording(message, bot), here, bot)
    if not text:
        return ignored("edited_without_text", "edited_message", message)
    return Edited(reference(message), _sender(message), text)


def reference(message: dict[str, Any]) -> str:
    """The name of a message: its number is unique within its chat only."""
    return f"{message['chat']['id']}/{message['message_id']}"


def ignored(reason: str, kind: str, update: dict[str, Any]) -> Ignored:
    """Nothing to do with `update`; of its content nothing is kept but who sent it, and in which chat."""
    person = table(update.get("from")) or table(update.get("user"))
    sender, chat = (identifier(table(one).get("id")) for one in (person, update.get("chat")))
    return Ignored(reason, kind, None if sender is None else str(sender), None if chat is None else str(chat))


def _sender(message: dict[str, Any]) -> str:
    return str(message["from"]["id"])


def _wording(message: dict[str, Any], bot: Bot) -> Wording:
    if "text" in message:
        return wording(words(message["text"]), message.get("entities"), bot)
    return wording(words(message.get("caption")), message.get("caption_entities"), bot)


def _text(said: Wording, here: Place, bot: Bot) -> str:
    """In private, a command can be to nobody else."""
    return without_mention(said.text, bot) if here.form == "group" else without_name(said.text)


def _is_for_us(message: dict[str, Any], said: Wording, bot: Bot) -> bool:
    """Whether a message in a group is said to the bot: by its name, a command, or as an answer to a message of its."""
    writer = identifier(table(context.reply(message).get("from")).get("id"))
    return said.is_addressed or (writer == bot.id and not said.is_for_another)


def _received_ms(date: object) -> int:
    """When the service took the message; now, where that cannot be right."""
    now = clock.now_ms()
    seconds = instant(date)
    return seconds * 1000 if seconds and seconds * 1000 <= now + _DAY_MS else now
