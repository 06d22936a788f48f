"""To whom a message is said: mentions and commands in it, by the entities that the service marked.

Owns the text as the gateway takes it, without the bot's name; does not own what a command does. Offsets and lengths
of entities count UTF-16 units.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from push.providers.telegram.fields import count, identifier, items, table

_COMMAND = re.compile(r"(/[A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?")
_LEADING = re.compile(rf"\W*?({_COMMAND.pattern})(?!\S)")
_NAMED = re.compile(r"(\W*?/[A-Za-z0-9_]{1,64})@[A-Za-z0-9_]*bot(?!\S)", re.IGNORECASE)  # every bot's name ends so
_BEGINS_WITH_COMMAND = re.compile(r"\W*?/[A-Za-z0-9_]{1,64}(?!\S)")


@dataclass(frozen=True, slots=True)
class Bot:
    """Who we are: the id, and the user name without `@` ("" where the bot has none)."""

    id: int
    username: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A text without the bot's name behind commands, and whether it is said to the bot."""

    text: str
    is_addressed: bool
    is_for_another: bool  # it begins with a command to another bot


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(_encoded(text)) // 2


def wording(text: str, entities: object, bot: Bot) -> Wording:
    """Read `text` (or a caption) with its `entities`. What they say about a place that is not there is passed over."""
    data = _encoded(text)
    is_addressed = bool(_mention(bot).search(text))
    is_for_another = False
    placed = _placed(entities, len(data)) if items(entities) else _unmarked(text)
    for start, end, entity in sorted(placed, key=lambda one: one[0], reverse=True):
        if entity.get("type") == "text_mention":
            is_addressed |= identifier(table(entity.get("user")).get("id")) == bot.id
        match = _COMMAND.fullmatch(_decoded(data[start:end]))
        if entity.get("type") != "bot_command" or not match:
            continue
        command, name = match.groups()
        is_leading = not re.search(r"\w", _mention(bot).sub("", _decoded(data[:start])))
        if name is None:
            is_addressed |= is_leading  # one in the middle may be a path
        elif name.lower() == bot.username.lower():
            is_addressed = True
            data = data[: start + 2 * len(command)] + data[end:]
        else:
            is_for_another |= is_leading
    return Wording(_decoded(data), is_addressed, is_for_another)


def without_mention(text: str, bot: Bot) -> str:
    """The text without the bot's name at its beginning, unless that is all."""
    match = re.compile(rf"\s*(?:{_mention(bot).pattern})[,:]?\s*", re.IGNORECASE | re.ASCII).match(text)
    return (text[match.end() :] or text) if match else text


def without_name(text: str) -> str:
    """The text without the name behind the command that it begins with: an earlier one of the bot, or another's."""
    return _NAMED.sub(r"\1", text, count=1) if _NAMED.match(text) else text


def is_command(text: str) -> bool:
    """Whether the text begins with a command, as `wording` leaves it. A path (`/usr/bin`) is none."""
    return bool(_BEGINS_WITH_COMMAND.match(text))


def _mention(bot: Bot) -> re.Pattern[str]:
    name = re.escape(f"@{bot.username}") if bot.username else "(?!)"
    return re.compile(rf"(?<![\w@]){name}(?!\w)", re.IGNORECASE | re.ASCII)


def _placed(entities: object, end: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The entities that lie within the text, as (first byte, end, entity)."""
    for entity in map(table, items(entities)):
        offset, length = count(entity.get("offset")), count(entity.get("length"))
        if offset is not None and length and 2 * (offset + length) <= end:
            yield 2 * offset, 2 * (offset + length), entity


def _unmarked(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The command with which a text begins, where a server in place of Telegram marks none."""
    if match := _LEADING.match(text):
        start, end = (len(_encoded(text[:place])) for place in match.span(1))
        yield start, end, {"type": "bot_command"}


def _encoded(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-16-le", "surrogatepass")
