"""Whatever an agent writes becomes messages that Telegram takes, and none of it is lost."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from push.providers.telegram.flow import clean
from push.providers.telegram.markup import read
from push.providers.telegram.rendering import plain, render
from push.providers.telegram.splitting import is_visible, split
from tests.unit.providers.telegram.judging import entities, faults, squeezed

#: Pieces from which Markdown of every kind, and much that only looks like it, is put together.
PIECES = (
    "*", "**", "_", "~", "~~", "`", "``", "\n```py\n", "\n```\n", "||", "[", "](", ")", "](http://a.bc/d)", "![", "<",
    ">", "<b>", "</b>", "<details>\n", "<!--", "-->", "$", "$$", "\\", "&amp;", "&#7;", "\n", "\n\n", "\n> ", "\n>> ",
    "\n- ", "\n1. ", "\n  - ", "\n    ", "\n- [ ] ", "\n# ", "\n---\n", "\n|a|b|\n|-|-|\n|", "|", "[^1]", "\n[^1]: ",
    "\n[r]: ", "[r]", " ", "\t", "a", "b7", "word ", "\U0001f3a9", "\U0001f468\u200d\U0001f469", "\u0301", "\U0001f1e6",
    "\u05d0", "\ud83d", "\udc00", "\x00", "\x1b", "\r\n", "\u200b", "https://x.yz/q", "mailto:a@b.c", "javascript:x",
)  # fmt: skip

pieces = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=60).map("".join)
longer = st.builds(lambda text, times: text * (times // max(1, len(text))), pieces, st.integers(0, 20_000))
written = pieces | longer | st.text()

WORD = re.compile(r"[a-z0-9]+")


@given(written)
def test_every_part_is_one_that_telegram_takes(markdown: str) -> None:
    parts = render(markdown).parts
    assert parts
    assert [fault for part in parts for fault in faults(part)] == []
    assert all(len(part.text.encode("utf-16-le")) <= 8000 for part in parts)


@given(written)
def test_the_parts_together_are_the_text(markdown: str) -> None:
    text, spans = read(clean(markdown))
    parts = split(text, spans)
    if parts:
        assert squeezed(*(part.text for part in parts)) == squeezed(text)
    else:
        assert not is_visible(text)


@given(written)
def test_plain_text_is_kept_as_it_is(text: str) -> None:
    parts = plain(text)
    assert [fault for part in parts for fault in faults(part)] == []
    if is_visible(clean(text)):
        assert squeezed(*(part.text for part in parts)) == squeezed(clean(text))


@given(st.lists(st.sampled_from((*PIECES[:7], "word ", "ab", " ", "\n", "\n\n", "<b>", "\n> ", "\n# ")), max_size=60))
def test_no_word_is_lost(made: list[str]) -> None:
    """Signs may be markup, words are not."""
    markdown = "".join(made)
    rendered = "".join(f"{part.text}{part.entities}" for part in render(markdown).parts)
    for word in set(WORD.findall(markdown)):
        assert rendered.count(word) >= len(re.findall(rf"\b{word}\b", markdown)), word


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=8), st.sampled_from(("**", "*", "~~", "`", "[")))
def test_formatting_goes_on_over_every_cut(lengths: list[int], sign: str) -> None:
    inner = " ".join("x" * length for length in lengths)
    start, end = (sign, "](https://a.bc)") if sign == "[" else (sign, sign)
    parts = render(f"{start}{inner}{end}").parts
    for part in parts:
        (entity,) = entities(part)
        assert (entity["offset"], entity["length"]) == (0, len(part.text))
