"""What an update is: whose message, in which conversation, under which names; and what is passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from push.model.values import Inbound
from push.providers.base import Allowlist, Edited, Ignored, Pressed
from push.providers.telegram.updates import NOWHERE, see, see_all
from tests.unit.providers.telegram.samples import (
    ALLOWED,
    ANN,
    BOT,
    DATE,
    GROUP,
    MALLORY,
    ME,
    PHOTO,
    PRIVATE,
    VOICE,
    in_group,
    message,
    reason,
    said,
    seen,
    taken,
)


@freeze_time("2026-12-01")
def test_a_text_is_a_message_of_its_sender_in_the_private_conversation() -> None:
    update = {"update_id": 900, "message": said("hello")}
    got = see(update, BOT, ALLOWED)
    assert got.seen == Inbound(
        channel="telegram",
        conversation="telegram:dm:1234",
        target="1234",
        event_id="5:900:1234:11",
        sender="1234",
        text="hello",
        received_ms=DATE * 1000,
        message_ref="1234/11",
        joins=True,
    )
    assert got.position == 900
    assert json.loads(got.raw) == update


@pytest.mark.parametrize("date", [None, 0, -5, "1790000000", 1.5e9, True, DATE + 10 * 86400, DATE * 1000, 1 << 70])
@freeze_time("2026-09-22")
def test_a_date_that_cannot_be_right_is_now(date: object) -> None:
    assert taken(said("hello", date=date)).received_ms == 1790035200000


@pytest.mark.parametrize(
    ("fields", "conversation", "target"),
    [
        ({"message_thread_id": 5, "is_topic_message": True}, "telegram:dm:1234:topic:5", "1234:5"),
        ({"message_thread_id": 1, "is_topic_message": True}, "telegram:dm:1234", "1234"),
        ({"message_thread_id": 5}, "telegram:dm:1234", "1234"),
        ({"message_thread_id": 5, "is_topic_message": 1}, "telegram:dm:1234", "1234"),
        ({"message_thread_id": "5", "is_topic_message": True}, "telegram:dm:1234", "1234"),
        ({"is_topic_message": True}, "telegram:dm:1234", "1234"),
        ({"chat": GROUP, "text": "@push_bot hi"}, "telegram:group:-1009", "-1009"),
        (
            {"chat": GROUP, "text": "@push_bot hi", "message_thread_id": 42, "is_topic_message": True},
            "telegram:group:-1009:topic:42",
            "-1009:42",
        ),
        ({"chat": GROUP, "text": "@push_bot hi", "message_thread_id": 42}, "telegram:group:-1009", "-1009"),
    ],
)
def test_c20_only_a_topic_message_with_a_number_above_general_is_in_a_topic(
    fields: dict[str, Any], conversation: str, target: str
) -> None:
    got = taken(message(**{"text": "hi", **fields}))
    assert (got.conversation, got.target) == (conversation, target)


def test_a_person_or_their_private_chat_may_be_listed() -> None:
    assert taken(said("hi"), Allowlist(frozenset({1234}), frozenset())).text == "hi"
    assert taken(said("hi"), Allowlist(frozenset(), frozenset({1234}))).text == "hi"


def test_a_server_that_leaves_out_that_a_person_is_no_bot_is_understood() -> None:
    assert taken(said("hi", sender={"id": ANN["id"]})).text == "hi"


def test_c4_another_bots_update_of_the_same_number_is_another_event() -> None:
    update = {"update_id": 900, "message": said("hello")}
    events = {
        got.event_id
        for bot in (BOT, type(BOT)(6, "other_bot"))
        if isinstance(got := see(update, bot, ALLOWED).seen, Inbound)
    }
    assert len(events) == 2


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("photo", {"photo": PHOTO}),
        ("voice", {"voice": VOICE}),
        ("animation", {"animation": VOICE, "document": VOICE}),
        ("venue", {"venue": {}, "location": {}}),
        ("location", {"location": {"latitude": 1, "longitude": 2}}),
        ("poll", {"poll": {}}),
    ],
)
def test_what_has_no_words_is_a_command_that_says_so(kind: str, content: dict[str, Any]) -> None:
    got = taken(message(**content))
    assert (got.kind, got.text, got.joins, got.hold_ms) == ("command", f"/unsupported {kind}", False, 0)


def test_a_caption_is_the_text_and_the_agent_learns_what_came_with_it() -> None:
    got = taken(message(document={"file_name": "IMG_1.HEIC"}, caption="what is this?"))
    assert (got.kind, got.text, got.joins) == ("message", "what is this?", False)
    assert got.context == '[Attached, and not readable for you yet: document "IMG_1.HEIC".]'


def _album(*captions: str | None, first: int = 20) -> list[object]:
    parts = enumerate(captions, first)
    return [
        {"update_id": n, "message": message(message_id=n, media_group_id="g", photo=PHOTO, caption=caption)}
        for n, caption in parts
    ]


def test_of_an_album_the_part_with_the_caption_counts_wherever_it_stands() -> None:
    got = [update.seen for update in see_all(_album(None, "these", None), BOT, ALLOWED)]
    assert [getattr(one, "text", None) for one in got] == [None, "these", None]
    assert got[0] == Ignored("album_part", "photo", "1234", "1234")


def test_an_album_without_a_caption_is_told_once_also_over_two_answers() -> None:
    first = [update.seen for update in see_all(_album(None, None), BOT, ALLOWED)]
    second = [update.seen for update in see_all(_album(None, first=22), BOT, ALLOWED)]
    assert isinstance(first[0], Inbound)
    assert first[0].text == "/unsupported photo"
    assert isinstance(first[1], Ignored)
    assert isinstance(second[0], Inbound)
    assert second[0].event_id == first[0].event_id  # the ledger takes it as the same event


def test_raw_is_kept_of_accepted_senders_only() -> None:
    for content in (said("hi", sender=MALLORY), in_group("not for the bot"), said("hi", message_id="x")):
        assert see({"update_id": 1, "message": content}, BOT, ALLOWED).raw == ""


def test_an_edit_of_an_allowed_sender_is_an_edit() -> None:
    assert seen(said("better", edit_date=DATE), kind="edited_message") == Edited("1234/11", "1234", "better")
    caption = message(photo=PHOTO, caption="seen")
    assert seen(caption, kind="edited_message") == Edited("1234/11", "1234", "seen")
    in_ops = in_group("@push_bot  better")
    assert seen(in_ops, kind="edited_message") == Edited("-1009/11", "1234", "better")


def test_a_moving_location_is_no_edit() -> None:
    assert reason(message(location={}), kind="edited_message") == "edited_without_text"


def _press(**fields: Any) -> dict[str, Any]:
    button = {"message_id": 17, "from": ME, "chat": PRIVATE, "date": DATE, "text": "Pick"}
    return {"id": "4382", "from": ANN, "message": button, "chat_instance": "-3", "data": "stop:7", **fields}


@pytest.mark.parametrize(
    ("fields", "conversation", "target", "receipt"),
    [
        ({}, "telegram:dm:1234", "1234", "1234/17"),
        ({"message": {"chat": PRIVATE, "message_id": 17, "date": 0}}, "telegram:dm:1234", "1234", "1234/17"),
        (
            {"message": {"chat": GROUP, "message_id": 9, "message_thread_id": 4, "is_topic_message": True}},
            "telegram:group:-1009:topic:4",
            "-1009:4",
            "-1009/9",
        ),
        (
            {"message": {"chat": {**GROUP, "id": -7}, "message_id": 9}},
            "telegram:group:-7",
            "-7",
            "-7/9",
        ),
    ],
)
def test_a_press_names_its_message_and_conversation(
    fields: dict[str, Any], conversation: str, target: str, receipt: str
) -> None:
    got = seen(_press(**fields), kind="callback_query")
    assert got == Pressed("4382", "1234", conversation, target, "stop:7", receipt)


def test_a_press_without_its_message_belongs_to_the_persons_private_chat() -> None:
    press = _press()
    del press["message"]
    assert seen(press, kind="callback_query") == Pressed("4382", "1234", "telegram:dm:1234", "1234", "stop:7", None)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"data": "ä" * 33}, "malformed"),
        ({"data": None}, "not_handled"),
        ({"id": 4382}, "malformed"),
        ({"id": "4" * 300}, "malformed"),
        ({"message": 5}, "malformed"),
        ({"message": {"chat": PRIVATE}}, "malformed"),
        ({"from": {**ANN, "is_bot": True}}, "not_a_person"),
    ],
)
def test_a_press_that_is_not_as_documented_is_nothing(fields: dict[str, Any], expected: str) -> None:
    assert reason(_press(**fields), kind="callback_query") == expected


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("message", message(pinned_message=said("x")), "service_message"),
        ("message", message(chat=GROUP, new_chat_title="x"), "service_message"),
        ("message", said(""), "malformed"),
        ("message", message(text=7), "malformed"),
        ("message", said("x", chat={**PRIVATE, "id": "1234"}), "malformed"),
        ("message", said("x", chat={**PRIVATE, "type": ["private"]}), "malformed"),
        ("message", said("x", message_id=True), "malformed"),
        ("message", {}, "malformed"),
        ("my_chat_member", {"from": ANN, "chat": PRIVATE}, "not_handled"),
        ("message_reaction", {"user": ANN, "chat": PRIVATE}, "not_handled"),
        ("channel_post", {"sender_chat": GROUP, "chat": {"id": -3, "type": "channel"}}, "not_allowlisted"),
        ("brand_new", {"x": 1}, "not_handled"),
    ],
)
def test_what_means_nothing_is_passed_over_with_a_reason(kind: str, content: dict[str, Any], expected: str) -> None:
    assert reason(content, kind=kind) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"chat": {"id": -4, "type": "group"}, "migrate_to_chat_id": -1009}, "chat_migrated"),
        ({"chat": {"id": -4, "type": "group"}, "migrate_to_chat_id": -1008}, "not_allowlisted"),
        ({"chat": {"id": -1007, "type": "supergroup"}, "migrate_from_chat_id": -1009}, "chat_migrated"),
    ],
)
def test_c21_a_listed_groups_new_id_is_told(content: dict[str, Any], expected: str) -> None:
    assert reason(message(**content)) == expected


@pytest.mark.parametrize("update", [None, 5, [], "x", {}, {"message": said("hi")}, {"update_id": "900"}])
def test_without_an_id_an_update_has_no_position(update: object) -> None:
    got = see(update, BOT, ALLOWED)
    assert (got.position, got.seen) == (NOWHERE, Ignored("malformed", "update"))


@pytest.mark.shared
def test_shared_updates_are_what_they_are(shared: Path) -> None:
    samples = json.loads((shared / "channels" / "telegram" / "updates.json").read_text())
    allowed = Allowlist(frozenset({100000001}), frozenset({-1001234567890}))
    got = see_all([sample["update"] for sample in samples], BOT, allowed)
    summary = {sample["name"]: _summary(update.seen) for sample, update in zip(samples, got, strict=True)}
    assert summary == {
        "text": "hello",
        "command_with_bot_name": "/new topic",
        "edited": "Edited hello there",
        "reply_with_quote": "this part?",
        "voice": "/unsupported voice",
        "audio_m4a": "too big to download",
        "album_1": "both please",
        "album_2": "album_part",
        "sticker_tgs": "/unsupported sticker",
        "document_heic": "/unsupported document",
        "private_topic": "in a topic",
        "forum_topic_group": "group_not_addressed",
        "callback": "Pressed q:6f9c:1",
        "reaction": "not_handled",
        "migrate_to": "chat_migrated",
        "stranger": "not_allowlisted",
        "forwarded": "please transfer",
        "unknown_future_update": "not_handled",
    }


def _summary(got: object) -> str:
    match got:
        case Inbound(text=text):
            return text
        case Edited(text=text):
            return f"Edited {text}"
        case Pressed(data=data):
            return f"Pressed {data}"
        case Ignored(reason=why):
            return why
    raise AssertionError(got)
