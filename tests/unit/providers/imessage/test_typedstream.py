"""Bodies as Messages writes them, and every way in which one may be damaged."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from push.providers.imessage.typedstream import Body, Run, Undecodable, read
from tests.imessage.archiver import FILE, LINK, MENTION, PART, Archived, Archiver, Attribute, Piece, Url, body

FFFC = "\ufffc"


def recorded(shared: Path) -> dict[str, dict[str, Any]]:
    file = shared / "channels" / "imessage" / "typedstream.json"
    return {entry["name"]: entry | {"blob": base64.b64decode(entry["b64"])} for entry in json.loads(file.read_text())}


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def cover(read_body: Body) -> bool:
    at = 0
    for run in read_body.runs:
        if run.start != at or run.length < 1:
            return False
        at += run.length
    return at == utf16(read_body.text)


@pytest.mark.shared
def test_c27_every_recorded_body_is_read_exactly_or_refused(shared: Path) -> None:
    """`damaged` and `not-a-message` have no text; the long ones have its digest."""
    entries = recorded(shared)
    assert len(entries) == 38
    for name, entry in entries.items():
        found = read(entry["blob"])
        if entry["kind"] in {"damaged", "not-a-message"}:
            assert isinstance(found, Undecodable), name
            continue
        assert isinstance(found, Body), (name, found)
        assert cover(found), name
        if entry.get("text") is not None:
            assert found.text == entry["text"], name
        if "text_sha256" in entry:
            assert hashlib.sha256(found.text.encode()).hexdigest() == entry["text_sha256"], name
            assert len(found.text.encode()) == entry["text_bytes"], name


@pytest.mark.shared
def test_files_mentions_and_links_of_recorded_bodies(shared: Path) -> None:
    entries = recorded(shared)
    expected = entries["chatdb/c_attachment_mention_link"]["expect"]
    found = read(entries["chatdb/c_attachment_mention_link"]["blob"])
    assert isinstance(found, Body)
    assert [run.attachment for run in found.runs if run.attachment] == expected["attachments"]
    mentions = [[run.mention, run.start, run.start + run.length] for run in found.runs if run.mention]
    assert mentions == expected["mentions"]
    assert [run.link for run in found.runs if run.link] == expected["links"]
    assert utf16(found.text) == expected["utf16_len"]

    parts = read(entries["crabstep/MultiPart"]["blob"])
    assert isinstance(parts, Body)
    files = [(run.start, run.length, run.attachment[:5]) for run in parts.runs if run.attachment]
    assert files == [(0, 1, "at_0_"), (7, 1, "at_2_"), (15, 1, "at_4_")]

    mention = read(entries["crabstep/Mention"]["blob"])
    assert isinstance(mention, Body)
    assert [(run.start, run.length) for run in mention.runs if run.mention] == [(5, 3)]


@pytest.mark.shared
def test_bodies_of_whole_recorded_rows(shared: Path) -> None:
    for row in json.loads((shared / "channels" / "imessage" / "real_rows.json").read_text()).values():
        message = row["message"]
        if message.get("attributedBody"):
            found = read(base64.b64decode(message["attributedBody"].partition("base64,")[2]))
            assert isinstance(found, Body)
            assert message["text"] in {found.text, None}


@pytest.mark.shared
def test_a_body_cut_anywhere_is_refused_whatever_its_kind(shared: Path) -> None:
    for name, entry in recorded(shared).items():
        if len(entry["blob"]) < 2000:
            for end in range(len(entry["blob"])):
                assert isinstance(read(entry["blob"][:end]), Undecodable), (name, end)


@pytest.mark.shared
def test_the_archiver_of_these_tests_writes_what_apple_s_does(shared: Path) -> None:
    entries = recorded(shared)
    link = {LINK: "https://example.com"}
    plain: list[Piece] = [("see ", {}), ("https://example.com", link), (" now", {})]
    assert Archiver().archive(plain, mutable=True) == entries["nsarchiver26/link"]["blob"]
    assert body(("Hello, world", {})) == entries["nsarchiver26/plain"]["blob"]
    assert body("") == entries["nsarchiver26/empty"]["blob"] == entries["crabstep/Blank"]["blob"]
    assert body(entries["crabstep/Arabic"]["text"]) == entries["crabstep/Arabic"]["blob"]
    direction = "__kIMBaseWritingDirectionAttributeName"
    part = Archived(("NSNumber", "NSValue", "NSObject"), (("*", b"q"), ("q", 0)))
    file: dict[str, Attribute] = {FILE: "?" * 36, direction: -1, PART: part}
    app = entries["crabstep/AppMessage"]["blob"]
    guid = app.index(b"\x96\x96$") + 3
    assert body((FFFC, file)) == app[:guid] + b"?" * 36 + app[guid + 36 :]


SIZES = (127, 128, 150, 255, 256, 264, 292, 512, 32_767, 32_768, 65_535, 65_536, 70_000)


@pytest.mark.parametrize("mutable", [False, True], ids=["NSString", "NSMutableString"])
@pytest.mark.parametrize("size", SIZES)
def test_c27_texts_of_every_length_are_whole(size: int, mutable: bool) -> None:  # noqa: FBT001
    latin = "a" * size
    assert read(body(latin, mutable=mutable)) == Body(latin, (Run(0, size),))
    japanese = "日本語です。" * (size // 18) + "x" * (size % 18)  # three bytes each
    assert len(japanese.encode()) == size
    assert read(body(japanese, mutable=mutable)) == Body(japanese, (Run(0, len(japanese)),))


@pytest.mark.parametrize("width", [2, 4])
def test_c27_lengths_are_unsigned_in_both_widths(width: int) -> None:
    text = "é" * 20_000
    assert read(Archiver(width).archive([(text, {PART: 0})])) == Body(text, (Run(0, 20_000),))


@pytest.mark.parametrize(
    "text",
    [
        "\u2184 first",  # in UTF-8 it begins as a length of two bytes would
        "\u2184",
        "+" * 43,  # the mark of a string, and as many as its code
        "\x81\x86\x84\x92",
        "\x00\x01\x86",
        "\ufefftext",
        "  blank around \n\r\n\t",
        "👩‍👩‍👧‍👦 🇯🇵 𝖍𝖎",
        "e\u0301 stays in two",
        FFFC,
        "NSString\x01\x94\x84\x01+",
    ],
)
def test_c27_texts_that_look_like_the_stream_itself(text: str) -> None:
    for mutable in (False, True):
        assert read(body(text, mutable=mutable)) == Body(text, (Run(0, utf16(text)),))


def test_c27_only_a_file() -> None:
    assert read(body((FFFC, {FILE: "at_0_A", PART: 0}))) == Body(FFFC, (Run(0, 1, attachment="at_0_A"),))


def test_runs_are_counted_in_utf16_and_their_dictionaries_found_again() -> None:
    bold = {PART: 2, "__kIMTextBoldAttributeName": 1}
    found = read(
        body(
            (FFFC, {FILE: "at_0_A", PART: 0}),
            ("𝖍𝖎 ", {PART: 1}),
            ("Sam", {PART: 1, MENTION: "+15550100"}),
            (" ", {PART: 1}),
            ("here", {PART: 1, LINK: Url("https://example.test/")}),
            ("bold", bold),
            ("!", {PART: 1}),
        )
    )
    assert found == Body(
        FFFC + "𝖍𝖎 Sam herebold!",
        (
            Run(0, 1, attachment="at_0_A"),
            Run(1, 5),
            Run(6, 3, mention="+15550100"),
            Run(9, 1),
            Run(10, 4, link="https://example.test/"),
            Run(14, 4),
            Run(18, 1),
        ),
    )


def test_more_names_and_objects_than_a_byte_can_number() -> None:
    pieces: list[Piece] = [(f"word {n} ", {PART: n, f"key {n}": f"value {n}"}) for n in range(400)]
    pieces += [("again ", dict(attributes)) for _, attributes in pieces[:3]]
    found = read(Archiver().archive(pieces))
    assert isinstance(found, Body)
    assert found.text == "".join(text for text, _ in pieces)
    assert len(found.runs) == 403


@pytest.mark.parametrize(
    "value",
    [
        *(-1, 127, 128, -111, 40_000, 1 << 31, -(1 << 40), 1.5, b"", b"\x86" * 700, Url("tel:1"), {"a": {"b": "c"}}),
        Archived(("NSArray", "NSObject"), (("i", 1), ("@", "x"))),
        Archived(("NotKnown", "NSObject"), (("q", 7), ("@", None), ("c", -127))),
    ],
    ids=repr,
)
def test_values_that_are_not_needed_are_read_past(value: Any) -> None:
    assert read(body(("before", {"other": value, LINK: "l"}), (" after", {}))) == Body(
        "before after", (Run(0, 6, link="l"), Run(6, 6))
    )


@pytest.mark.parametrize("mutable", [False, True])
def test_c27_a_body_cut_at_any_byte_is_undecodable(mutable: bool) -> None:  # noqa: FBT001
    whole = body((FFFC, {FILE: "at_0_A"}), "日本語 " + "a" * 300, ("Sam", {MENTION: "+1"}), mutable=mutable)
    assert isinstance(read(whole), Body)
    for end in range(len(whole)):
        assert isinstance(read(whole[:end]), Undecodable), end


def changed(old: bytes, new: bytes) -> bytes:
    whole = body("Hello, world", (" and you", {LINK: "x"}))
    assert whole.count(old) == 1
    return whole.replace(old, new)


def run_of(*contents: tuple[str, object]) -> bytes:
    text = Archived(("NSString", "NSObject"), (("+", b"ab"),))
    return Archiver().archive_object(Archived(("NSAttributedString", "NSObject"), (("@", text), *contents)))


TWICE = body(("a", {"kk": "1", "kl": "2"})).replace(b"kl", b"kk")
DAMAGED = {
    "nothing": b"",
    "text alone": b"Hello, world",
    "another version": changed(b"\x04\x0bstream", b"\x03\x0bstream"),
    "more after the end": body("hi") + b"\x86",
    "a second value": body("hi") + b"\x92\x85",
    "text too short": changed(b"\x14Hello", b"\x13Hello"),
    "text too long": changed(b"\x14Hello", b"\x15Hello"),
    "length beyond the end": changed(b"\x14Hello", b"\x82\xff\xff\xff\xffHello"),
    "length of no form": changed(b"\x14Hello", b"\xf0Hello"),
    "not UTF-8, and runs for the rest": body("abc").replace(b"abc", b"a\xffc").replace(b"iI\x01\x03", b"iI\x01\x02"),
    "not UTF-8": changed(b"Hello", b"H\xffllo"),
    "a lone surrogate": changed(b"Hello", b"H\xed\xa0\xbdo"),
    "another class": changed(b"\x12NSAttributedString", b"\x12NSAttributedStrinG"),
    "another class of text": changed(b"\x08NSString", b"\x08NSSecret"),
    "runs too short": changed(b"iI\x01\x0c", b"iI\x01\x0b"),
    "runs too long": changed(b"iI\x01\x0c", b"iI\x01\x0d"),
    "a dictionary not there": changed(b"iI\x01\x0c", b"iI\x02\x0c"),
    "dictionary 0": changed(b"iI\x01\x0c", b"iI\x00\x0c"),
    "an empty run": changed(b"\x97\x02\x08", b"\x97\x01\x00\x97\x02\x08"),
    "no run": run_of(),
    "a key twice": TWICE,
    "a key twice, counted once": TWICE.replace(b"\x84\x01i\x02", b"\x84\x01i\x01"),
    "an object without a class": body(("a", {"k": Archived((), ())})),
    "a run of other types": run_of(("ii", 1)),
    "a text only": Archiver().archive_object("Hello"),
    "nil": Archiver().archive_object(None),
    "a file of no name": body(("a", {FILE: 7})),
    "a mention of nobody": body(("a", {MENTION: Archived(("NSArray", "NSObject"), ())})),
    "a link relative to another": body(
        ("a", {LINK: Archived(("NSURL", "NSObject"), (("c", 1), ("@", Url("http://a/")), ("@", "b")))})
    ),
    "a type not known": body(("a", {"k": Archived(("X", "NSObject"), (("{_NSRange=II}", b"\1\1"),))})),
    "no type": body(("a", {"k": Archived(("X", "NSObject"), (("", b""),))})),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_does_not_fit_exactly_is_undecodable(name: str) -> None:
    found = read(DAMAGED[name])
    assert isinstance(found, Undecodable)
    assert not any(word in found.reason for word in ("Hello", "world", "Secret"))


def test_a_reference_to_what_has_not_ended_is_refused() -> None:
    """An object that holds itself: the attributed string has the number 0, a class is 1, and a name is none."""
    for place in (b"\x92", b"\x93", b"\x94", b"\xff", b"\x00", b"\x87" + b"\xff" * 8):
        assert isinstance(read(changed(b"\x92\x84\x96\x96\x01x\x86", b"\x92" + place)), Undecodable)
