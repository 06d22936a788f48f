"""An Update of the Bot API as what the gateway does with it. Owns the kinds of update; does not own asking for them.

Pure but for the clock, and never raises: what is not as documented is ignored as `malformed`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from push.model.values import Inbound
from push.providers.base import Allowlist, Ignored, Pressed, Seen, Update
from push.providers.telegram.addressing import Bot
from push.providers.telegram.fields import count, identifier, table, words
from push.providers.telegram.messages import edited, ignored, inbound, kind_of, reference
from push.providers.telegram.origins import Place, is_person, listed, place

#: The position of what has none.
NOWHERE = -1

_READ = ("message", "edited_message", "callback_query")
_MIGRATIONS = ("migrate_to_chat_id", "migrate_from_chat_id")
_KIND = re.compile(r"[a-z_]{1,64}")
_MAX_PRESS_ID = 256  # characters; those seen have 20
_MAX_DATA = 64  # bytes


def see_all(updates: Sequence[object], bot: Bot, allowed: Allowlist) -> list[Update]:
    """One answer's updates, in its order. Of an album, what has a caption counts, else its first part.

    The parts of an album without a caption share one event id, so that those of a later answer change nothing.
    """
    told = {_album(update) for update in updates if _caption(update)}
    seen = []
    for raw in updates:
        update, album = see(raw, bot, allowed), _album(raw)
        if album and not _caption(raw) and isinstance(update.seen, Inbound):
            if album in told:
                message = table(table(raw).get("message"))
                update = Update(update.position, ignored("album_part", kind_of(message), message))
            told.add(album)
        seen.append(update)
    return seen


def see(update: object, bot: Bot, allowed: Allowlist) -> Update:
    """What one update is. Without a usable `update_id` its position is `NOWHERE`."""
    fields = table(update)
    position = count(fields.get("update_id"))
    if position is None:
        return Update(NOWHERE, Ignored("malformed", "update"))
    kind = next((name for name in (*_READ, *fields) if name in fields and name != "update_id"), "")
    seen = _seen(kind if _KIND.fullmatch(kind) else "unnamed", position, table(fields.get(kind)), (bot, allowed))
    return Update(position, seen, "" if isinstance(seen, Ignored) else _raw(update))


def _seen(kind: str, position: int, content: dict[str, Any], around: tuple[Bot, Allowlist]) -> Seen:
    bot, allowed = around
    if kind == "callback_query":
        return _pressed(content, allowed)
    if kind not in {"message", "edited_message"}:
        return _other(kind, content, allowed)
    here = _entrance(kind_of(content) if kind == "message" else kind, content, allowed)
    if isinstance(here, Ignored):
        return here
    if kind == "edited_message":
        return edited(content, here, bot)
    album = _album({"message": content})
    number = f"{position}:{here.chat}:{content['message_id']}"
    event = f"album:{here.chat}:{album}" if album and not words(content.get("caption")) else number
    return inbound(content, here, f"{bot.id}:{event}", bot)


def _entrance(kind: str, message: dict[str, Any], allowed: Allowlist) -> Place | Ignored:
    """Where a message was written, if by a person who may speak there."""
    sender, chat = (identifier(table(message.get(key)).get("id")) for key in ("from", "chat"))
    if chat is None:
        return ignored("malformed", kind, message)
    for key in _MIGRATIONS:  # a group got a new id: one of the two is listed, and its owner has to know
        if (other := identifier(message.get(key))) and allowed.chats & {chat, other}:
            return ignored("chat_migrated", key, message)
    if not listed(sender, chat, allowed):
        return ignored("not_allowlisted", kind, message)
    if not is_person(message):
        return ignored("not_a_person", kind, message)
    here = None if sender is None else place(message, sender)
    is_worded = "text" not in message or words(message["text"])
    if here is None or identifier(message.get("message_id")) is None or not is_worded:
        return ignored("malformed", kind, message)
    return here


def _pressed(query: dict[str, Any], allowed: Allowlist) -> Pressed | Ignored:
    """A button was pressed. Its message may be unknown, or too old to be shown: then it has no topic either."""
    kind, message = "callback_query", table(query.get("message"))
    sender = identifier(table(query.get("from")).get("id"))
    where = {"from": query.get("from"), "chat": message.get("chat")}
    if sender not in allowed.users and identifier(table(message.get("chat")).get("id")) not in allowed.chats:
        return ignored("not_allowlisted", kind, where)
    if not is_person(query):
        return ignored("not_a_person", kind, where)
    press_id, data = words(query.get("id")), words(query.get("data"))
    if sender is None or not 0 < len(press_id) <= _MAX_PRESS_ID or len(data.encode(errors="replace")) > _MAX_DATA:
        return ignored("malformed", kind, where)
    if not data:  # a game's
        return ignored("not_handled", kind, where)
    if "message" not in query:  # all that is known is the person
        here: Place | None = Place(sender, "dm", None)
    else:
        here = place(message, sender) if identifier(message.get("message_id")) else None
    if here is None:
        return ignored("malformed", kind, where)
    receipt = reference(message) if message else None
    return Pressed(press_id, str(sender), here.conversation, here.target, data, receipt)


def _other(kind: str, content: dict[str, Any], allowed: Allowlist) -> Ignored:
    """A kind that means nothing to us: memberships, reactions, channels, what a later release brings."""
    nothing = ignored("not_handled", kind, content)
    sender, chat = (None if number is None else int(number) for number in (nothing.sender, nothing.chat))
    if (sender, chat) == (None, None) or listed(sender, chat, allowed):
        return nothing
    return ignored("not_allowlisted", kind, content)


def _album(update: object) -> str:
    """The album that a message is a part of; "" for none."""
    return words(table(table(update).get("message")).get("media_group_id"))[:64]


def _caption(update: object) -> str:
    return words(table(table(update).get("message")).get("caption"))


def _raw(update: object) -> str:
    """The update's JSON; "" where it is nested too deeply to be written."""
    try:
        return json.dumps(update, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""
