"""What Markdown becomes: text that loses nothing, with the formatting that Telegram has."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from push.providers.telegram.rendering import render
from tests.unit.providers.telegram.judging import entities, faults, formatted, squeezed


def shown(markdown: str) -> str:
    (part,) = render(markdown).parts
    assert faults(part) == []
    return part.text


def kinds(markdown: str) -> list[tuple[str, str]]:
    (part,) = render(markdown).parts
    assert faults(part) == []
    return formatted(part)


@pytest.mark.shared
def test_the_shared_nasty_inputs_render(shared: Path) -> None:
    cases = json.loads((shared / "channels/markdown/nasty.json").read_text(encoding="utf-8"))
    assert len(cases) >= 20
    for case in cases:
        parts = render(case["markdown"]).parts
        assert parts, case["name"]
        assert [fault for part in parts for fault in faults(part)] == [], case["name"]
        # What stands between the signs of Markdown is there again, in its order, or is a target or a language.
        found = squeezed(*(f"{part.text}{part.entities}" for part in parts))
        for word in "".join(char if char.isalnum() else " " for char in unescape(case["markdown"])).split():
            assert word in found or word == "mailto", (case["name"], word)


def test_styles() -> None:
    markdown = "# Head\n\n**b** _i_ ~~s~~ `c` ||h|| [l](https://e.com/a_(b)?x=1&y=2)"
    assert shown(markdown) == "Head\n\nb i s c h l"
    assert kinds(markdown) == [
        ("bold", "Head"), ("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c"), ("spoiler", "h"),
        ("text_link", "l"),
    ]  # fmt: skip
    assert entities(render(markdown).parts[0])[-1]["url"] == "https://e.com/a_(b)?x=1&y=2"


@pytest.mark.parametrize(
    "text",
    [
        "use <div> and List<int> here",
        "if a<b then c>d",
        "<details>\n<summary>S</summary>\n\ninner\n\n</details>",
        "<!-- a\n\nb -->",
        "a <script>alert(1)</script> b",
        "2*3*4 and x**2**y",
        "about ~5 or ~6~",
        "a || b or c||d||e or c||d||, f(c|| d||)",
        "$5 and $6",
        "a_b_c C:\\path",
        "items[]() and [x]",
        "1. one\n2. two\n  - deep\n    - deeper\n3. three",
        "7. seven\n8. eight",
        "- [ ] open\n- [x] done",
        "- a\n\n  more\n- b",
        "[r]: https://unused.example",
        "a\n  b\n   c",
        "1. two spaces\n  - are too few to the parser\n    - but meant",
        "https://bare.example/a_b_c",
        "|no|table|",
    ],
)
def test_this_is_shown_as_it_is_written(text: str) -> None:
    assert shown(text) == text


def test_an_empty_item_keeps_its_line() -> None:
    assert shown("-\n- b") == "- \n- b"


def test_markup_around_html_is_still_read() -> None:
    assert shown("<b>**x**</b> `<i>`") == "<b>x</b> <i>"
    assert kinds("<b>**x**</b> `<i>`") == [("bold", "x"), ("code", "<i>")]


@pytest.mark.parametrize("target", ["http://a.bc", "HTTPS://a.bc:8080/x?y#z", "https://привет.рф/ы", "tg://user?id=5"])
def test_links_that_telegram_takes(target: str) -> None:
    (part,) = render(f"see [this]({target}) there").parts
    assert part.text == "see this there"
    assert [(entity["type"], entity["url"]) for entity in entities(part)] == [("text_link", target)]


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)", "/etc/passwd", "src/main.py", "#part", "http://localhost:3000", "https://a.bc:99999/",
        "ftp://a.bc", "http://", "https://.", "data:text/html,x", "file:///a", "https://user@a.bc/", "tg:", "//a.bc",
        "https://a.bc/" + "x" * 3000,
    ],
)  # fmt: skip
def test_other_targets_are_shown(target: str) -> None:
    (part,) = render(f"see [this]({target}) there").parts
    assert (part.text, part.entities) == (f"see this ({target}) there", None)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("[q](mailto:a@b.cd)", "q (a@b.cd)"),
        ("<a@b.cd>", "a@b.cd"),
        ("[src/x.py](src/x.py)", "src/x.py"),
        ("[](http://e.fg)", "http://e.fg"),
        ("a [&nbsp;](http://e.fg)", "a \u00a0http://e.fg"),
        ("[e]()", "e"),
        ("<http://a.bc/d>", "http://a.bc/d"),
        ('[l](http://a.bc "title")', "l (title)"),
        ("[![badge](http://i.mg/a.png)](http://a.bc)", "badge (http://i.mg/a.png)"),
        ("![](http://i.mg/a.png)", "http://i.mg/a.png"),
        ("[one][r]\n\n[r]: http://a.bc", "one"),
        ("[one][r]\n\n[r]: http://a.bc\n[s]: http://b.cd 'title'", "one\n\n[s]: http://b.cd 'title'"),
    ],
)
def test_no_target_is_lost(markdown: str, text: str) -> None:
    assert shown(markdown) == text


def test_code_and_other_formatting_do_not_nest() -> None:
    assert kinds("**a `b` c**") == [("bold", "a"), ("code", "b"), ("bold", "c")]
    assert kinds("[a `b`](http://a.bc)") == [("text_link", "a b")]
    assert kinds("a ` ` b") == []
    assert kinds("> a `b`") == [("blockquote", "a b"), ("code", "b")]
    assert kinds("> a\n> > b") == [("blockquote", "a\nb")]
    assert kinds("**a **b****") == [("bold", "a b")]
    assert kinds("**a ||b** **c||**") == [("bold", "a ||b"), ("bold", "c||")]
    assert kinds("||a `b` **c**||") == [("spoiler", "a b c"), ("bold", "c")]


def test_a_code_block_keeps_its_language_and_what_stands_beside_it() -> None:
    (part,) = render("a\n```python\n    x = 1\n\n  y()\n```\nb").parts
    assert part.text == "a\n    x = 1\n\n  y()\nb"
    assert entities(part) == [{"type": "pre", "offset": 2, "length": 16, "language": "python"}]
    assert shown("```py app.py\nx\n```") == "py app.py\nx"
    assert shown(f"```{'y' * 70}\nx\n```") == f"{'y' * 70}\nx"
    assert shown("a\n~~~word") == "a\n~~~word"
    assert kinds("- a\n  ```\n  x\n  ```\n  b") == [("pre", "x")]
    assert shown("- a\n  ```\n  x\n  ```\n  b") == "- a\nx\n  b"


def test_tables() -> None:
    assert shown("| a | *long* |\n|-|-|\n| `x` | [l](http://a.bc) |") == (
        "a | long\n--+----------------\nx | l (http://a.bc)"
    )
    assert kinds("| a |\n|-|\n| **x** |") == [("pre", "a\n-\nx")]
    assert shown("| a |\n|-|\n| \\|\\|x\\|\\| |") == "a\n-----\n||x||"
    ragged = "| a |\n|---|\n| b | c `d|e` |"
    assert shown(ragged) == ragged
    assert shown("|a|b|\n|-|-|\n|漢|x|\n|c|\n\nend") == "a  | b\n---+--\n漢 | x\nc  |\n\nend"
    wide = "x" * 101
    assert shown(f"| a | b |\n|-|-|\n| {wide} | c |") == f"a | b\n---\n{wide} | c"


def test_footnotes_and_formulas() -> None:
    assert shown("a[^1] b\n\n[^1]: note *x*") == "a[1] b\n\n[1]: note x"
    assert kinds("so $a*b*c$ and\n\n$$\\frac{1}{2}$$") == [("code", "$a*b*c$"), ("code", "$$\\frac{1}{2}$$")]
    assert kinds("**$5** and **$6**") == [("bold", "$5"), ("bold", "$6")]


def test_characters_that_no_message_may_hold() -> None:
    assert shown("a\ud800b\x00\x1b[0m &#7;\x7f\x85c\r\nd\ud83c\udfa9") == "a\ufffdb[0m c\nd\U0001f3a9"


def test_offsets_are_utf_16() -> None:
    (part,) = render("\U0001f3a9 **b\U0001f3a9** `c`").parts
    assert [(entity["offset"], entity["length"]) for entity in entities(part)] == [(3, 3), (7, 1)]


def test_white_space_at_the_edges_is_no_part_of_it() -> None:
    (part,) = render("\n\n  \n** a**b\n\n&nbsp; **c** \n").parts
    assert part.text.startswith("** a**b")
    assert formatted(part) == [("bold", "c")]


def test_what_is_only_markup_is_shown_as_it_is() -> None:
    assert shown("#") == "#"
    assert shown("```\n```") == "```\n```"
    assert shown("") == shown(" \u200b\n") == "(nothing to show)"
