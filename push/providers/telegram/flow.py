"""Text that is written piece by piece, with formatting over it.

Owns line breaks between blocks, how formatting nests, and which characters no message may hold; does not own what
Markdown means (`push.providers.telegram.markup`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

#: Formatting that may contain, and be part of, any other but code: it is cut where code is.
_STYLES = {"bold", "italic", "strikethrough", "spoiler"}
#: Formatting that contains no other.
CODE = {"code", "pre"}

_EMPTY_LINE = re.compile(rb"\n[ \t>]*\n")
_LEAD = re.compile(rb"(?:[ \t]*>[ \t]?)*([ \t]*)")  # a line's indentation, behind the signs of a quote
_INDENT = 16  # spaces: more leaves no room on a telephone
_NEAR = 64  # bytes looked back over for where a line starts
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])


@dataclass(frozen=True, slots=True)
class Span:
    """Formatting of `text[start:end]`, in code points. `kind` is Telegram's name of it."""

    kind: str
    start: int
    end: int
    url: str | None = None
    language: str | None = None


class Element(NamedTuple):
    """One whose end is still to come. `kind` is None where it adds no formatting of its own."""

    kind: str | None
    piece: int
    length: int
    target: str
    title: str


def clean(text: str) -> str:
    """Without what no message may hold: lone surrogates become U+FFFD, controls but newline and tab go."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return without_controls(text.replace("\r\n", "\n").replace("\r", "\n"))


def without_controls(text: str) -> str:
    """Without control characters but newline and tab."""
    return text if text.isprintable() else text.translate(_CONTROLS)


class Flow:
    """What was written so far. Spans count pieces until `finish`, so that a piece can still be taken out."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._read_to = 0  # where in the source the last text ended
        self._pieces: list[str] = []
        self._spans: list[Span] = []
        self._open: list[Element] = []
        self._kinds: Counter[str] = Counter()
        self._bars: tuple[int, int, int] | None = (
            None  # what may open a spoiler: its piece, and spans and elements then
        )
        self._fresh = True  # nothing stands in the line yet, or only a list's marker
        self._ended = False  # a block ended: what follows starts a line
        self.length = 0

    def read_to(self, end: int) -> None:
        """The text just written ends at `end` of the source, or at the line end before it."""
        self._read_to = end - (self._source[end - 1 : end] == b"\n")

    def write(self, text: str) -> None:
        """Append to the line."""
        text = without_controls(text)
        if not text:
            return
        self._pieces.append(text)
        self.length += len(text)
        self._fresh = False

    def marker(self, text: str) -> None:
        """A list's marker, or the like: the block after it goes on in its line."""
        self.write(text)
        self._fresh = True

    # --- lines --------------------------------------------------------------------------------------------------

    def block(self, start: int) -> None:
        """A block starts, at `start` of the source: in a line of its own, after an empty one if it is so there."""
        self._start_line(start, "")

    def indented_block(self, start: int) -> None:
        """The same, as far from the left as it is in the source: lists are shown as they were meant, not as parsed."""
        line = max(self._source.rfind(b"\n", max(0, start - _NEAR), start) + 1, start - _NEAR)
        lead = _LEAD.match(self._source, line, start + _INDENT)
        self._start_line(start, _spaces(lead) if lead and lead.end() >= start else "")

    def _start_line(self, start: int, indentation: str) -> None:
        self._bars = None
        if not self._fresh:
            empty = _EMPTY_LINE.search(self._source, self._read_to, start)
            self.write(("\n\n" if empty else "\n") + indentation)
        self._read_to = max(self._read_to, start)
        self._fresh, self._ended = True, False

    def end_block(self) -> None:
        """What follows starts a line."""
        self._ended = True

    def end_item(self) -> None:
        """A list's item ended; what follows starts a line even if nothing but its marker was there."""
        self._fresh, self._ended = False, True

    def inline(self, start: int) -> None:
        """Something within a line comes: a tight list's text after a block is the one that must start a line."""
        if self._ended:
            self.indented_block(start)

    def line_break(self, end: int) -> None:
        """Go on in the next line of the same block, which starts at `end` of the source."""
        self.write("\n" + _spaces(_LEAD.match(self._source, end)))

    # --- formatting ---------------------------------------------------------------------------------------------

    def begin(self, kind: str | None, target: str = "", title: str = "") -> None:
        """An element starts here. Within another of its kind it adds nothing."""
        if kind is not None:
            self._kinds[kind] += 1
            if self._kinds[kind] > 1:
                self._kinds[kind] -= 1
                kind = None
        self._open.append(Element(kind, len(self._pieces), self.length, target, title))

    def within(self, kind: str) -> bool:
        """Whether an element of this kind is open."""
        return self._kinds[kind] > 0

    def close(self) -> Element:
        """The innermost element ends, and nothing is formatted yet."""
        element = self._open.pop()
        if element.kind is not None:
            self._kinds[element.kind] -= 1
        if self._bars is not None and self._bars[2] > len(self._open):
            self._bars = None
        return element

    def end(self) -> None:
        """The innermost element ends: what was written since is formatted."""
        element = self.close()
        self.format(element, language=element.target or None)

    def format(self, element: Element, url: str | None = None, language: str | None = None) -> None:
        """What was written since a closed element began is formatted."""
        if element.kind is not None and self.length > element.length:
            self._spans.append(Span(element.kind, element.piece, len(self._pieces), url, language))

    def since(self, element: Element) -> str:
        """What was written since an element began."""
        return "".join(self._pieces[element.piece :])

    def take_back(self, element: Element) -> str:
        """The same, and it is written no more, nor formatted."""
        text = self.since(element)
        del self._pieces[element.piece :]
        while self._spans and self._spans[-1].end > element.piece:
            self._spans.pop()
        self.length, self._bars = element.length, None
        return text

    def bars(self, after: str, *, goes_on: bool) -> None:
        """`||` before `after`: it opens or ends a spoiler, as in "||secret||"; in "a || b" and "a||b" it stays."""
        before = self._pieces[-1][-1:] if self._pieces else ""
        opened = self._bars
        if opened is None:
            if not before.isalnum() and (not after[:1].isspace() if after else goes_on):
                self._bars = len(self._pieces), len(self._spans), len(self._open)
        elif opened[2] == len(self._open) and before.strip(" \n\t|") and not after[:1].isalnum():
            piece, spans, _ = opened
            self._pieces[piece] = ""
            self.length -= 2
            # Code cannot stand in a spoiler, and would be seen: that it is hidden matters more.
            self._spans[spans:] = [span for span in self._spans[spans:] if span.kind != "code"]
            self._spans.append(Span("spoiler", piece, len(self._pieces)))
            self._bars = None
            return
        self.write("||")

    # --- the end ------------------------------------------------------------------------------------------------

    def finish(self) -> tuple[str, list[Span]]:
        """The text, and its formatting by start. Spans nest or keep apart; only quotes have code in them."""
        text = "".join(self._pieces)
        starts = list(accumulate(map(len, self._pieces), initial=0))
        placed = [replace(span, start=starts[span.start], end=starts[span.end]) for span in self._spans]
        return text, sorted(_around_code(placed), key=lambda span: span.start)


def _spaces(lead: re.Match[bytes] | None) -> str:
    return lead[1].decode().expandtabs(4)[:_INDENT] if lead else ""


def _around_code(spans: list[Span]) -> Iterator[Span]:
    """Cut every style where code stands within it."""
    code = sorted((span for span in spans if span.kind in CODE), key=lambda span: span.start)
    begins = [span.start for span in code]
    for span in spans:
        if span.kind not in _STYLES:
            yield span
            continue
        start = span.start
        for inner in code[bisect_left(begins, span.start) : bisect_left(begins, span.end)]:
            yield replace(span, start=start, end=inner.start)
            start = inner.end
        yield replace(span, start=start)
