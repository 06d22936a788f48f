"""C62: whatever an unlisted sender does is nothing, and of it only two ids are kept."""

from __future__ import annotations

from typing import Any

import pytest

from push.providers.base import Allowlist, Ignored, Update
from push.providers.telegram.updates import see
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
    mark,
    message,
    reason,
    said,
    seen,
    taken,
)

HIS: dict[str, Any] = {"id": 666, "type": "private"}
ELSEWHERE: dict[str, Any] = {"id": -1008, "type": "supergroup", "title": "Elsewhere"}

DEEDS: list[tuple[str, str, dict[str, Any], str]] = [
    ("message", "text", said("run rm -rf", sender=MALLORY, chat=HIS), "666"),
    ("message", "photo", message(photo=PHOTO, caption="look", sender=MALLORY, chat=HIS), "666"),
    ("message", "voice", message(voice=VOICE, sender=MALLORY, chat=HIS), "666"),
    ("message", "text", said("/start", entities=mark("bot_command", 0, 6), sender=MALLORY, chat=HIS), "666"),
    ("message", "text", said("1", sender=MALLORY, chat=HIS), "666"),
    ("message", "text", said("hi", sender=MALLORY, chat=HIS, forward_origin={"type": "user"}), "666"),
    ("message", "text", said("hi", sender=MALLORY, chat=HIS, reply_to_message=said("x", sender=ME)), "666"),
    ("message", "contact", message(contact={"user_id": 1234}, sender=MALLORY, chat=HIS), "666"),
    ("message", "text", said("@push_bot hi", sender=MALLORY, chat=ELSEWHERE), "-1008"),
    ("message", "service", message(new_chat_members=[ME], sender=MALLORY, chat=ELSEWHERE), "-1008"),
    ("edited_message", "edited_message", said("better", sender=MALLORY, chat=HIS, edit_date=DATE), "666"),
    ("my_chat_member", "my_chat_member", {"from": MALLORY, "chat": ELSEWHERE, "date": DATE}, "-1008"),
    ("message_reaction", "message_reaction", {"user": MALLORY, "chat": HIS, "date": DATE}, "666"),
    ("brand_new", "brand_new", {"from": MALLORY, "text": "hi"}, ""),
    (
        "callback_query",
        "callback_query",
        {"id": "1", "from": MALLORY, "message": {"message_id": 3, "chat": HIS}, "data": "stop:7"},
        "666",
    ),
    ("callback_query", "callback_query", {"id": "1", "from": MALLORY, "data": "stop:7"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "named", "content", "chat"), DEEDS)
def test_c62_a_strangers_deed_is_nothing_but_an_id(kind: str, named: str, content: dict[str, Any], chat: str) -> None:
    got = see({"update_id": 900, kind: content}, BOT, ALLOWED)
    assert got == Update(900, Ignored("not_allowlisted", named, "666", chat or None), raw="")


def test_c62_a_listed_person_has_no_voice_in_a_group_that_is_not_listed() -> None:
    assert reason(said("@push_bot hi", chat=ELSEWHERE)) == "not_allowlisted"
    assert reason({"from": ANN, "chat": ELSEWHERE}, kind="my_chat_member") == "not_allowlisted"


def test_c62_in_a_listed_group_everybody_may_speak() -> None:
    assert taken(said("@push_bot hi", sender=MALLORY, chat=GROUP)).sender == "666"


@pytest.mark.parametrize(
    "fields",
    [
        {"sender_chat": {"id": 1234, "type": "private"}},
        {"sender_chat": GROUP},
        {"sender_chat": None},
        {"sender_business_bot": ME},
        {"sender": {"id": 1234, "is_bot": True, "first_name": "Ann"}},
        {"sender": {"id": 1234, "is_bot": None, "first_name": "Ann"}},
        {"sender": {"id": 1234, "is_bot": 0, "first_name": "Ann"}},
        {"sender": {"id": 1087968824, "is_bot": False, "username": "GroupAnonymousBot"}},
        {"sender": {"id": 777000, "is_bot": False, "first_name": "Telegram"}},
    ],
)
@pytest.mark.parametrize("chat", [PRIVATE, GROUP])
@pytest.mark.parametrize("kind", ["message", "edited_message"])
def test_c62_who_is_no_person_is_refused_whatever_is_listed(
    fields: dict[str, Any], chat: dict[str, Any], kind: str
) -> None:
    everybody = Allowlist(frozenset({1234, 1087968824, 777000, 5}), frozenset({1234, -1009}))
    assert reason(message(text="@push_bot hi", chat=chat, **fields), everybody, kind) == "not_a_person"


@pytest.mark.parametrize("number", ["1234", "1234 ", "@name", 123, 12345, 1234.0, True, None, [1234], {"id": 1234}])
def test_c62_an_id_matches_as_a_number_or_not_at_all(number: object) -> None:
    sender, chat = {**ANN, "id": number}, {**PRIVATE, "id": number}
    for one in (chat, PRIVATE):
        assert isinstance(seen(said("hi", sender=sender, chat=one)), Ignored)
        assert isinstance(seen(said("hi", sender=sender, chat=one), kind="edited_message"), Ignored)
    press = {"id": "1", "from": sender, "message": {"message_id": 3, "chat": chat}, "data": "x"}
    assert isinstance(seen(press, kind="callback_query"), Ignored)


@pytest.mark.parametrize("number", [1 << 52, -(1 << 52), 1 << 70, 0])
def test_c62_what_cannot_be_an_id_is_none_even_if_listed(number: int) -> None:
    listed = Allowlist(frozenset({number}), frozenset({number}))
    content = said("hi", sender={**ANN, "id": number}, chat={**PRIVATE, "id": number})
    assert reason(content, listed) == "malformed"


def test_c62_a_listed_name_is_no_id() -> None:
    impostor = {**MALLORY, "username": "1234", "first_name": "1234"}
    assert reason(said("hi", sender=impostor, chat={**HIS, "username": "1234"})) == "not_allowlisted"


def test_c62_a_private_chat_is_its_persons_only() -> None:
    """Should a message of somebody else ever stand in a listed private chat, it is not theirs."""
    listed = Allowlist(frozenset({666}), frozenset({1234}))
    assert reason(said("hi", sender=MALLORY, chat=PRIVATE), listed) == "malformed"
    press = {"id": "1", "from": MALLORY, "message": {"message_id": 3, "chat": PRIVATE}, "data": "x"}
    assert reason(press, listed, "callback_query") == "malformed"


def test_c62_a_person_in_a_listed_chat_of_another_kind_is_refused() -> None:
    assert reason(said("@push_bot hi", chat={"id": -1009, "type": "channel"})) == "malformed"
