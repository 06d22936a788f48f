"""The text as the gateway takes it: commands and mentions with the bot's name, what is for it, split texts."""

from __future__ import annotations

from typing import Any

import pytest

from push.providers.telegram.addressing import Bot
from push.providers.telegram.updates import see
from tests.unit.providers.telegram.samples import (
    ALLOWED,
    ANN,
    BOB,
    ME,
    PHOTO,
    in_group,
    mark,
    message,
    reason,
    said,
    seen,
    taken,
)


@pytest.mark.parametrize(
    ("text", "offset", "length", "expected"),
    [
        ("/stop@push_bot", 0, 14, "/stop"),
        ("/stop@PUSH_Bot all", 0, 14, "/stop all"),
        ("🎩🎩 /stop@push_bot", 5, 14, "🎩🎩 /stop"),
        ("🎩🎩 /stop", 5, 5, "🎩🎩 /stop"),
        ("👩‍👩‍👧 /now@push_bot go 🎩", 9, 13, "👩‍👩‍👧 /now go 🎩"),
        ("\ud83c /stop@push_bot", 2, 14, "\ud83c /stop"),
        ("/stop@other_bot", 0, 15, "/stop"),
        ("/stop@Other_Bot all", 0, 15, "/stop all"),
        ("🎩 /stop@push_bot", 40, 14, "🎩 /stop"),
        ("/deploy@prod", 0, 12, "/deploy@prod"),
        ("/stop@push_bot.", 1, 13, "/stop@push_bot."),
        ("/stop@push_bot2", 0, 15, "/stop@push_bot2"),
        ("to /stop@push_bot", 3, 99, "to /stop@push_bot"),
        ("to /stop@push_bot", -1, 14, "to /stop@push_bot"),
        ("to /stop@push_bot", 4, 13, "to /stop@push_bot"),
        ("mail me@push_bot", 5, 11, "mail me@push_bot"),
    ],
)
def test_c24_the_bots_name_behind_a_command_is_dropped(text: str, offset: int, length: int, expected: str) -> None:
    assert taken(said(text, entities=mark("bot_command", offset, length))).text == expected


def test_c24_as_the_case_has_it() -> None:
    update = {"update_id": 1, "message": said("🎩🎩 /stop@bot", entities=mark("bot_command", 5, 9))}
    assert getattr(see(update, Bot(5, "bot"), ALLOWED).seen, "text", None) == "🎩🎩 /stop"


def test_c24_every_command_of_a_text_and_of_a_caption() -> None:
    text = "/a@push_bot /b@push_bot"
    both = [*mark("bot_command", 0, 11), *mark("bot_command", 12, 11)]
    assert taken(said(text, entities=both)).text == "/a /b"
    assert taken(message(photo=PHOTO, caption=text, caption_entities=both)).text == "/a /b"
    assert taken(said(text, entities=both)).joins is False


@pytest.mark.parametrize(
    ("text", "entities", "expected"),
    [
        ("@push_bot what now?", [], "what now?"),
        ("@Push_BOT, what now?", mark("mention", 0, 9), "what now?"),
        ("  @push_bot:\nwhat now?", [], "what now?"),
        ("what now, @push_bot?", [], "what now, @push_bot?"),
        ("@push_bot", [], "@push_bot"),
        ("push, what now?", mark("text_mention", 0, 4, user=ME), "push, what now?"),
        ("/status", mark("bot_command", 0, 7), "/status"),
        ("/status", [], "/status"),
        ("🎩 /status@push_bot now", [], "🎩 /status now"),
        ("/status@push_bot", mark("bot_command", 0, 16), "/status"),
        ("@push_bot /status", mark("bot_command", 10, 7), "/status"),
        ("please /stop@push_bot", mark("bot_command", 7, 14), "please /stop"),
        ("@push_bot what is /stop@other_bot?", mark("bot_command", 18, 15), "what is /stop@other_bot?"),
    ],
)
def test_in_a_group_what_names_the_bot_is_for_it(text: str, entities: list[dict[str, Any]], expected: str) -> None:
    assert taken(in_group(text, entities=entities)).text == expected


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("good morning", []),
        ("ask @push_bot2", []),
        ("mail ann@push_bot", []),
        ("@@push_bot", []),
        ("Bob, what now?", mark("text_mention", 0, 3, user=BOB)),
        ("/stop@other_bot", mark("bot_command", 0, 15)),
        ("see /usr/bin", mark("bot_command", 4, 4)),
        ("/usr/bin", []),
        ("/stop@other_bot", []),
        ("/stop", mark("code", 0, 5)),
    ],
)
def test_in_a_group_what_does_not_is_not(text: str, entities: list[dict[str, Any]]) -> None:
    assert reason(in_group(text, entities=entities)) == "group_not_addressed"


def test_in_a_group_an_answer_to_the_bots_message_is_for_it() -> None:
    mine, bobs = in_group("done", sender=ME, message_id=3), in_group("done", sender=BOB, message_id=3)
    assert taken(in_group("thanks", reply_to_message=mine)).text == "thanks"
    assert reason(in_group("thanks", reply_to_message=bobs)) == "group_not_addressed"
    other = in_group("/stop@other_bot", entities=mark("bot_command", 0, 15), reply_to_message=mine)
    assert reason(other) == "group_not_addressed"
    assert taken(message(photo=PHOTO, chat=in_group("")["chat"], reply_to_message=mine)).text == "/unsupported photo"


def test_in_a_topic_that_the_bot_opened_not_every_message_is_an_answer_to_it() -> None:
    topic = {"message_thread_id": 42, "is_topic_message": True}
    opening = message(message_id=41, sender=ME, forum_topic_created={"name": "Deploys"}, **topic)
    cut = message(message_id=42, sender=ME, **topic)
    for before in (opening, cut):
        assert reason(in_group("thanks", reply_to_message=before, **topic)) == "group_not_addressed"


def test_a_bot_without_a_name_is_addressed_by_answers_only() -> None:
    update = {"update_id": 1, "message": in_group("@ hello")}
    assert getattr(see(update, Bot(5, ""), ALLOWED).seen, "reason", None) == "group_not_addressed"


def test_in_private_a_mention_is_text() -> None:
    assert taken(said("@push_bot hi")).text == "@push_bot hi"


@pytest.mark.parametrize(
    ("text", "hold_ms"),
    [("x" * 4000, 1000), ("x" * 3999, 0), ("🎩" * 2000, 1000), ("🎩" * 1999 + "x", 0), ("/usr/lib/x\n" * 400, 1000)],
)
def test_a_long_text_is_held_for_its_rest(text: str, hold_ms: int) -> None:
    got = taken(said(text))
    assert (got.hold_ms, got.joins, got.text) == (hold_ms, True, text)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "/status", "entities": mark("bot_command", 0, 7)},
        {"text": "🎩 /status"},
        {"text": "yes", "reply_to_message": said("sure?", sender=ME)},
        {"text": "pay me", "forward_origin": {"type": "user", "sender_user": BOB, "date": 1}},
        {"photo": PHOTO, "caption": "look"},
    ],
)
def test_what_stands_for_itself_joins_nothing(fields: dict[str, Any]) -> None:
    assert taken(message(**fields)).joins is False


def test_a_forwarded_long_text_waits_for_nothing() -> None:
    assert taken(said("x" * 4096, forward_origin={"type": "user", "sender_user": BOB})).hold_ms == 0


def test_a_text_is_as_it_is() -> None:
    text = " \ttwo  spaces\n\nlone \ud83c end\0 "
    assert taken(said(text)).text == text
    assert getattr(seen(said(text, sender=ANN), kind="edited_message"), "text", None) == text
