"""What people do arrives as Telegram would tell it."""

from __future__ import annotations

import pytest

from tests.telegram.conftest import Api
from tests.telegram.server import TelegramServer

GROUP, SUPERGROUP = -4001, -1001234567890


def test_a_message_in_private(telegram: TelegramServer) -> None:
    first, second = telegram.say(7, "hello"), telegram.say(7, "again")
    assert second["update_id"] == first["update_id"] + 1
    assert second["message"]["message_id"] == first["message"]["message_id"] + 1
    assert first["message"]["from"]["id"] == first["message"]["chat"]["id"] == 7


def test_commands_are_marked_in_utf_16(telegram: TelegramServer) -> None:
    message = telegram.say(7, "😀 /new@push_bot topic a/b")["message"]
    assert message["entities"] == [{"type": "bot_command", "offset": 3, "length": 13}]


def test_an_edit_keeps_the_message(telegram: TelegramServer) -> None:
    said = telegram.say(7, "/helo", chat=GROUP)["message"]
    edited = telegram.say(7, "hello", chat=GROUP, edit=said["message_id"])["edited_message"]
    assert (edited["message_id"], edited["date"], edited["text"]) == (said["message_id"], said["date"], "hello")
    assert "entities" not in edited
    assert edited["edit_date"]


def test_a_reply_with_a_quote(telegram: TelegramServer, api: Api) -> None:
    telegram.say(7, "hello")
    answer = api.call("sendMessage", chat_id=7, text="hello there")["message_id"]
    reply = telegram.say(7, "this?", reply_to=answer, quote="there")["message"]
    assert reply["reply_to_message"]["text"] == "hello there"
    assert reply["quote"] == {"text": "there", "position": 6, "is_manual": True}
    nested = telegram.say(7, "and", reply_to=reply["message_id"])["message"]
    assert "reply_to_message" not in nested["reply_to_message"]
    with pytest.raises(LookupError):
        telegram.say(7, "?", reply_to=99)


def test_a_thread_of_replies_is_no_topic(telegram: TelegramServer) -> None:
    said = telegram.say(7, "a", chat=SUPERGROUP)["message"]["message_id"]
    reply = telegram.say(7, "b", chat=SUPERGROUP, reply_to=said)["message"]
    assert reply["message_thread_id"] == said
    assert "is_topic_message" not in reply


def test_a_topic(telegram: TelegramServer) -> None:
    message = telegram.say(7, "a", chat=SUPERGROUP, thread=42)["message"]
    assert (message["message_thread_id"], message["is_topic_message"]) == (42, True)
    assert message["chat"] == {"id": SUPERGROUP, "type": "supergroup", "title": "Chat 1001234567890", "is_forum": True}


def test_fields_go_in_as_they_are(telegram: TelegramServer) -> None:
    voice = {"file_id": telegram.add_file(b"OggS"), "file_unique_id": "u", "duration": 3}
    message = telegram.say(7, voice=voice, caption="c", forward_origin={"type": "hidden_user"})["message"]
    assert (message["voice"], message["caption"]) == (voice, "c")
    assert "text" not in message


def test_the_newest_fitting_button_is_pressed(telegram: TelegramServer, api: Api) -> None:
    markup = {"inline_keyboard": [[{"text": "1", "callback_data": "q:1"}, {"text": "2", "callback_data": "q:2"}]]}
    older, newer = (api.call("sendMessage", chat_id=7, text=t, reply_markup=markup)["message_id"] for t in "ab")
    assert telegram.press(7, "q:2")["callback_query"]["message"]["message_id"] == newer
    assert telegram.press(7, "q:2", message_id=older)["callback_query"]["message"]["message_id"] == older
    last = api.call("sendMessage", chat_id=7, text="c", reply_markup=markup)["message_id"]
    api.call("deleteMessage", chat_id=7, message_id=last)
    api.call("editMessageReplyMarkup", chat_id=7, message_id=newer, reply_markup={"inline_keyboard": []})
    assert telegram.press(7, "q:1")["callback_query"]["message"]["message_id"] == older


def test_a_block_is_told(telegram: TelegramServer) -> None:
    telegram.close_chat(7)
    telegram.open_chat(7)
    members = [update["my_chat_member"] for update in telegram.unconfirmed()]
    assert [member["new_chat_member"]["status"] for member in members] == ["kicked", "member"]


def test_a_raw_update_makes_its_chat_known(telegram: TelegramServer, api: Api) -> None:
    chat = {"id": SUPERGROUP, "type": "supergroup", "title": "Ops", "is_forum": True}
    message = {"message_id": 15, "chat": chat, "date": 1, "message_thread_id": 42, "is_topic_message": True}
    telegram.add_update({"message": message})
    shown = api.call("sendMessage", chat_id=SUPERGROUP, text="x", message_thread_id=42)
    assert (shown["message_id"], shown["chat"]) == (16, chat)


def test_waiting_fails_with_what_was_asked(telegram: TelegramServer, api: Api) -> None:
    api.refused("sendMessage", chat_id=7)
    with pytest.raises(AssertionError, match="sendMessage 400 Bad Request: parameter text is required"):
        telegram.wait_for(lambda: telegram.sent(7), 0.05)
