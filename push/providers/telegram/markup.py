"""Markdown as plain text and the formatting over it.

Owns what a piece of Markdown becomes; does not own limits, UTF-16 units or the form that Telegram reads
(`push.providers.telegram.splitting`). What a person could read is not dropped: where Telegram has no form for it, or
would refuse it, it stays as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from push.providers.telegram.flow import Flow, Span, without_controls
from push.providers.telegram.tables import layout

_LANGUAGE = 64  # characters; a longer word after a fence is no language
_URL = 2048
_BLANK = 16  # characters up to which a link's text is looked at for being nothing but white space

# One address that Telegram refuses makes it refuse the whole message, so only those become links that it is known to
# take: a web address whose host has a dot, and tg. It would read mailto:a@b.c as the web address of b.c; a mail
# address that stands in the text it finds by itself.
_NAME = r"[^\x00-,./:-@\[-^`{-\x7f]+"  # letters, digits, "-", "_"
_PORT = r"(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?"
_WEB = re.compile(rf"https?://{_NAME}(?:\.{_NAME})+{_PORT}(?:[/?#]\S*)?", re.IGNORECASE)
_TG = re.compile(r"tg:(?://)?[a-z0-9_-]+(?:[/?#]\S*)?", re.IGNORECASE)


def read(markdown: str) -> tuple[str, list[Span]]:
    """The text of clean Markdown and its formatting, as `Flow.finish` gives it. Raises what the parser raises."""
    source = markdown.encode()
    walk = _Walk(source)
    for event, place in _events(markdown, source):
        walk.take(event, place["start"], place["end"])
    if "]:" in markdown:
        walk.definitions(markdown)
    return walk.flow.finish()


def _options() -> Any:
    from pyromark import Options

    return (
        Options.ENABLE_TABLES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_MATH
    )


def _events(markdown: str, source: bytes) -> Iterator[tuple[Any, Any]]:
    """What the parser finds, one by one: all at once would take 500 bytes for each bracket of a hostile answer."""
    from pyromark import Options, events_with_range

    options = _options()
    if "$" in markdown and any(
        isinstance(event, dict) and "InlineMath" in event and source[place["end"] : place["end"] + 1].isdigit()
        for event, place in events_with_range(markdown, options=options)
    ):
        options &= ~Options.ENABLE_MATH  # "$5 and **$6**" are prices
    return events_with_range(markdown, options=options, merge_text=True)


def _is_link(target: str) -> bool:
    return len(target) <= _URL and bool(_WEB.fullmatch(target) or _TG.fullmatch(target))


class _Walk:
    """Writes the text event by event. Methods carry the names of the parser's events."""

    def __init__(self, source: bytes) -> None:
        self.flow = Flow(source)
        self._source = source
        self._numbers: list[int | None] = []  # of each open list: the next item's; None for bullets
        self._lines: list[str] | None = None  # of the open code block
        self._info = ""  # what stands after its fence
        self._html_lines = 0
        self._rows: list[list[str]] = []
        self._in_cell = False
        self._ragged = False  # the table has cells that its head has no column for: the parser leaves them out
        self._cell_end = 0
        self._targets: set[str] = set()

    def take(self, event: Any, start: int, end: int) -> None:
        """One event, of `source[start:end]`."""
        name, value = next(iter(event.items())) if isinstance(event, dict) else (event, None)
        if name in {"Start", "End"}:
            tag, value = next(iter(value.items())) if isinstance(value, dict) else (value, None)
            getattr(self, f"_{name}_{tag}".lower())(value, start, end)
        else:
            getattr(self, f"_{name}".lower())(value, start, end)
            self.flow.read_to(end)

    def definitions(self, markdown: str) -> None:
        """Show the link definitions that no link of the text refers to."""
        from pyromark import reference_definitions

        for definition in reference_definitions(markdown, options=_options()).values():
            if definition["dest"] not in self._targets:
                span = definition["span"]
                self.flow.end_item()
                self.flow.inline(span["start"])
                self.flow.write(self._source[span["start"] : span["end"]].decode().strip())

    # --- blocks -------------------------------------------------------------------------------------------------

    def _start_paragraph(self, _: Any, start: int, __: int) -> None:
        self.flow.indented_block(start)

    def _start_htmlblock(self, _: Any, start: int, __: int) -> None:
        self.flow.block(start)
        self._html_lines = 0

    def _end_block(self, *_: Any) -> None:
        self.flow.end_block()

    _end_paragraph = _end_htmlblock = _end_footnotedefinition = _end_block

    def _html(self, line: str, _: int, __: int) -> None:
        self.flow.write(("\n" if self._html_lines else "") + line.removesuffix("\n"))
        self._html_lines += 1

    def _start_footnotedefinition(self, label: str, start: int, _: int) -> None:
        self.flow.block(start)
        self.flow.marker(f"[{label}]: ")

    def _start_heading(self, _: Any, start: int, __: int) -> None:
        self.flow.block(start)
        self.flow.begin("bold")

    def _start_blockquote(self, _: Any, start: int, __: int) -> None:
        self.flow.block(start)
        self.flow.begin("blockquote")

    def _end_formatted_block(self, *_: Any) -> None:
        self.flow.end()
        self.flow.end_block()

    _end_heading = _end_blockquote = _end_formatted_block

    def _start_codeblock(self, kind: Any, start: int, _: int) -> None:
        self.flow.block(start)
        self._lines = []
        self._info = kind["Fenced"].strip() if isinstance(kind, dict) else ""

    def _end_codeblock(self, _: Any, start: int, end: int) -> None:
        code, self._lines = "".join(self._lines or []).removesuffix("\n"), None
        if code.strip():
            language = self._info.partition(" ")[0]
            if language != self._info or len(language) > _LANGUAGE:  # a file's name, as a rule
                self.flow.write(f"{self._info}\n")
            self.flow.begin("pre", target=without_controls(language)[:_LANGUAGE])
            self.flow.write(code)
            self.flow.end()
        else:
            self.flow.write(self._source[start:end].decode())
        self.flow.end_block()

    def _rule(self, _: Any, start: int, __: int) -> None:
        self.flow.block(start)
        self.flow.write("———")
        self.flow.end_block()

    # --- lists --------------------------------------------------------------------------------------------------

    def _start_list(self, number: int | None, _: int, __: int) -> None:
        self._numbers.append(number)

    def _end_list(self, *_: Any) -> None:
        self._numbers.pop()
        self.flow.end_block()

    def _start_item(self, _: Any, start: int, __: int) -> None:
        self.flow.indented_block(start)
        number = self._numbers[-1]
        if number is not None:
            self._numbers[-1] = number + 1
        self.flow.marker("- " if number is None else f"{number}. ")

    def _end_item(self, *_: Any) -> None:
        self.flow.end_item()

    def _tasklistmarker(self, done: bool, _: int, __: int) -> None:  # noqa: FBT001 - the event's value
        self.flow.write("[x] " if done else "[ ] ")

    # --- tables -------------------------------------------------------------------------------------------------

    def _start_table(self, _: Any, start: int, __: int) -> None:
        self.flow.block(start)
        self.flow.begin("pre")
        self._rows, self._ragged = [], False

    def _start_tablerow(self, *_: Any) -> None:
        self._rows.append([])

    def _start_tablecell(self, *_: Any) -> None:
        self._in_cell = True
        self.flow.begin(None)

    def _end_tablecell(self, _: Any, __: int, end: int) -> None:
        self._rows[-1].append(self.flow.take_back(self.flow.close()))
        self._in_cell, self._cell_end = False, end

    def _end_tablerow(self, _: Any, __: int, end: int) -> None:
        self._ragged = self._ragged or bool(self._source[self._cell_end : end].strip(b"| \t\n>"))

    _start_tablehead, _end_tablehead = _start_tablerow, _end_tablerow

    def _end_table(self, _: Any, start: int, end: int) -> None:
        self.flow.write(self._source[start:end].decode().strip() if self._ragged else layout(self._rows))
        self._end_formatted_block()

    # --- within a line ------------------------------------------------------------------------------------------

    def _start_strong(self, _: Any, start: int, end: int) -> None:
        self._start_style("bold", start, end)

    def _start_emphasis(self, _: Any, start: int, end: int) -> None:
        self._start_style("italic", start, end)

    def _start_strikethrough(self, _: Any, start: int, end: int) -> None:
        self._start_style("strikethrough", start, end)

    def _start_style(self, kind: str, start: int, end: int) -> None:
        self.flow.inline(start)
        signs = self._signs_meant(start, end)
        self.flow.write(signs)
        self.flow.begin(None if signs else kind)

    def _end_style(self, _: Any, start: int, end: int) -> None:
        self.flow.end()
        self.flow.write(self._signs_meant(start, end))

    _end_strong = _end_emphasis = _end_strikethrough = _end_style

    def _signs_meant(self, start: int, end: int) -> str:
        """The signs around a style where they mean themselves: "2*3*4" is a product, "~5 to ~6" are estimates."""
        inner = self._source[start : start + 2]
        if inner.startswith(b"~"):
            return "" if inner.startswith(b"~~") else "~"
        if self._source[max(0, start - 1) : start].isalnum() and self._source[end : end + 1].isalnum():
            return "**" if inner.startswith(b"**") else "*"
        return ""

    def _start_link(self, link: Any, start: int, _: int) -> None:
        self.flow.inline(start)
        self._targets.add(link["dest_url"])
        self.flow.begin("text_link", without_controls(link["dest_url"]).strip(), link["title"].strip())

    def _end_link(self, _: Any, start: int, end: int) -> None:
        """A link where Telegram takes it; else what it leads to is shown."""
        element = self.flow.close()
        address = element.target.removeprefix("mailto:")
        length = self.flow.length - element.length
        notes = [element.title] if element.title else []
        if length <= _BLANK and not self.flow.since(element).strip():
            self.flow.write(address or self._source[start:end].decode())  # "items[]()" is no link
        elif length != len(address) or self.flow.since(element) != address:
            if element.kind and not self._in_cell and _is_link(element.target):
                self.flow.format(element, url=element.target)
            elif address:
                notes.insert(0, address)
        if notes:
            self.flow.write(f" ({', '.join(notes)})")

    _start_image, _end_image = _start_link, _end_link

    def _code(self, code: str, start: int, _: int) -> None:
        self.flow.inline(start)
        self.flow.begin(None if self.flow.within("text_link") else "code")  # of the two, the target must not be lost
        self.flow.write(code)
        self.flow.end()

    def _inlinemath(self, formula: str, start: int, end: int) -> None:
        self._code(f"${formula}$", start, end)

    def _displaymath(self, formula: str, start: int, end: int) -> None:
        self._code(f"$${formula}$$", start, end)

    def _inlinehtml(self, html: str, start: int, _: int) -> None:
        self.flow.inline(start)
        self.flow.write(html)

    def _footnotereference(self, label: str, start: int, _: int) -> None:
        self.flow.inline(start)
        self.flow.write(f"[{label}]")

    def _softbreak(self, _: Any, __: int, end: int) -> None:
        self.flow.line_break(end)

    _hardbreak = _softbreak

    def _text(self, text: str, start: int, _: int) -> None:
        if self._lines is not None:
            self._lines.append(text)
            return
        self.flow.inline(start)
        first, *rest = [text] if self._in_cell else text.split("||")
        self.flow.write(first)
        for count, after in enumerate(rest, 1):
            self.flow.bars(after, goes_on=count == len(rest))
            self.flow.write(after)
