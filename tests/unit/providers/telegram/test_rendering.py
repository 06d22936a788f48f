"""What the channel calls: splitting, the plain fallback, notes and previews."""

from __future__ import annotations

import logging
import time

import pytest

from push.model.values import Part
from push.providers.telegram import markup
from push.providers.telegram.rendering import as_plain, plain, render, wants_preview, with_note
from push.providers.telegram.splitting import LIMIT, units
from tests.unit.providers.telegram.judging import entities, faults, formatted, squeezed

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1fa\U0001f1e6"


def parts(markdown: str) -> tuple[Part, ...]:
    """Rendered, and judged."""
    found = render(markdown).parts
    assert [fault for part in found for fault in faults(part)] == []
    return found


def test_c22_bold_across_the_limit() -> None:
    text = "word " * 818  # 4,090 characters
    first, second = parts(f"{text}**{'bold ' * 20}end**")
    assert squeezed(first.text, second.text) == squeezed(text, "bold " * 20, "end")
    assert first.entities is None  # the limit of a part is below 4,090: all of the bold is in the second
    assert formatted(second) == [("bold", "bold " * 20 + "end")]

    text = "word " * 790  # 3,950
    first, second = parts(f"{text}**{'bold ' * 40}end**")
    assert formatted(first) == [("bold", ("bold " * 10).strip())]
    assert formatted(second) == [("bold", "bold " * 30 + "end")]


def test_formatting_within_formatting_goes_on() -> None:
    first, second = parts(f"**{'bold ' * 1000} *both* ` `**")
    assert [kind for kind, _ in formatted(first)] == ["bold"]
    assert formatted(second)[1:] == [("italic", "both")]


def test_c22_an_unclosed_fence() -> None:
    lines = [f"{number:4}: {'x' * 80}" for number in range(104)]  # 9,000 characters
    found = parts("Look:\n```python\n" + "\n".join(lines))
    assert len(found) == 3
    assert "\n".join(part.text for part in found) == "Look:\n" + "\n".join(lines)  # cut at line ends, indentation kept
    for part in found:
        assert [(entity["type"], entity["language"]) for entity in entities(part)] == [("pre", "python")]


def test_c23_astral_characters() -> None:
    hats = "\U0001f3a9" * 2049
    for found in (parts(hats), plain(hats)):
        assert [units(part.text) for part in found] == [4000, 98]
        assert "".join(part.text for part in found) == hats


def test_c23_a_lone_surrogate() -> None:
    rendered = render("a \ud83c b \udfa9")
    assert [part.text for part in rendered.parts] == ["a \ufffd b \ufffd"]
    assert rendered.source == "a \ufffd b \ufffd"  # what is stored must be storable


@pytest.mark.parametrize(
    ("markdown", "end"),
    [
        ("a " * 1200 + "END\n\n" + "b " * 400 + "\n" + "b " * 900, "END"),  # a paragraph in the second half
        ("a " * 1200 + "END\n" + "b " * 1800, "END"),  # a line
        ("a " * 1200 + "b" * 1500 + " END " + "c" * 3000, "END"),  # a word
        ("a" * 5000, "a"),
        ("x" * 3995 + FAMILY + "y" * 10, "x"),
        ("x" * 3997 + FLAG + "y" * 10, "x"),
        ("x" + FLAG * 1500, FLAG),
        ("x" * 3999 + "e\u0301" + "y" * 10, "x"),
        ("x" * 3998 + "\U0001f44d\U0001f3fd" + "y" * 10, "x"),
    ],
)
def test_where_a_text_is_cut(markdown: str, end: str) -> None:
    first, *_ = parts(markdown)
    assert first.text.endswith(end)
    assert units(first.text) > LIMIT // 2 - 10
    assert squeezed(*(part.text for part in parts(markdown))) == squeezed(markdown)


def test_marks_without_end_are_cut_somewhere() -> None:
    assert [len(part.text) for part in parts("a" + "\u0301" * 9000)] == [4000, 4000, 1001]


def test_a_code_block_that_begins_late_is_not_torn() -> None:
    code = "\n\n".join(f"line {number}" for number in range(100))
    first, second = parts("a " * 1700 + f"\n\n```sh\n{code}\n```")
    assert first.entities is None
    assert second.text == code


def test_more_formatting_than_a_message_may_have() -> None:
    found = parts("`code` and more words here. " * 250)
    assert all(len(entities(part)) <= 100 for part in found)
    assert sum(len(entities(part)) for part in found) == 250  # cut earlier: none of it is dropped

    dense = "`a` " * 1000
    found = parts(dense)
    assert len(found) == 1  # a hundred messages would be worse than plain letters
    assert len(entities(found[0])) == 100

    found = parts("`c` `d` [a](http://b.cd) " * 50)
    assert [entity["type"] for entity in entities(found[0])].count("text_link") == 50

    found = parts("[a](http://b.cd) `c` " * 500)
    links = [entity for part in found for entity in entities(part) if entity["type"] == "text_link"]
    assert len(links) == 500  # a link's target must not be lost


@pytest.mark.parametrize("panic", [RuntimeError, type("PanicException", (BaseException,), {})])
def test_a_failing_parser_leaves_plain_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, panic: type[BaseException]
) -> None:
    def fail(text: str) -> None:
        raise panic(text)

    monkeypatch.setattr(markup, "read", fail)
    with caplog.at_level(logging.WARNING):
        assert parts("**secret** " * 500) == plain("**secret** " * 500)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "secret" not in caplog.text
    assert panic.__name__ in caplog.text


def test_an_interrupt_is_no_failure_of_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(markup, "read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        render("x")


@pytest.mark.parametrize(
    "piece",
    ["*", "`", "[", ">", "`a` ", "- a\n", "1. ", "![", "$a", "-\n", "~~~\n", "|a", "<a ", "||a", "\n", "\u0301"],
)
def test_the_time_it_takes_is_linear(piece: str) -> None:
    """Sixteen times the text may take 80 times the time of the shorter, not 256 times."""

    def seconds(length: int) -> float:
        markdown = piece * (length // len(piece))
        began = time.process_time()
        found = render(markdown).parts
        spent = time.process_time() - began
        assert len(found) >= 1
        return spent

    short = min(seconds(12_500) for _ in range(2))
    assert seconds(200_000) < 80 * max(short, 0.005)


def test_a_text_of_many_megabytes_is_shown_as_written() -> None:
    text = "**word** and more\n" * 120_000
    found = render(text).parts
    assert squeezed(*(part.text for part in found)) == squeezed(text)
    assert {part.entities for part in found} == {None}


def test_a_note_moves_the_formatting() -> None:
    (part,) = parts("\U0001f3a9 **bold**")
    noted = with_note(part, "possibly a repeat \U0001f501")
    assert noted.text == "possibly a repeat \U0001f501\n\U0001f3a9 bold"
    assert formatted(noted) == [("bold", "bold")]
    assert faults(noted) == []
    assert with_note(Part("x"), "late") == Part("late\nx")


def test_without_formatting() -> None:
    (part,) = parts("**bold**")
    assert as_plain(part) == Part("bold")


def test_a_preview_is_for_short_answers() -> None:
    assert wants_preview(Part("x" * 1000))
    assert not wants_preview(Part("x" * 1001))
    assert not wants_preview(with_note(Part("the short end of a long answer", is_piece=True), "late"))
    assert not wants_preview(Part("\U0001f3a9" * 501))


def test_plain_text_with_nothing_to_see_has_no_part() -> None:
    assert plain(" \n\u200b\x00") == ()
    assert plain("**a**\x07 ") == (Part("**a**"),)
