"""Whoever is not let in causes nothing at all: no message, no sign, no download, one line of audit a minute."""

from __future__ import annotations

import json

import pytest

from tests.channels.scene import Scene
from tests.crash.verdict import check

pytestmark = pytest.mark.crash

STRANGER = 1234
GROUP = -1_001_234_567_890
#: What a bot asks by itself.
_OWN = {"getMe", "getUpdates", "setMyCommands"}
_STRANGER = {"id": STRANGER, "is_bot": False, "first_name": "A stranger"}
_CHAT = {"id": STRANGER, "type": "private", "first_name": "A stranger"}


def _everything(place: Scene) -> None:
    """All that a stranger can think of."""
    telegram = place.telegram
    telegram.say(STRANGER, "hello")
    telegram.say(STRANGER, "/start")
    telegram.say(STRANGER, "/stop all")
    telegram.say(STRANGER, "1")
    telegram.say(STRANGER, photo=[{"file_id": "P", "file_unique_id": "p", "width": 1, "height": 1}], caption="look")
    telegram.say(STRANGER, voice={"file_id": telegram.add_file(b"OggS"), "file_unique_id": "v", "duration": 1})
    first = telegram.say(STRANGER, "first")["message"]["message_id"]
    telegram.say(STRANGER, "changed", edit=first)
    origin = {"type": "user", "sender_user": {"id": 7, "is_bot": False, "first_name": "Ann"}, "date": 1}
    telegram.say(STRANGER, "as Ann said", forward_origin=origin)
    telegram.say(STRANGER, "as a channel", sender_chat={"id": GROUP, "type": "channel", "title": "C"})
    press = {"id": "p1", "from": _STRANGER, "chat_instance": "1", "data": "stop:1"}
    telegram.add_update({"callback_query": {**press, "message": {"message_id": 1, "date": 1, "chat": _CHAT}}})
    member = {"chat": {"id": GROUP, "type": "supergroup", "title": "Come in"}, "from": _STRANGER, "date": 1}
    bot = {"id": 123456789, "is_bot": True, "first_name": "Push"}
    states = {"old_chat_member": {"status": "left", "user": bot}, "new_chat_member": {"status": "member", "user": bot}}
    telegram.add_update({"my_chat_member": member | states})
    for odd in ("1234", "7", "7 ", "@ann", 7.0, True):
        chat = {**_CHAT, "id": odd}
        message = {"message_id": 90, "date": 1, "text": "odd", "from": {**_STRANGER, "id": odd}, "chat": _CHAT}
        telegram.add_update({"message": message})
        telegram.add_update({"message": {**message, "from": _STRANGER, "chat": _CHAT | {"username": str(chat["id"])}}})


def test_c62_a_stranger_has_no_effect(place: Scene) -> None:
    place.serve()
    _everything(place)
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    place.until_telegram(lambda: not place.telegram.unconfirmed(), "everything read")

    assert [row.text for row in place.turns()] == ["hello"]
    assert place.query("SELECT key FROM conversation") == [("telegram:dm:7",)]
    asked = [request for request in place.telegram.requests() if request.method not in _OWN]
    assert {request.chat for request in asked} == {7}
    assert not place.telegram.requests("getFile") + place.telegram.requests("file")
    assert not place.telegram.requests("answerCallbackQuery")

    records = [json.loads(line) for line in place.audit("message_ignored")]
    refused = [record for record in records if record["reason"] == "not_allowlisted"]
    who = [(record.get("sender"), record.get("chat_identifier")) for record in refused]
    assert len(set(who)) == len(who)
    assert {(str(STRANGER), str(STRANGER)), (str(STRANGER), str(GROUP))} <= set(who)
    texts = (place.root / "audit.jsonl").read_text()
    assert not any(word in texts for word in ("as Ann said", "A stranger", "odd", "look"))
    check(place)


def test_c62_the_owner_lets_a_stranger_in_while_the_gateway_runs(place: Scene) -> None:
    place.serve()
    place.telegram.say(STRANGER, "let me in")
    place.until(lambda: place.audit("message_ignored"), "a refusal")
    place.until(lambda: place.query("SELECT sender, count FROM refusal") == [(str(STRANGER), 1)], "a counted refusal")
    assert str(STRANGER) in place.done("allow", "list").out + place.done("allow").out
    place.done("allow", "add", str(STRANGER))
    place.telegram.say(STRANGER, "hello")
    assert place.until_answered(STRANGER) == ["re: hello"]
    place.done("allow", "remove", str(STRANGER))
    place.telegram.say(STRANGER, "and now?")
    place.telegram.say(7, "hello")
    assert place.until_answered(7) == ["re: hello"]
    assert place.answers(STRANGER) == ["re: hello"]
    assert place.entries() == ["hello", "hello"]
    check(place)
