"""Whatever JSON the service sends, each update is one of four things, and nobody unlisted is heard."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from push.model.values import Inbound
from push.providers.base import Allowlist, Edited, Ignored, Pressed
from push.providers.telegram.addressing import Bot, units, wording
from push.providers.telegram.updates import NOWHERE, see, see_all

BOT = Bot(5, "push_bot")
ALLOWED = Allowlist(frozenset({1234}), frozenset({-1009}))

KEYS = (
    "update_id", "message", "edited_message", "callback_query", "my_chat_member", "message_id", "from", "chat", "id",
    "type", "is_bot", "first_name", "title", "date", "text", "entities", "offset", "length", "user", "caption",
    "caption_entities", "photo", "voice", "document", "file_name", "media_group_id", "reply_to_message", "quote",
    "external_reply", "origin", "forward_origin", "sender_user", "sender_user_name", "sender_chat", "data",
    "message_thread_id", "is_topic_message", "migrate_to_chat_id", "forum_topic_created", "sender_business_bot",
)  # fmt: skip
WORDS = (
    "private", "supergroup", "channel", "user", "hidden_user", "bot_command", "mention", "text_mention", "/stop",
    "@push_bot hi", "🎩🎩 /stop@push_bot", "\ud83c", "\udfa9", "\0", "1234", "", "x" * 4000,
)  # fmt: skip

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from((5, 666, 1234, -1009, -1008, 1 << 52, 777000))
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=15,
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """As documented, but for one time in twenty: with several such fields, most examples stay meaningful."""
    return st.integers(1, 20).flatmap(lambda number: anything if number == 20 else good)


people = st.fixed_dictionaries(
    {"id": mostly(st.sampled_from((1234, 1234, 1234, 666, 5, "1234"))), "is_bot": mostly(st.just(value=False))},
    optional={"first_name": anything, "username": anything},
)
chats = mostly(
    st.sampled_from(
        [{"id": number, "type": "private"} for number in (1234, 1234, 666, -1009)]
        + [{"id": number, "type": kind} for number in (-1009, -1009, -1008, 1234) for kind in ("group", "supergroup")]
    )
)
entities = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(("bot_command", "bot_command", "mention", "text_mention")),
            "offset": mostly(st.integers(-2, 30)),
            "length": mostly(st.integers(-2, 30)),
        },
        optional={"user": people},
    ),
    max_size=4,
)
odd = {key: anything for key in KEYS if key not in {"message_id", "from", "chat", "sender_chat", "sender_business_bot"}}
scattered = st.fixed_dictionaries(
    {"message_id": mostly(st.integers(1, 99)), "from": people, "chat": chats},
    optional={**odd, "entities": entities, "text": mostly(st.sampled_from(WORDS))},
)
ANN = {"id": 1234, "is_bot": False}
told = st.sampled_from([{"id": 1234, "type": "private"}, {"id": -1009, "type": "group"}]).flatmap(
    lambda chat: scattered.map(lambda message: {"text": "@push_bot", **message, "from": ANN, "chat": chat})
)
messages = scattered | told
presses = st.fixed_dictionaries(
    {"id": mostly(st.just("7")), "from": people, "data": mostly(st.just("stop:1"))},
    optional={"message": mostly(messages)},
)
ids = mostly(st.just(900))
updates = st.one_of(
    st.fixed_dictionaries({"update_id": ids, "message": messages}),
    st.fixed_dictionaries({"update_id": ids, "edited_message": messages}),
    st.fixed_dictionaries({"update_id": ids, "callback_query": presses}),
    st.dictionaries(st.sampled_from(KEYS), anything, max_size=4),
    anything,
)


@given(updates)
def test_any_update_is_one_of_four_things(update: Any) -> None:
    got = see(update, BOT, ALLOWED)
    assert isinstance(got.seen, Inbound | Edited | Pressed | Ignored)
    assert got.position >= NOWHERE
    if isinstance(got.seen, Ignored):
        assert got.raw == ""
    else:
        assert json.dumps(json.loads(got.raw)) == json.dumps(update)


@given(updates)
def test_c62_who_is_heard_is_a_person_that_is_listed(update: Any) -> None:
    seen = see(update, BOT, ALLOWED).seen
    if isinstance(seen, Ignored):
        return
    content = next(update[kind] for kind in ("message", "edited_message", "callback_query") if kind in update)
    sender = content["from"]
    assert type(sender["id"]) is int
    assert sender.get("is_bot", False) is False
    assert seen.sender == str(sender["id"])
    chat = content["chat"]["id"] if "chat" in content else content.get("message", {}).get("chat", {}).get("id")
    assert sender["id"] == 1234 or chat == -1009
    if isinstance(seen, Inbound):
        assert seen.text
        assert seen.conversation in {"telegram:dm:1234", "telegram:group:-1009"} or ":topic:" in seen.conversation


@settings(max_examples=30)
@given(st.lists(updates, max_size=3))
def test_an_answer_is_seen_update_by_update(answer: list[Any]) -> None:
    assert [update.position for update in see_all(answer, BOT, ALLOWED)] == [
        see(update, BOT, ALLOWED).position for update in answer
    ]


@given(st.sampled_from(WORDS) | st.text(), entities)
def test_of_a_text_only_the_bots_name_is_dropped(text: str, marked: list[Any]) -> None:
    got = wording(text, marked, BOT).text
    assert units(text) - units(got) in {9 * count for count in range(5)}
    if not marked and "/" not in text:  # a command that no server marked is found all the same
        assert got.encode("utf-16-le", "surrogatepass") == text.encode("utf-16-le", "surrogatepass")
