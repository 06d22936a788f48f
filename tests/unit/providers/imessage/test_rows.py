"""What a row is, when it was written, and what it says."""

from __future__ import annotations

import dataclasses
import plistlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from push.clock import iso
from push.providers.imessage import columns
from push.providers.imessage.rows import Chat, Kind, Mark, NoWords, Row, instant, kind_of, marks_of, plain, unix_ms
from push.providers.imessage.rows import words_of as words_with
from push.providers.imessage.typedstream import Body, Undecodable

CHAT = Chat(1, "any;-;friend", "friend", is_group=False, is_filtered=False)
DAMAGED = b"\0damaged"


def read(blob: bytes) -> Body | Undecodable:
    """Stands in for the reader of typedstreams: its bodies are plain UTF-8."""
    return Undecodable("damaged") if blob == DAMAGED else Body(blob.decode(), ())


def words_of(row: Row) -> Body | NoWords | Undecodable:
    return words_with(row, read)


def row(**changes: Any) -> Row:
    """An ordinary message of a friend's, but for what is said."""
    empty = columns.row([(1, *[None] * 30)])
    ordinary = dataclasses.replace(empty, service="iMessage", text="hello", chats=(CHAT,), is_finished=True)
    return dataclasses.replace(ordinary, **changes)


def summary(gone: object, parts: object = None) -> bytes:
    known = {"rp": gone} if parts is None else {"rp": gone, "otr": parts}
    return plistlib.dumps(known, fmt=plistlib.FMT_BINARY)


TWO_PARTS = {"0": {"lo": 0, "le": 3}, "1": {"lo": 3, "le": 1}}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, Kind.MESSAGE),
        *[({"associated_type": n}, Kind.TAPBACK) for n in (2000, 2001, 2006, 2007, 3000, 3007)],
        *[({"associated_type": n}, Kind.ATTACHED) for n in (2, 3, 1000, 4000, 1999, -1, 99_999)],
        *[({"item_type": n}, Kind.SYSTEM) for n in (1, 2, 3, 4, 5, 6, 77, -1)],
        *[({"schedule_type": n}, Kind.SCHEDULED) for n in (1, 2, -1)],
        ({"edited_ns": 5}, Kind.EDITED),
        ({"retracted_ns": 5, "edited_ns": 5}, Kind.UNSENT),
        ({"summary": summary([0, 1], TWO_PARTS), "edited_ns": 5}, Kind.UNSENT),
        ({"summary": summary([0], TWO_PARTS), "edited_ns": 5}, Kind.PARTLY_UNSENT),
        ({"summary": summary([0]), "edited_ns": 5}, Kind.PARTLY_UNSENT),
        ({"summary": summary([0]), "edited_ns": 5, "text": None}, Kind.UNSENT),
        ({"summary": summary([], TWO_PARTS), "edited_ns": 5}, Kind.EDITED),
        ({"summary": b"bplist00 and no more", "edited_ns": 5}, Kind.EDITED),
        ({"summary": plistlib.dumps({"rp": [0]})}, Kind.MESSAGE),  # XML is not read
        ({"balloon": "com.apple.messages.URLBalloonProvider"}, Kind.LINK_PREVIEW),
        ({"balloon": "com.apple.messages.MSMessageExtensionBalloonPlugin:0:x"}, Kind.APP),
        ({"balloon": "com.apple.messages.URLBalloonProvider", "retracted_ns": 5}, Kind.UNSENT),
        ({"balloon": "x", "associated_type": 4000}, Kind.ATTACHED),
    ],
)
def test_the_kind(changes: dict[str, Any], kind: Kind) -> None:
    assert kind_of(row(**changes)) is kind


def test_c32_what_was_typed_is_a_message_and_what_messages_wrote_is_none() -> None:
    assert kind_of(row(text="Loved “the movie”", associated_type=2000)) is Kind.TAPBACK
    assert kind_of(row(text="Loved “the movie”")) is Kind.MESSAGE


OTHER = Chat(2, "any;-;other", "other", is_group=False, is_filtered=True)


@pytest.mark.parametrize(
    ("changes", "marks"),
    [
        ({}, set()),
        ({"is_from_me": True}, {Mark.OWN}),
        ({"is_spam": True}, {Mark.SPAM}),
        ({"service": "SMS"}, {Mark.OTHER_SERVICE}),
        ({"service": "imessage"}, {Mark.OTHER_SERVICE}),
        ({"service": None, "is_from_me": True}, {Mark.OTHER_SERVICE, Mark.OWN}),
        ({"chats": ()}, {Mark.NO_CHAT}),
        ({"chats": (OTHER,)}, {Mark.FILTERED}),
        ({"chats": (CHAT, OTHER)}, {Mark.SEVERAL_CHATS, Mark.FILTERED}),
        ({"chats": (CHAT, dataclasses.replace(CHAT, rowid=3, guid="SMS;-;friend"))}, set()),
    ],
)
def test_the_marks(changes: dict[str, Any], marks: set[Mark]) -> None:
    assert marks_of(row(**changes)) == marks


@pytest.mark.parametrize(
    ("value", "ns"),
    [
        (811_692_807_123_456_789, 811_692_807_123_456_789),  # a float would make it …768
        (521_000_000, 521_000_000 * 10**9),  # before macOS 10.13
        (10**12, 10**12),
        (10**12 - 1, None),  # as seconds, 31,000 years from now
        (-5, -5 * 10**9),
        (-(2**63), -(2**63)),
        (0, None),
        (None, None),
        (8.1e17, None),
        ("811692807000000000", None),
    ],
)
def test_an_instant(value: object, ns: int | None) -> None:
    assert instant(value) == ns


def test_an_instant_in_our_time() -> None:
    assert iso(unix_ms(811_692_807_123_999_999)) == "2026-09-21T14:13:27.123Z"
    assert iso(unix_ms(0)) == "2001-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, Body("hello", ())),
        ({"attributed_body": b"hello, edited", "edited_ns": 5}, Body("hello, edited", ())),
        ({"attributed_body": b"from the body", "text": None}, Body("from the body", ())),
        ({"attributed_body": DAMAGED}, Body("hello", ())),
        ({"attributed_body": DAMAGED, "text": None}, Undecodable("damaged")),
        ({"attributed_body": DAMAGED, "text": ""}, Undecodable("damaged")),
        ({"attributed_body": DAMAGED, "edited_ns": 5}, Undecodable("damaged")),
        ({"text": None}, NoWords()),
        ({"text": ""}, NoWords()),
        ({"text": "", "attributed_body": b""}, NoWords()),
        ({"text": None, "edited_ns": 5}, NoWords()),
        ({"text": b"h\xe4lf"}, Undecodable("text is not UTF-8")),
        ({"text": b"h\xe4lf", "attributed_body": b"whole"}, Body("whole", ())),
    ],
)
def test_the_words(changes: dict[str, Any], words: object) -> None:
    assert words_of(row(**changes)) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", "hello"),
        ("  two \n lines ", "  two \n lines "),
        ("\ufffc", ""),
        ("\ufffclook", "look"),
        ("\ufffc1\ufffc2", "1\n2"),
        ("before\ufffc \ufffcafter", "before\nafter"),
    ],
)
def test_the_plain_text(text: str, expected: str) -> None:
    assert plain(text) == expected


ANYTHING = (
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2, 1000, 2000]) | st.floats() | st.text()
)
VALUES = (
    ANYTHING | st.binary() | st.builds(summary, st.lists(st.integers(-9, 9) | st.text(max_size=3)), st.just(TWO_PARTS))
)


COUNT = len(columns._MESSAGE)


@given(st.lists(VALUES, min_size=COUNT + 6, max_size=COUNT + 6))
def test_whatever_stands_in_the_columns_is_a_row(values: list[object]) -> None:
    found = columns.row([(7, *values[1:])])
    assert found.rowid == 7
    assert set(marks_of(found)) <= set(Mark)
    words_with(found, lambda blob: Undecodable(str(len(blob))))
    by_name = dict(zip(columns._MESSAGE, values, strict=False))
    if kind_of(found) in {Kind.MESSAGE, Kind.EDITED, Kind.PARTLY_UNSENT, Kind.APP, Kind.LINK_PREVIEW}:
        for name in ("item_type", "associated_type", "schedule_type"):
            assert by_name[name] is None or (by_name[name] == 0 and isinstance(by_name[name], int))
    if Mark.OWN not in marks_of(found):
        assert by_name["is_from_me"] in {None, 0}


def _cut(blob: bytes) -> list[bytes]:
    return [blob[:n] for n in range(len(blob))] + [blob[:n] + b"\xff" + blob[n + 1 :] for n in range(len(blob))]


@pytest.mark.parametrize("change", [lambda blob: blob[1:], lambda blob: blob * 2, lambda blob: b"bplist00" * 9])
def test_a_damaged_summary_takes_nothing_back(change: Callable[[bytes], bytes]) -> None:
    for blob in (change(summary([0], TWO_PARTS)), *_cut(summary([0, 1], TWO_PARTS))):
        assert kind_of(row(summary=blob, edited_ns=5)) in {Kind.EDITED, Kind.PARTLY_UNSENT, Kind.UNSENT}
