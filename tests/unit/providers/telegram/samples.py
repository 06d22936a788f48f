"""Updates as the Bot API sends them. Owns their shape; does not own what becomes of them."""

from __future__ import annotations

from typing import Any

from push.model.values import Inbound
from push.providers.base import Allowlist, Ignored, Seen
from push.providers.telegram.addressing import Bot
from push.providers.telegram.updates import see

BOT = Bot(5, "push_bot")
ME: dict[str, Any] = {"id": 5, "is_bot": True, "first_name": "push", "username": "push_bot"}
ANN: dict[str, Any] = {"id": 1234, "is_bot": False, "first_name": "Ann"}
BOB: dict[str, Any] = {"id": 77, "is_bot": False, "first_name": "Bob", "last_name": "Ray"}
MALLORY: dict[str, Any] = {"id": 666, "is_bot": False, "first_name": "Mallory"}
PRIVATE: dict[str, Any] = {"id": 1234, "type": "private", "first_name": "Ann"}
GROUP: dict[str, Any] = {"id": -1009, "type": "supergroup", "title": "Ops"}
ALLOWED = Allowlist(frozenset({1234}), frozenset({-1009}))

DATE = 1790000000
PHOTO: list[dict[str, Any]] = [{"file_id": "p", "file_unique_id": "u", "width": 1, "height": 1}]
VOICE: dict[str, Any] = {"file_id": "v", "file_unique_id": "u", "duration": 3}


def message(**fields: Any) -> dict[str, Any]:
    """A message of Ann's to the bot; `sender` is who else sends it."""
    base = {"message_id": 11, "from": fields.pop("sender", ANN), "chat": PRIVATE, "date": DATE}
    return {**base, **fields}


def said(text: str, **fields: Any) -> dict[str, Any]:
    """A text of Ann's to the bot, in private."""
    return message(text=text, **fields)


def in_group(text: str, **fields: Any) -> dict[str, Any]:
    """The same in a group where everybody may speak."""
    return message(text=text, chat=GROUP, **fields)


def mark(kind: str, offset: int, length: int, **more: Any) -> list[dict[str, Any]]:
    """One entity, in UTF-16 units."""
    return [{"type": kind, "offset": offset, "length": length, **more}]


def seen(content: dict[str, Any], allowed: Allowlist = ALLOWED, kind: str = "message") -> Seen:
    """What an update of that kind with this content is."""
    return see({"update_id": 900, kind: content}, BOT, allowed).seen


def taken(content: dict[str, Any], allowed: Allowlist = ALLOWED) -> Inbound:
    """The message that the gateway gets; a test fails where it gets none."""
    result = seen(content, allowed)
    assert isinstance(result, Inbound), result
    return result


def reason(content: dict[str, Any], allowed: Allowlist = ALLOWED, kind: str = "message") -> str:
    """Why nothing is done."""
    result = seen(content, allowed, kind)
    assert isinstance(result, Ignored), result
    return result.reason
