"""The columns of chat.db that a `Row` is made of: which ones, from what, and how.

Owns the one SELECT over the schemas of macOS 13 to 27; does not own the file that it is asked of.
Columns go by name, since releases add, drop and reorder them; a missing one reads as NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from push.providers.imessage.rows import Chat, Row, instant

_GROUP: Final = 43  # chat.style


def _same(value: Any) -> Any:
    return value


def _words(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _blob(value: object) -> bytes | None:
    return value if isinstance(value, bytes) else None


def _text(value: object) -> str | bytes | None:
    return value if isinstance(value, str | bytes) else None


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1 if value is not None else 0


def _may_be(value: object) -> bool:
    """For what keeps a row from being answered: anything but no."""
    return value not in {None, 0}


def _is(value: object) -> bool:
    """For what a row proves: a yes, and nothing like it."""
    return value == 1


#: Field of `Row` -> its column of `message`, and what is made of the value.
_MESSAGE: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "rowid": ("ROWID", _same),
    "guid": ("guid", _words),
    "text": ("text", _text),
    "attributed_body": ("attributedBody", _blob),
    "service": ("service", _words),
    "sent_ns": ("date", instant),
    "is_from_me": ("is_from_me", _may_be),
    "is_finished": ("is_finished", _is),
    "item_type": ("item_type", _number),
    "associated_type": ("associated_message_type", _number),
    "balloon": ("balloon_bundle_id", _words),
    "schedule_type": ("schedule_type", _number),
    "is_spam": ("is_spam", _may_be),
    "summary": ("message_summary_info", _blob),
    "edited_ns": ("date_edited", instant),
    "retracted_ns": ("date_retracted", instant),
    "thread_guid": ("thread_originator_guid", _words),
    "is_audio": ("is_audio_message", _is),
    "has_attachments": ("cache_has_attachments", _is),
    "error": ("error", _number),
    "is_sent": ("is_sent", _is),
    "is_delivered": ("is_delivered", _is),
    "delivered_ns": ("date_delivered", instant),
    "read_ns": ("date_read", instant),
    "was_downgraded": ("was_downgraded", _may_be),
}
_CHAT: Final = ("ROWID", "guid", "chat_identifier", "style", "is_filtered")

#: Per table. Without these a row could be taken for what it is not. What else is missing is NULL.
NEEDED: Final = {
    "message": (
        *("guid", "text", "attributedBody", "handle_id", "service", "date", "is_from_me"),
        *("item_type", "associated_message_type"),
    ),
    "handle": ("id",),
    "chat": ("guid", "chat_identifier"),
    "chat_message_join": ("chat_id", "message_id"),
}


def missing(there: Mapping[str, AbstractSet[str]]) -> tuple[str, ...]:
    """What is needed and not there, as `table.column`. `there` has each table's columns in lower case."""
    return tuple(
        f"{table}.{name}" for table, names in NEEDED.items() for name in names if name.lower() not in there[table]
    )


def statement(there: Mapping[str, AbstractSet[str]]) -> str:
    """The SELECT for a file that has these columns; `{}` in it stands for which messages. A line per row and chat."""
    has = there["message"] | {"rowid"}
    wanted = [f'"{column}"' if column.lower() in has else "NULL" for column, _ in _MESSAGE.values()]
    message = ", ".join(f"{column} AS {field}" for column, field in zip(wanted, _MESSAGE, strict=True))
    chat = ", ".join(f"c.{name}" if name.lower() in there["chat"] | {"rowid"} else "NULL" for name in _CHAT)
    return (
        f"SELECT {', '.join(f'm.{field}' for field in _MESSAGE)}, h.id, {chat} "
        f"FROM (SELECT {message}, handle_id FROM message WHERE {{}}) AS m "
        "LEFT JOIN handle AS h ON h.ROWID = m.handle_id "
        "LEFT JOIN chat_message_join AS j ON j.message_id = m.rowid "
        "LEFT JOIN chat AS c ON c.ROWID = j.chat_id ORDER BY m.rowid, c.ROWID"
    )


def row(same: list[tuple[Any, ...]]) -> Row:
    """One message from its lines, of which there is one per chat."""
    first, count = same[0], len(_MESSAGE)
    fields = {field: read(value) for (field, (_, read)), value in zip(_MESSAGE.items(), first[:count], strict=True)}
    chats = (_chat(line[count + 1 :]) for line in same)
    return Row(**fields, sender=_words(first[count]), chats=tuple(chat for chat in chats if chat is not None))


def _chat(columns: tuple[Any, ...]) -> Chat | None:
    """A chat; None where the row has none, or one that nothing could be sent to."""
    rowid, guid, identifier, style, is_filtered = columns
    if not (isinstance(guid, str) and isinstance(identifier, str)):
        return None
    return Chat(rowid, guid, identifier, style == _GROUP, _may_be(is_filtered))
