"""Cuts a text with formatting into messages that Telegram takes.

Owns its limits and its form of formatting (UTF-16 units, JSON); does not own what the formatting means.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from push.model.values import Part
from push.providers.telegram.flow import CODE, Span

#: UTF-16 units of a part. Telegram takes 4,096; a note of up to 90 may be put before it.
LIMIT = 4000
#: Formatting beyond this many entities of a message is ignored by Telegram.
_ENTITIES = 100

_SPACE = re.compile(r"\s*")
_EMPTY_LINES = re.compile(r"(?:[ \t]*\n)*")
_CLUSTER = 64  # code points looked back over for the start of what is one sign to a reader
_ZWJ = "\u200d"
#: Drawn as nothing, though Unicode counts them as letters or symbols.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc")


def units(text: str) -> int:
    """The length of a text without lone surrogates, in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def split(text: str, spans: Sequence[Span] = ()) -> tuple[Part, ...]:
    """Parts of at most LIMIT units, none of them blank: together the text but for white space at the cuts.

    `spans` as `Flow.finish` gives them; one that is cut goes on in the next part.
    """
    return tuple(_Splitter(text, spans).parts())


class _Splitter:
    """One pass over the text. `_here` are the spans that began before `_at` and may go on after it."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._spans = spans
        self._next = 0  # the first span not in `_here`
        self._here: list[Span] = []
        self._at = 0

    def parts(self) -> Iterator[Part]:
        while self._skip():
            end = self._end()
            body = self._text[self._at : end].rstrip()
            self._take(end)
            if is_visible(body):
                yield Part(body, self._entities(body))
            self._at = end

    def _take(self, end: int) -> None:
        """Move the spans that start before `end` to those at hand, and forget those that are over."""
        first = self._next
        while self._next < len(self._spans) and self._spans[self._next].start < end:
            self._next += 1
        self._here = [span for span in (*self._here, *self._spans[first : self._next]) if span.end > self._at]

    def _skip(self) -> bool:
        """Go over white space, but keep the indentation of code. False at the end."""
        while self._at < len(self._text):
            self._take(self._at + 1)
            in_code = any(span.kind == "pre" for span in self._here)
            start = (_EMPTY_LINES if in_code else _SPACE).match(self._text, self._at).end()  # type: ignore[union-attr]
            if start == self._at:
                return True
            self._at = start
        return False

    def _end(self) -> int:
        """Where this part ends: as far as the limits allow, at the best place in its second half."""
        far = self._at + _reach(self._text[self._at : self._at + LIMIT])
        far = self._within_entities(far)
        if far == len(self._text):
            return far
        half = self._at + max(1, (far - self._at) // 2)
        blocks = [span for span in self._ahead(far) if span.kind == "pre" and span.start >= half]
        if blocks and blocks[-1].end > far:
            return blocks[-1].start  # the block is whole in the next part, or at least begins there
        return (
            self._paragraph(half, far, blocks)
            or _found(self._text.rfind("\n", half, far + 1))
            or _found(max(self._text.rfind(space, half, far + 1) for space in " \t"))
            or self._sign(far)
        )

    def _ahead(self, end: int) -> Iterator[Span]:
        """The spans at hand, and those that start before `end`."""
        yield from self._here
        for index in range(self._next, len(self._spans)):
            if self._spans[index].start >= end:
                return
            yield self._spans[index]

    def _within_entities(self, far: int) -> int:
        """Nearer where there is too much formatting: for a link always, for the rest as long as half remains."""
        spans = list(self._ahead(far))
        links = [span for span in spans if span.kind == "text_link"]
        if len(links) > _ENTITIES:
            far = links[_ENTITIES].start
        if len(spans) > _ENTITIES and spans[_ENTITIES].start - self._at >= LIMIT // 2:
            far = min(far, spans[_ENTITIES].start)
        return far

    def _paragraph(self, half: int, far: int, blocks: list[Span]) -> int | None:
        """The last empty line that is in no code block."""
        end = far + 2
        while (found := self._text.rfind("\n\n", half, end)) > 0:
            while blocks and blocks[-1].start > found:
                blocks.pop()
            if not blocks or blocks[-1].end <= found:
                return found
            end = blocks[-1].start
        return None

    def _sign(self, far: int) -> int:
        """Before a sign of several code points, where its start is near."""
        for cut in range(far, max(self._at, far - _CLUSTER), -1):
            if not _is_inside_sign(self._text, self._at, cut):
                return cut
        return far

    def _entities(self, body: str) -> str | None:
        """The formatting of the part that starts here, as Telegram reads it."""
        end = self._at + len(body)
        clipped = (replace(span, start=max(span.start, self._at), end=min(span.end, end)) for span in self._here)
        spans = [
            inner for span in clipped if span.start < span.end and (inner := _trimmed(self._text, span)) is not None
        ]
        if len(spans) > _ENTITIES:
            spans = sorted(spans, key=lambda span: span.kind != "text_link")[:_ENTITIES]
        spans.sort(key=lambda span: (span.start, -span.end))
        wide = [index for index, char in enumerate(body, self._at) if char > "\uffff"] if not body.isascii() else []

        def offset(index: int) -> int:
            return index - self._at + bisect_left(wide, index)

        entities = [_entity(span, offset(span.start), offset(span.end)) for span in spans]
        return dumps(entities) if entities else None


def _trimmed(text: str, span: Span) -> Span | None:
    """Without white space at its edges (code keeps its own); None where nothing is left."""
    inner = text[span.start : span.end]
    if not inner.strip():
        return None
    if span.kind in CODE:
        return span
    start = span.end - len(inner.lstrip())
    return replace(span, start=start, end=span.start + len(inner.rstrip()))


def dumps(entities: list[dict[str, object]]) -> str:
    """The form in which a part holds its formatting."""
    return json.dumps(entities, ensure_ascii=False, separators=(",", ":"))


def _entity(span: Span, start: int, end: int) -> dict[str, object]:
    entity: dict[str, object] = {"type": span.kind, "offset": start, "length": end - start}
    if span.url is not None:
        entity["url"] = span.url
    if span.language is not None:
        entity["language"] = span.language
    return entity


def _reach(chunk: str) -> int:
    """How many of these code points fit into a part."""
    if chunk.isascii():
        return len(chunk)
    return len(chunk.encode("utf-16-le")[: 2 * LIMIT].decode("utf-16-le", "ignore"))


def _found(index: int) -> int | None:
    return index if index > 0 else None


def _is_inside_sign(text: str, start: int, cut: int) -> bool:
    """Whether a cut before `text[cut]` would be within what a reader sees as one sign. One begins at `start`."""
    before, after = text[cut - 1], text[cut]
    if _is_flag_letter(before) and _is_flag_letter(after):
        first = cut
        while first > start and _is_flag_letter(text[first - 1]):
            first -= 1
        return (cut - first) % 2 == 1
    return _ZWJ in {before, after} or unicodedata.category(after)[0] == "M" or _is_modifier(after)


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_modifier(char: str) -> bool:
    """A skin colour, or a letter of a region's flag."""
    return "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f"


def is_visible(text: str) -> bool:
    """Whether a text has anything to see. Telegram refuses one that has not."""
    return any(not _is_blank(char) for char in text)


def _is_blank(char: str) -> bool:
    return (
        char.isspace()
        or unicodedata.category(char) in {"Cc", "Cf", "Zs"}
        or char in _INVISIBLE
        or "\ufe00" <= char <= "\ufe0f"
    )
