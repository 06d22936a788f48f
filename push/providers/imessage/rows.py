"""A row of chat.db as a value: what it is, when it was written, what it says.

Does not own reading the file (`push.providers.imessage.chatdb`), nor what is done about a row: nothing here decides
whether one is answered.
"""

from __future__ import annotations

import plistlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from push.providers.imessage.typedstream import Body, Undecodable

IMESSAGE: Final = "iMessage"
LINK_PREVIEW: Final = "com.apple.messages.URLBalloonProvider"

#: Stands in a text for each attachment.
ATTACHMENT: Final = "\ufffc"

_TAPBACKS: Final = (range(2000, 3000), range(3000, 4000))  # given, and taken back
_NS: Final = 10**9
_SECONDS_BELOW: Final = 10**12  # as nanoseconds the first quarter of an hour of 2001, which nobody messaged in
_LAST_SECOND: Final = (2**63 - 1) // _NS  # later ones could not be kept as nanoseconds
_EPOCH_MS: Final = 978_307_200_000  # 2001-01-01T00:00:00Z in milliseconds since 1970
_MOST_PARTS: Final = 10**6  # of one message; those seen have a handful
_LONGEST_SUMMARY: Final = 4 * 2**20  # bytes; a plist holds every version of an edited text


@dataclass(frozen=True, slots=True)
class Chat:
    """The conversation that a row is joined to. `identifier` is a handle, or `chat…` of a group.

    The service is no matter of the guid's first word: since macOS 26 that is `any` for every chat.
    """

    rowid: int
    guid: str
    identifier: str
    is_group: bool
    is_filtered: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row of `message`, with its handle and its chats. Instants are nanoseconds since 2001 (`unix_ms`).

    None is NULL, or what cannot be what it should be; of numbers that say what a row is, NULL is 0 and what is no
    number is -1, so that it never passes for an ordinary message. `text` is bytes where it is not UTF-8.
    """

    rowid: int
    guid: str | None
    text: str | bytes | None
    attributed_body: bytes | None
    sender: str | None  # the handle's id; of own rows the recipient's, or None
    service: str | None
    sent_ns: int | None
    is_from_me: bool
    is_finished: bool
    item_type: int
    associated_type: int
    balloon: str | None
    schedule_type: int
    is_spam: bool
    summary: bytes | None
    edited_ns: int | None
    retracted_ns: int | None
    thread_guid: str | None
    is_audio: bool
    has_attachments: bool
    error: int
    is_sent: bool
    is_delivered: bool
    delivered_ns: int | None
    read_ns: int | None
    was_downgraded: bool
    chats: tuple[Chat, ...]

    @property
    def chat(self) -> Chat | None:
        """The one conversation of the row; None where it has none yet, or several that differ."""
        return self.chats[0] if len({chat.identifier for chat in self.chats}) == 1 else None


class Kind(StrEnum):
    """What a row is. Only the first four and a link preview have words of a person's."""

    MESSAGE = "message"
    EDITED = "edited"
    PARTLY_UNSENT = "partly_unsent"
    APP = "app"  # a balloon of an app
    LINK_PREVIEW = "link_preview"  # the second row of one text with a link, or the only one
    UNSENT = "unsent"
    TAPBACK = "tapback"  # its text ("Loved …") is Messages' own
    ATTACHED = "attached"  # to another row: a placed sticker, a vote, what is not known yet
    SYSTEM = "system"  # who came and left, a name, a place, what is not known yet
    SCHEDULED = "scheduled"  # will be sent, or was to be


class Mark(StrEnum):
    """What is so of a row of whatever kind."""

    OWN = "own"
    SPAM = "spam"
    FILTERED = "filtered"  # Messages keeps the chat apart, as it does with unknown senders
    OTHER_SERVICE = "other_service"  # SMS, RCS: the sender's address proves nothing
    NO_CHAT = "no_chat"  # not joined to a chat: late, or for good
    SEVERAL_CHATS = "several_chats"  # with different people: which one is meant cannot be known


@dataclass(frozen=True, slots=True)
class NoWords:
    """A row that says nothing: not yet, or never."""


def instant(value: object) -> int | None:
    """A date column as nanoseconds since 2001; None for one that is unset (0 or NULL) or impossible.

    Before macOS 10.13 they were seconds. Integers throughout: a float has no room for nanoseconds.
    """
    if not isinstance(value, int) or value == 0:
        return None
    if abs(value) >= _SECONDS_BELOW:
        return value
    return value * _NS if abs(value) <= _LAST_SECOND else None


def unix_ms(ns: int) -> int:
    """Nanoseconds since 2001 as milliseconds since 1970, rounded down."""
    return ns // 10**6 + _EPOCH_MS


def kind_of(row: Row) -> Kind:
    """What a row is. Whatever is not known counts as a kind without words."""
    if row.item_type != 0:
        return Kind.SYSTEM
    if row.associated_type != 0:
        return Kind.TAPBACK if any(row.associated_type in known for known in _TAPBACKS) else Kind.ATTACHED
    if row.schedule_type != 0:
        return Kind.SCHEDULED
    retracted, is_whole = _retracted(row)
    if is_whole:
        return Kind.UNSENT
    if row.balloon:
        return Kind.LINK_PREVIEW if row.balloon == LINK_PREVIEW else Kind.APP
    if retracted:
        return Kind.PARTLY_UNSENT
    return Kind.EDITED if row.edited_ns is not None else Kind.MESSAGE


def marks_of(row: Row) -> frozenset[Mark]:
    """What else is so of a row."""
    so = {
        Mark.OWN: row.is_from_me,
        Mark.SPAM: row.is_spam,
        Mark.FILTERED: any(chat.is_filtered for chat in row.chats),
        Mark.OTHER_SERVICE: row.service != IMESSAGE,
        Mark.NO_CHAT: not row.chats,
        Mark.SEVERAL_CHATS: bool(row.chats) and row.chat is None,
    }
    return frozenset(mark for mark, is_so in so.items() if is_so)


def words_of(row: Row, read: Callable[[bytes], Body | Undecodable]) -> Body | NoWords | Undecodable:
    """What a row says now, whole. Without runs where only `text` tells it.

    An edit rewrites `attributedBody` alone, which therefore counts before `text`. For a body that cannot be read the
    `text` stands in, but not in a row that was changed: it may be what was said before.
    """
    body = read(row.attributed_body) if row.attributed_body else NoWords()
    if isinstance(body, Body) and body.text:
        return body
    was_changed = row.edited_ns is not None or row.retracted_ns is not None
    if row.text and (isinstance(body, NoWords) or not was_changed):
        return Body(row.text, ()) if isinstance(row.text, str) else Undecodable("text is not UTF-8")
    return NoWords() if isinstance(body, Body) else body


def plain(text: str) -> str:
    """A text without its attachments: what stood on both sides of one is on lines of its own."""
    if ATTACHMENT not in text:
        return text
    return "\n".join(piece for piece in text.split(ATTACHMENT) if piece.strip())


def _retracted(row: Row) -> tuple[bool, bool]:
    """Whether a part of the row was taken back, and whether all of it was.

    `date_retracted` stays 0 where only a part was; then the summary's `rp` lists it, and `otr` lists every part.
    """
    if row.retracted_ns is not None:
        return True, True
    summary = _summary(row.summary)
    listed, parts = summary.get("rp"), summary.get("otr")
    if not isinstance(listed, list) or not listed:
        return False, False
    if not isinstance(parts, dict) or not parts:
        return True, not (row.text or row.attributed_body)
    gone = {str(part) for part in listed if isinstance(part, int) and 0 <= part < _MOST_PARTS}
    return True, gone.issuperset(parts)


def _summary(blob: bytes | None) -> dict[Any, Any]:
    """The row's `message_summary_info`; empty for what is none."""
    if not blob or len(blob) > _LONGEST_SUMMARY:
        return {}
    try:  # only the binary form: the other one is XML, with all that XML can do
        found = plistlib.loads(blob, fmt=plistlib.FMT_BINARY)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
