"""An agent's Markdown as messages of Telegram: parts within its limits, nothing of the answer lost.

Owns what the channel calls, and that it never fails; does not own what Markdown means (`markup`) nor where a text is
cut (`splitting`).
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace

from push.model.values import Part, Rendered
from push.providers.telegram.flow import clean
from push.providers.telegram.splitting import dumps, split, units

_PREVIEW = 1000  # units up to which an answer may show what it links to
_MARKDOWN = 1_000_000  # characters: up to four seconds; what is longer is no text to be read, and shown as written
_NOTHING = Part("(nothing to show)")

_log = logging.getLogger(__name__)


def render(markdown: str) -> Rendered:
    """An answer as parts, at least one. Never raises: where the parser fails, the Markdown is shown as written."""
    source = clean(markdown)
    return Rendered(_formatted(source) or split(source) or (_NOTHING,), source)


def plain(text: str) -> tuple[Part, ...]:
    """A text as parts, without formatting; none where it has nothing to see."""
    return split(clean(text))


def with_note(part: Part, note: str) -> Part:
    """The part with a line before it, of at most 90 units for it to stay within Telegram's limit."""
    line = f"{note}\n"
    entities = None
    if part.entities is not None:
        shift = units(line)
        entities = dumps([entity | {"offset": entity["offset"] + shift} for entity in json.loads(part.entities)])
    return replace(part, text=line + part.text, entities=entities)


def as_plain(part: Part) -> Part:
    """The part without its formatting, for when Telegram refuses that."""
    return replace(part, entities=None)


def wants_preview(part: Part) -> bool:
    """Whether what it links to may be shown below it: a long answer, or one of several parts, would be torn apart."""
    return not part.is_piece and units(part.text) <= _PREVIEW


def _formatted(markdown: str) -> tuple[Part, ...]:
    """The answer as its Markdown means it; nothing where the parser fails, it is too long, or only markup is there."""
    from push.providers.telegram.markup import read

    if len(markdown) > _MARKDOWN:
        return ()
    try:
        return split(*read(markdown))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of the parser is no Exception
        _log.warning("an answer is shown as plain text: its Markdown was not read (%s)", type(error).__name__)
        return ()
