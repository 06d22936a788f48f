"""The published Bot API: it catches wrong requests, and the fake keeps to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.telegram.conftest import Api
from tests.telegram.parameters import KNOWN
from tests.telegram.server import TelegramServer
from tests.telegram.specification import Specification, assert_valid

pytestmark = pytest.mark.shared

ALL_KINDS = ["message", "edited_message", "callback_query", "message_reaction", "my_chat_member"]


@pytest.fixture
def specification(shared: Path) -> Specification:
    return Specification.read(shared)


def keyboard(**button: Any) -> dict[str, Any]:
    return {"inline_keyboard": [[{"text": "1", **button}]]}


@pytest.mark.parametrize(
    ("method", "parameters", "faults"),
    [
        ("sendMessage", {"chat_id": 7, "text": "x", "reply_markup": keyboard(callback_data="1")}, []),
        ("sendMessage", {"chat_id": "@name", "text": "x"}, []),
        ("sendVoice", {"chat_id": 7, "voice": {"file_name": "v.ogg", "size": 9}}, []),
        ("sendMessageDraft", {"chat_id": 7, "draft_id": 1, "can_stop": True}, []),
        ("sendRichMessage", {"chat_id": 7, "rich_message": {"markdown": "# One"}}, []),
        ("setMessageReaction", {"chat_id": 7, "message_id": 1, "reaction": [{"type": "emoji", "emoji": "x"}]}, []),
        ("sendMassage", {}, ["sendMassage: no such method"]),
        ("sendMessage", {"chat_id": 7}, ["sendMessage: missing field text"]),
        ("sendMessage", {"chat_id": 7, "text": "x", "txet": 1}, ["sendMessage: unknown field txet"]),
        ("sendMessage", {"chat_id": 7, "text": 5}, ["sendMessage.text: int instead of String"]),
        ("sendMessage", {"chat_id": True, "text": "x"}, ["sendMessage.chat_id: bool instead of Integer"]),
        ("getUpdates", {"allowed_updates": "message"}, ["getUpdates.allowed_updates: str instead of Array of String"]),
        ("getUpdates", {"allowed_updates": ["message", 5]}, ["getUpdates.allowed_updates[1]: int instead of String"]),
        (
            "sendMessage",
            {"chat_id": 7, "text": "x", "entities": [{"type": "bold", "offset": 0}]},
            ["sendMessage.entities[0]: missing field length"],
        ),
        (
            "sendMessage",
            {"chat_id": 7, "text": "x", "reply_markup": keyboard(data="1")},
            ["sendMessage.reply_markup.inline_keyboard[0][0]: unknown field data"],
        ),
        (
            "sendMessage",
            {"chat_id": 7, "text": "x", "link_preview_options": True},
            ["sendMessage.link_preview_options: bool instead of LinkPreviewOptions"],
        ),
        (
            "setMessageReaction",
            {"chat_id": 7, "message_id": 1, "reaction": ["x"]},
            ["setMessageReaction.reaction[0]: str instead of ReactionTypeEmoji"],
        ),
    ],
)
def test_a_request_is_held_against_it(
    specification: Specification, method: str, parameters: dict[str, Any], faults: list[str]
) -> None:
    assert specification.request_faults(method, parameters) == faults


def test_recorded_requests_are_asserted(telegram: TelegramServer, api: Api, specification: Specification) -> None:
    file_id = telegram.add_file(b"x")
    fields = {"chat_id": "7", "text": "x", "entities": '[{"type": "bold", "offset": 0, "length": 1}]'}
    api.client.post("sendMessage", data=fields)
    path = api.call("getFile", file_id=file_id)["file_path"]
    api.client.get(f"{telegram.url}/file/bot{telegram.token}/{path}")
    assert_valid(telegram.requests(), specification)
    api.ask("sendMessage", chat_id=7, text="x", silent=True)
    with pytest.raises(AssertionError, match="request 4: sendMessage: unknown field silent"):
        assert_valid(telegram.requests(), specification)


def test_the_fakes_table_is_within_it(shared: Path) -> None:
    """What the fake takes, Telegram takes; later additions of Telegram are the exceptions."""
    methods = json.loads((shared / "channels/telegram/bot-api-10.1-subset.json").read_text())["methods"]
    for method, known in KNOWN.items():
        fields = {field["name"]: field["required"] for field in methods[method].get("fields", [])}
        assert set(known) - set(fields) <= {"can_stop", "keep_on_stop"}, method
        assert {name for name, needed in fields.items() if needed} <= {name for name, (_, n) in known.items() if n}


def test_every_sample_is_served(telegram: TelegramServer, api: Api, shared: Path) -> None:
    api.call("getUpdates", allowed_updates=ALL_KINDS)
    samples = [entry["update"] for entry in json.loads((shared / "channels/telegram/updates.json").read_text())]
    for sample in samples:
        assert telegram.add_update(sample) == sample
    assert api.call("getUpdates", offset=1) == samples
    assert api.call("getUpdates", offset=samples[-1]["update_id"] + 1) == []


def test_the_errors_are_those_of_the_samples(telegram: TelegramServer, api: Api, shared: Path) -> None:
    for number, sample in enumerate(json.loads((shared / "channels/telegram/errors.json").read_text())):
        telegram.answer("sendMessage", sample["status"], sample["body"] or sample["raw"])
        answer = api.client.post("sendMessage", json={"chat_id": 7, "text": f"{number}"})
        assert answer.status_code == sample["status"]
        assert (answer.json() if sample["body"] else answer.text) == (sample["body"] or sample["raw"])
    assert telegram.sent() == []


def test_what_the_fake_tells_keeps_to_it(telegram: TelegramServer, api: Api, specification: Specification) -> None:
    group, forum, file_id = -4001, -1001234567890, telegram.add_file(b"x")
    button = {"inline_keyboard": [[{"text": "1", "callback_data": "q"}]]}
    said = telegram.say(7, "/new one")["message"]["message_id"]
    answers = [
        api.call("sendMessage", chat_id=7, text="x", reply_markup=button, reply_parameters={"message_id": said}),
        api.call("sendVoice", chat_id=7, voice=file_id, caption="c"),
        api.call("sendAudio", chat_id=7, audio=file_id),
        api.call("sendPhoto", chat_id=7, photo=file_id),
        api.call("sendDocument", chat_id=7, document=file_id),
        api.call("editMessageText", chat_id=7, message_id=2, text="y", reply_markup=button),
    ]
    for answer in answers:
        assert specification.faults("Message", answer) == []
    assert specification.faults("User", api.call("getMe")) == []
    assert specification.faults("File", api.call("getFile", file_id=file_id)) == []
    assert specification.faults("WebhookInfo", api.call("getWebhookInfo")) == []
    telegram.press(7, "q")
    telegram.say(7, "new", edit=said)
    telegram.say(7, "re", reply_to=2, quote="y")
    telegram.say(7, "topic", chat=forum, thread=42)
    telegram.say(7, "group", chat=group)
    telegram.migrate(group, forum)
    telegram.close_chat(7)
    updates = telegram.unconfirmed()
    assert len(updates) == 9
    for update in updates:
        assert specification.faults("Update", update) == [], update
