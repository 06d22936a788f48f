"""What the fake takes and refuses, method by method."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.telegram.conftest import Api
from tests.telegram.server import TelegramServer
from tests.telegram.world import Bot

GROUP, FORUM = -4001, -1001234567890
MANY = [{"command": f"c{n}", "description": "d"} for n in range(101)]
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a "
    "current content and reply markup of the message"
)


def keyboard(data: str) -> dict[str, Any]:
    return {"inline_keyboard": [[{"text": "One", "callback_data": data}]]}


def bold(offset: Any, length: Any, kind: str = "bold") -> list[dict[str, Any]]:
    return [{"type": kind, "offset": offset, "length": length}]


def test_a_message_is_trimmed_and_its_entities_move(telegram: TelegramServer, api: Api) -> None:
    shown = api.call("sendMessage", chat_id=7, text="  \n😀 bold  ", entities=bold(6, 6))
    assert (shown["text"], shown["entities"]) == ("😀 bold", bold(3, 4))
    [sent] = telegram.sent(7)
    assert (sent.text, sent.entities, sent.message_id) == ("😀 bold", bold(3, 4), shown["message_id"])


@pytest.mark.parametrize("text", ["x" * 4096, "😀" * 2048, " " + "x" * 4096 + " "])
def test_a_message_may_have_4096_units(api: Api, text: str) -> None:
    assert api.call("sendMessage", chat_id=7, text=text)["text"] == text.strip()


@pytest.mark.parametrize(
    ("parameters", "description"),
    [
        ({"text": " \n"}, "message text is empty"),
        ({"text": "x" * 4097}, "message is too long"),
        ({"text": "😀" * 2049}, "message is too long"),
        ({"text": "x", "chat_id": 8}, "chat not found"),
        ({"text": "x", "chat_id": "@somebody"}, "chat not found"),
        ({"text": "x", "message_thread_id": 5}, "message thread not found"),
        ({"text": "x", "parse_mode": "BBCode"}, "unsupported parse_mode"),
        ({"text": "x", "reply_parameters": {"message_id": 99}}, "message to be replied not found"),
        ({"text": "x", "reply_markup": keyboard("x" * 65)}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "reply_markup": keyboard("")}, "BUTTON_DATA_INVALID"),
        ({"text": "abc", "entities": bold(2, 2)}, "entity bold with offset 2 and length 2 is outside of the text"),
        ({"text": "abc", "entities": bold(-1, 2)}, "entity bold with offset -1 and length 2 is outside of the text"),
        ({"text": "abc", "entities": bold(0, 0)}, "entity bold with offset 0 and length 0 is outside of the text"),
        ({"text": "a😀b", "entities": bold(0, 2)}, "entity bold begins or ends in the middle of a UTF-16 symbol"),
        ({"text": "a😀b", "entities": bold(2, 2)}, "entity bold begins or ends in the middle of a UTF-16 symbol"),
        ({"text": "abc", "entities": bold(0, 1, "fat")}, "can't parse MessageEntity: unsupported type specified"),
        ({"text": "abc", "entities": bold(0, 1, "text_link")}, "can't parse MessageEntity: can't find field url"),
        ({"text": "abc", "entities": bold("0", 1)}, "can't parse MessageEntity: offset and length must be integers"),
        ({"text": "a\ud83d"}, "strings must be encoded in UTF-8"),
        ({}, "parameter text is required"),
        ({"text": "x", "txet": "y"}, "the fake's sendMessage knows no parameter txet"),
        ({"text": 5}, "parameter text of the type int has a wrong type"),
        ({"text": "x", "chat_id": True}, "parameter chat_id of the type bool has a wrong type"),
    ],
)
def test_a_wrong_message_is_refused(
    telegram: TelegramServer, api: Api, parameters: dict[str, Any], description: str
) -> None:
    assert api.refused("sendMessage", **{"chat_id": 7, **parameters}) == (400, f"Bad Request: {description}")
    assert telegram.sent() == []
    [request] = telegram.requests()
    assert (request.status, request.executed) == (400, False)


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
def test_what_is_no_utf_8_is_refused(api: Api, kind: str) -> None:
    body = b'{"chat_id": 7, "text": "\xff"}' if kind.endswith("json") else b"chat_id=7&text=%ff"
    answer = api.client.post("sendMessage", content=body, headers={"Content-Type": kind})
    assert answer.json()["description"] == "Bad Request: strings must be encoded in UTF-8"


def test_forms_and_queries_are_read_like_json(telegram: TelegramServer, api: Api) -> None:
    fields = {"chat_id": "7", "text": "x", "entities": json.dumps(bold(0, 1)), "disable_notification": "true"}
    assert api.client.get("sendmessage", params=fields).json()["ok"]  # case does not matter
    assert api.client.post("sendMessage", data=fields).json()["ok"]
    assert api.client.post("sendMessage", data=fields, files={"ignored": b""}).status_code == 400
    first, second = telegram.sent(7)
    assert (first.text, first.entities, first.silent) == (second.text, second.entities, second.silent)
    assert telegram.requests()[0].parameters["disable_notification"] is True


@pytest.mark.parametrize(
    ("path", "status", "description"),
    [
        ("/bot1:other/getMe", 401, "Unauthorized"),
        ("/botnonsense/getMe", 404, "Not Found"),
        ("/", 404, "Not Found"),
        ("getMeNot", 404, "Not Found: method not found"),
    ],
)
def test_a_wrong_address(api: Api, path: str, status: int, description: str) -> None:
    url = api.client.base_url.copy_with(path=path) if path.startswith("/") else path
    assert api.client.get(url).json() == {"ok": False, "error_code": status, "description": description}


def test_messages_are_numbered_per_chat(telegram: TelegramServer, api: Api) -> None:
    telegram.say(8, "first of all")
    numbers = [api.call("sendMessage", chat_id=chat, text="x")["message_id"] for chat in (7, 8, 7)]
    assert numbers == [1, 2, 2]


def test_an_edit(telegram: TelegramServer, api: Api) -> None:
    sent = api.call("sendMessage", chat_id=7, text="one", reply_markup=keyboard("a"))["message_id"]
    same: dict[str, Any] = {"chat_id": 7, "message_id": sent, "text": "one", "reply_markup": keyboard("a")}
    assert api.refused("editMessageText", **same) == (400, f"Bad Request: {NOT_MODIFIED}")
    assert api.call("editMessageText", chat_id=7, message_id=sent, text="two")["text"] == "two"
    [seen] = telegram.sent()
    assert (seen.text, seen.versions, seen.edits, seen.reply_markup) == ("two", ["one"], 1, None)
    api.call("editMessageReplyMarkup", chat_id=7, message_id=sent, reply_markup=keyboard("b"))
    assert telegram.sent()[0].reply_markup == keyboard("b")


def test_only_what_is_there_is_edited_and_deleted(telegram: TelegramServer, api: Api) -> None:
    said = telegram.say(7, "mine")["message"]["message_id"]
    sent = api.call("sendMessage", chat_id=7, text="x")["message_id"]
    assert api.refused("editMessageText", chat_id=7, message_id=said, text="y")[1].endswith("can't be edited")
    assert api.call("deleteMessage", chat_id=7, message_id=sent)
    assert [seen.deleted for seen in telegram.sent()] == [True]
    assert api.refused("editMessageText", chat_id=7, message_id=sent, text="y")[1].endswith("to edit not found")
    assert api.refused("deleteMessage", chat_id=7, message_id=sent)[1].endswith("to delete not found")


def test_a_reply(telegram: TelegramServer, api: Api) -> None:
    said = telegram.say(7, "hello there")["message"]["message_id"]
    reply = {"message_id": said, "quote": "there"}
    assert api.call("sendMessage", chat_id=7, text="x", reply_parameters=reply)["reply_to_message"]["text"]
    assert telegram.sent()[0].reply_to == said
    reply["quote"] = "elsewhere"
    assert api.refused("sendMessage", chat_id=7, text="x", reply_parameters=reply)[1].endswith("QUOTE_TEXT_INVALID")
    lost = {"message_id": 99, "allow_sending_without_reply": True}
    assert "reply_to_message" not in api.call("sendMessage", chat_id=7, text="x", reply_parameters=lost)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("blocked", "bot was blocked by the user"),
        ("deactivated", "user is deactivated"),
        ("kicked", "bot was kicked from the supergroup chat"),
        ("uninitiated", "bot can't initiate conversation with a user"),
    ],
)
def test_a_closed_chat(telegram: TelegramServer, api: Api, state: str, words: str) -> None:
    telegram.close_chat(7, state)
    assert api.refused("sendMessage", chat_id=7, text="x") == (403, f"Forbidden: {words}")
    telegram.open_chat(7)
    assert api.call("sendMessage", chat_id=7, text="x")


def test_a_migrated_group(telegram: TelegramServer, api: Api) -> None:
    telegram.say(7, "hello", chat=GROUP)
    telegram.migrate(GROUP, FORUM)
    refused = api.ask("sendMessage", chat_id=GROUP, text="x")
    assert refused["parameters"] == {"migrate_to_chat_id": FORUM}
    assert api.call("sendMessage", chat_id=FORUM, text="x")["chat"]["type"] == "supergroup"
    _, old, new = (update["message"] for update in telegram.unconfirmed())
    assert (old["chat"]["id"], old["migrate_to_chat_id"]) == (GROUP, FORUM)
    assert (new["chat"]["id"], new["migrate_from_chat_id"]) == (FORUM, GROUP)


def test_topics_of_a_forum(telegram: TelegramServer, api: Api) -> None:
    telegram.say(7, "in a topic", chat=FORUM, thread=42)
    assert api.call("sendMessage", chat_id=FORUM, text="x", message_thread_id=42)["is_topic_message"]
    refused = (400, "Bad Request: message thread not found")
    assert api.refused("sendMessage", chat_id=FORUM, text="x", message_thread_id=43) == refused
    telegram.set_topic(FORUM, 1, "open")  # the general one: a message to it must not name it, an action may
    assert api.refused("sendMessage", chat_id=FORUM, text="x", message_thread_id=1) == refused
    assert api.call("sendChatAction", chat_id=FORUM, action="typing", message_thread_id=1)
    telegram.set_topic(FORUM, 42, "closed")
    assert api.refused("sendMessage", chat_id=FORUM, text="x", message_thread_id=42)[1].endswith("TOPIC_CLOSED")
    telegram.set_topic(FORUM, 42, "deleted")
    assert api.refused("sendMessage", chat_id=FORUM, text="x", message_thread_id=42) == refused


def test_topics_in_private(connect: Callable[[TelegramServer], Api]) -> None:
    with TelegramServer(Bot(has_topics_enabled=True)) as telegram:
        api = connect(telegram)
        telegram.say(7, "in a topic", thread=5)
        assert api.call("getMe")["has_topics_enabled"]
        assert api.call("sendMessage", chat_id=7, text="x", message_thread_id=5)["message_thread_id"] == 5
        new = api.call("createForumTopic", chat_id=7, name="New")["message_thread_id"]
        assert api.call("sendMessage", chat_id=7, text="x", message_thread_id=new)


def test_actions(api: Api) -> None:
    assert api.call("sendChatAction", chat_id=7, action="typing")
    assert api.refused("sendChatAction", chat_id=7, action="thinking")[0] == 400


def test_presses_are_answered_in_time(telegram: TelegramServer, api: Api) -> None:
    too_old = (400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
    api.call("sendMessage", chat_id=7, text="Pick", reply_markup=keyboard("q:1"))
    press = telegram.press(7, "q:1")["callback_query"]
    assert press["message"]["text"] == "Pick"
    assert api.call("answerCallbackQuery", callback_query_id=press["id"], text="x" * 200)
    assert api.refused("answerCallbackQuery", callback_query_id=press["id"], text="x" * 201)[0] == 400
    assert api.refused("answerCallbackQuery", callback_query_id="never") == too_old
    telegram.expire_presses()
    assert api.refused("answerCallbackQuery", callback_query_id=press["id"]) == too_old
    with pytest.raises(LookupError):
        telegram.press(7, "q:2")


@pytest.mark.parametrize(
    ("commands", "code"),
    [
        (MANY, "BOT_COMMANDS_TOO_MUCH"),
        ([{"command": "New", "description": "d"}], "BOT_COMMAND_INVALID"),
        ([{"command": "n" * 33, "description": "d"}], "BOT_COMMAND_INVALID"),
        ([{"command": "new", "description": ""}], "BOT_COMMAND_DESCRIPTION_INVALID"),
        ([{"command": "new", "description": "d" * 257}], "BOT_COMMAND_DESCRIPTION_INVALID"),
    ],
)
def test_wrong_commands(api: Api, commands: list[dict[str, str]], code: str) -> None:
    assert api.refused("setMyCommands", commands=commands) == (400, f"Bad Request: {code}")
    assert api.call("getMyCommands") == []


def test_commands_have_scopes(api: Api) -> None:
    api.call("setMyCommands", commands=MANY[:100])
    api.call("setMyCommands", commands=MANY[:1], scope={"type": "all_group_chats"})
    assert api.call("getMyCommands") == MANY[:100]
    assert api.call("getMyCommands", scope={"type": "all_group_chats"}) == MANY[:1]
    api.call("deleteMyCommands")
    assert api.call("getMyCommands") == []


def test_reactions(telegram: TelegramServer, api: Api) -> None:
    said = telegram.say(7, "hello")["message"]["message_id"]
    eyes = [{"type": "emoji", "emoji": "👀"}]
    api.call("setMessageReaction", chat_id=7, message_id=said, reaction=eyes)
    assert telegram.reactions(7, said) == eyes
    assert api.refused("setMessageReaction", chat_id=7, message_id=99, reaction=eyes)[0] == 400


def test_files(telegram: TelegramServer, api: Api) -> None:
    file_id = telegram.add_file(b"OggS", "voice.oga")
    path = api.call("getFile", file_id=file_id)["file_path"]
    root = api.client.base_url.path.rstrip("/")
    assert api.client.get(f"{telegram.url}/file{root}/{path}").content == b"OggS"
    assert api.client.get(f"{telegram.url}/file{root}/nowhere").status_code == 404
    assert [request.status for request in telegram.requests("file")] == [200, 404]
    large = telegram.add_file(b"", size=20 * 1024 * 1024 + 1)
    assert api.refused("getFile", file_id=large) == (400, "Bad Request: file is too big")
    assert api.refused("getFile", file_id="never")[1].startswith("Bad Request: wrong file_id")


@pytest.mark.parametrize("kind", ["voice", "audio", "photo", "document"])
def test_uploads(telegram: TelegramServer, api: Api, kind: str) -> None:
    content = bytes(range(256)) + b"\r\n--x\r\n"
    fields = {"chat_id": "7", "caption": "c", "caption_entities": json.dumps(bold(0, 1))}
    method = f"send{kind.capitalize()}"
    assert api.client.post(method, data=fields, files={kind: ("f.bin", content)}).json()["ok"]
    [sent] = telegram.sent(7)
    assert sent.file_id is not None
    assert telegram.content(sent.file_id) == content
    assert (sent.kind, sent.text, sent.entities) == (kind, "c", bold(0, 1))
    assert api.call(method, chat_id=7, **{kind: sent.file_id})
    assert api.refused(method, chat_id=7, caption="c" * 1025, **{kind: sent.file_id})[1].endswith("caption is too long")


def test_drafts_and_rich_messages(telegram: TelegramServer, api: Api) -> None:
    telegram.add_chat(GROUP)
    assert api.call("sendMessageDraft", chat_id=7, draft_id=1, text="")
    assert api.refused("sendMessageDraft", chat_id=7, draft_id=0)[0] == 400
    assert api.refused("sendMessageDraft", chat_id=GROUP, draft_id=1)[0] == 400
    api.call("sendRichMessage", chat_id=7, rich_message={"markdown": "# One"})
    assert [(sent.kind, sent.text) for sent in telegram.sent()] == [("rich", "# One")]
