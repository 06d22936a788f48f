"""How Telegram looks at a message's text: UTF-16 lengths, trimming, entities, commands.

Owns these rules; does not own which method applies them.
"""

from __future__ import annotations

import re
from typing import Any

from tests.telegram.records import bad

LONGEST_TEXT = 4096  # UTF-16 code units
LONGEST_CAPTION = 1024

_ENTITY_WORDS = (
    "mention hashtag cashtag bot_command url email phone_number bold italic underline strikethrough spoiler "
    "blockquote expandable_blockquote code pre text_link text_mention custom_emoji date_time"
)
_ENTITY_TYPES = frozenset(_ENTITY_WORDS.split())
_NEEDED = {"text_link": "url", "text_mention": "user", "custom_emoji": "custom_emoji_id", "date_time": "unix_time"}
_COMMAND = re.compile(r"(?<!\S)/[A-Za-z0-9_]{1,32}(?:@\w{3,32})?(?!\S)")


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def commands(text: str) -> list[dict[str, Any]]:
    """The bot_command entities that Telegram marks by itself."""
    return [
        {"type": "bot_command", "offset": units(text[: found.start()]), "length": units(found.group())}
        for found in _COMMAND.finditer(text)
    ]


def accepted(text: str, entities: list[dict[str, Any]], longest: int) -> tuple[str, list[dict[str, Any]]]:
    """The text as it is kept, without the space around it, and its entities moved along; raises Refused."""
    check_encoding(text)
    _check_entities(text, entities)
    first = min((entity["offset"] for entity in entities), default=None)
    lead = len(text) - len(text.lstrip())
    dropped = units(text[:lead]) if first is None else min(units(text[:lead]), first)
    kept = text.encode("utf-16-le")[2 * dropped :].decode("utf-16-le").rstrip()
    if units(kept) > longest:
        raise bad("message is too long" if longest == LONGEST_TEXT else "message caption is too long")
    moved = []
    for entity in entities:
        offset = entity["offset"] - dropped
        length = min(entity["length"], units(kept) - offset)
        if length > 0:
            moved.append({**entity, "offset": offset, "length": length})
    return kept, moved


def check_encoding(value: Any) -> None:
    """Refuse lone surrogates, wherever they stand in the value."""
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise bad("strings must be encoded in UTF-8")
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_encoding(key)
            check_encoding(inner)
    elif isinstance(value, list):
        for inner in value:
            check_encoding(inner)


def _check_entities(text: str, entities: list[dict[str, Any]]) -> None:
    encoded = text.encode("utf-16-le")
    for entity in entities:
        kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
        if kind not in _ENTITY_TYPES:
            raise bad("can't parse MessageEntity: unsupported type specified")
        if not isinstance(offset, int) or not isinstance(length, int):
            raise bad("can't parse MessageEntity: offset and length must be integers")
        if offset < 0 or length <= 0 or 2 * (offset + length) > len(encoded):
            raise bad(f"entity {kind} with offset {offset} and length {length} is outside of the text")
        if _inside_a_pair(encoded, offset) or _inside_a_pair(encoded, offset + length):
            raise bad(f"entity {kind} begins or ends in the middle of a UTF-16 symbol")
        needed = _NEEDED.get(kind)
        if needed and needed not in entity:
            raise bad(f"can't parse MessageEntity: can't find field {needed}")


def _inside_a_pair(encoded: bytes, position: int) -> bool:
    """Whether the boundary has a low surrogate to its right, and so its high one to its left."""
    unit = int.from_bytes(encoded[2 * position : 2 * position + 2], "little")
    return 0xDC00 <= unit <= 0xDFFF
