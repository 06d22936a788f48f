"""What Telegram is asked when a part goes out, and in which order; what each of its answers comes to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from push.config.load import load_or_default
from push.config.settings import Settings
from push.errors import ConfigError
from push.model.values import Delivered, NotSent, Pace, Part, Refused, SendOutcome, Unknown
from push.providers.telegram import channel as module
from push.providers.telegram import rendering
from push.providers.telegram.channel import TelegramChannel
from tests.unit.providers.telegram.scripted import TOKEN, Line, Script, answer, cut, message, refusal

BOLD = Part("so bold", json.dumps([{"type": "bold", "offset": 3, "length": 4}]))
DONE = answer(200, {"ok": True, "result": True})


def settings_for(url: str, token: str | None = TOKEN) -> Settings:
    settings = load_or_default()
    secret = None if token is None else SecretStr(token)
    return replace(settings, telegram=replace(settings.telegram, base_url=url, bot_token=secret))


@pytest.fixture
def channel(script: Script, home: Path) -> Iterator[TelegramChannel]:
    made = TelegramChannel(settings_for(script.url))
    yield made
    made.close()


def texts(script: Script) -> list[tuple[str, object, object]]:
    """Text, topic and formatting of each message that was asked for."""
    return [(params["text"], params.get("message_thread_id"), params.get("entities")) for _, params in script.asked]


def test_a_part_goes_out_with_its_formatting(channel: TelegramChannel, script: Script) -> None:
    assert channel.send("-1005", BOLD) == Delivered("-1005/7")
    assert script.asked[0][0] == "sendMessage"
    assert script.asked[0][1] | {"link_preview_options": {}} == {
        "chat_id": -1005,
        "text": "so bold",
        "entities": [{"type": "bold", "offset": 3, "length": 4}],
        "link_preview_options": {},
    }


def test_a_note_stands_before_the_text_and_moves_the_formatting(channel: TelegramChannel, script: Script) -> None:
    channel.send("5", BOLD, "🔁 Possibly a repeat:")
    params: dict[str, Any] = script.asked[0][1]
    text = params["text"].encode("utf-16-le")
    bold = next(entity for entity in params["entities"] if entity["type"] == "bold")
    assert text[2 * bold["offset"] :][: 2 * bold["length"]].decode("utf-16-le") == "bold"
    assert params["text"].startswith("🔁 Possibly a repeat:")
    assert params["text"].endswith("so bold")


def test_only_a_part_that_wants_a_preview_gets_one(
    channel: TelegramChannel, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "wants_preview", lambda part: part.text == "with")
    channel.send("5", Part("with"))
    channel.send("5", Part("without"))
    assert [params.get("link_preview_options") for _, params in script.asked] == [None, {"is_disabled": True}]


@pytest.mark.parametrize(("target", "topic"), [("-5", None), ("-5:77", 77), ("-5:1", None), ("5:", None)])
def test_c20_only_a_topic_of_its_own_is_named(
    channel: TelegramChannel, script: Script, target: str, topic: int | None
) -> None:
    channel.send(target, Part("hi"))
    channel.post(target, "hi")
    channel.typing(target)
    assert [params.get("message_thread_id") for _, params in script.asked] == [topic] * 3


@pytest.mark.parametrize("trouble", ["message thread not found", "TOPIC_DELETED"])
def test_c20_a_topic_that_is_gone_is_left_out_once(channel: TelegramChannel, script: Script, trouble: str) -> None:
    script.lines = [refusal(f"Bad Request: {trouble}"), message(9)]
    assert channel.send("-5:77", Part("hi")) == Delivered("-5/9")
    assert texts(script) == [("hi", 77, None), ("hi", None, None)]
    script.lines = [refusal(f"Bad Request: {trouble}")] * 2
    assert channel.send("-5:77", Part("hi")) == Refused("thread_not_found")
    assert len(script.asked) == 4
    script.lines = [refusal(f"Bad Request: {trouble}")]
    assert channel.send("-5", Part("hi")) == Refused("thread_not_found")
    assert len(script.asked) == 5


def test_a_closed_topic_is_closed(channel: TelegramChannel, script: Script) -> None:
    script.lines = [refusal("Bad Request: TOPIC_CLOSED")]
    assert channel.send("-5:77", Part("hi")) == Refused("topic_closed")
    assert len(script.asked) == 1


def test_formatting_that_is_refused_is_left_out_once(channel: TelegramChannel, script: Script) -> None:
    script.lines = [refusal("Bad Request: can't parse entities: no such thing"), message(9)]
    assert channel.send("5", BOLD) == Delivered("5/9")
    assert texts(script)[1] == ("so bold", None, None)
    script.lines = [refusal("Bad Request: ENTITY_BOUNDS_INVALID")] * 2
    assert channel.send("5", BOLD) == Refused("entities_refused")
    assert len(script.asked) == 4


def test_topic_and_formatting_are_both_left_out(channel: TelegramChannel, script: Script) -> None:
    thread, entities = refusal("Bad Request: message thread not found"), refusal("Bad Request: can't parse entities")
    for lines in ([thread, entities, thread], [entities, thread]):
        script.lines = [*lines, message(9)]
        assert channel.send("-5:77", BOLD) == Delivered("-5/9")
        assert texts(script)[-1] == ("so bold", None, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (answer(200, {"ok": True, "result": True}), Unknown("no_message_id")),
        (answer(502, "<html>Bad Gateway</html>"), Unknown("http_502")),
        (cut(), Unknown("broken_answer")),
        (answer(429, {"ok": False, "parameters": {"retry_after": 7}}), NotSent("too_many_requests", 7.0)),
        (refusal("Unauthorized", 401), NotSent("unauthorized")),
        (refusal("Bad Request: something new"), Refused("something new", final=False)),
    ],
)
def test_what_is_no_definite_no_is_not_sent_again(
    channel: TelegramChannel, script: Script, line: Line, expected: SendOutcome
) -> None:
    script.lines = [line]
    assert channel.send("-5:77", BOLD) == expected
    assert len(script.asked) == 1


def test_c21_whom_we_cannot_reach_is_final(channel: TelegramChannel, script: Script) -> None:
    script.lines = [refusal("Forbidden: bot was blocked by the user", 403)]
    assert channel.send("5", Part("hi")) == Refused("bot_blocked")
    migrated = {"ok": False, "error_code": 400, "description": "x", "parameters": {"migrate_to_chat_id": -1007}}
    script.lines = [answer(400, migrated)]
    assert channel.send("-7", Part("hi")) == Refused("chat_migrated:-1007")
    assert len(script.asked) == 2  # nothing went to the new id


@pytest.mark.parametrize("target", ["", "x", "ann:5", "5:x"])
def test_a_target_that_is_none_is_refused(channel: TelegramChannel, script: Script, target: str) -> None:
    outcomes = [channel.send(target, Part("hi")), channel.post(target, "hi"), channel.typing(target)]
    outcomes += [channel.edit(target, "5/7", "hi"), channel.remove(target, "5/7")]
    assert outcomes == [Refused("bad_target")] * 5
    assert channel.remove("5", "no receipt") == Refused("bad_target")
    assert script.asked == []


def test_stalled_signs_do_not_hold_a_send_up(
    channel: TelegramChannel, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TYPING_SECONDS", 30.0)
    count = module.SIGN_CONNECTIONS + 2
    script.lines = [script.stall] * module.SIGN_CONNECTIONS
    with ThreadPoolExecutor(count) as threads:
        stalled = [threads.submit(channel.typing, "5") for _ in range(count)]
        deadline = time.monotonic() + 10
        while len(script.asked) < module.SIGN_CONNECTIONS and time.monotonic() < deadline:
            time.sleep(0.005)
        assert channel.send("5", Part("hi")) == Delivered("5/7")
        script.ended.set()
        assert all(future.result() for future in stalled)


def test_budgets() -> None:
    paces = TelegramChannel.paces
    bot = Pace("", ((28, 1.0),))
    assert paces(None, "5") == (Pace("5", ((1, 1.05),)), bot)  # type: ignore[arg-type]
    group = Pace("-1005", ((1, 1.05), (20, 61.0)))
    assert paces(None, "-1005:77") == (group, bot)  # type: ignore[arg-type]


def test_typing(channel: TelegramChannel, script: Script) -> None:
    script.lines = [DONE]
    assert channel.typing("-5:77") == Delivered("")
    assert script.asked == [("sendChatAction", {"chat_id": -5, "message_thread_id": 77, "action": "typing"})]


def test_a_short_message_with_a_button_and_what_becomes_of_it(channel: TelegramChannel, script: Script) -> None:
    posted = channel.post("-5:77", "working", "stop:12")
    assert posted == Delivered("-5/7")
    assert isinstance(posted, Delivered)
    assert channel.edit("-5:77", posted.receipt, "still working", "stop:12") == posted
    assert channel.edit("-5:77", posted.receipt, "done") == posted
    script.lines = [DONE]
    assert channel.remove("-5:77", posted.receipt) == posted
    keyboard = {"inline_keyboard": [[{"text": "Stop", "callback_data": "stop:12"}]]}
    no_preview = {"link_preview_options": {"is_disabled": True}}
    at = {"chat_id": -5, "message_id": 7}
    assert script.asked == [
        (
            "sendMessage",
            {"chat_id": -5, "message_thread_id": 77, "text": "working", "reply_markup": keyboard} | no_preview,
        ),
        ("editMessageText", at | {"text": "still working", "reply_markup": keyboard} | no_preview),
        ("editMessageText", at | {"text": "done"} | no_preview),
        ("deleteMessage", at),
    ]


def test_what_is_as_it_should_be_counts_as_done(channel: TelegramChannel, script: Script) -> None:
    script.lines = [
        refusal("Bad Request: message is not modified: specified new message content is the same"),
        refusal("Bad Request: message to delete not found"),
        refusal("Bad Request: message can't be deleted for everyone"),
        refusal("Bad Request: message to edit not found"),
    ]
    assert channel.edit("5", "5/7", "same") == Delivered("5/7")
    assert channel.remove("5", "5/7") == Delivered("5/7")
    assert channel.remove("5", "5/7") == Refused("message_fixed")
    assert channel.edit("5", "5/7", "new") == Refused("message_gone")


def test_a_press_is_answered(channel: TelegramChannel, script: Script) -> None:
    script.lines = [DONE, refusal("Bad Request: query is too old and response timeout expired")]
    assert channel.answer_press("99", "x" * 300) == Delivered("")
    assert script.asked == [("answerCallbackQuery", {"callback_query_id": "99", "text": "x" * 200})]
    assert channel.answer_press("99", "late") == Refused("press_expired")


def test_the_menu_of_commands(channel: TelegramChannel, script: Script) -> None:
    script.lines = [DONE]
    assert channel.announce_commands((("stop", "End the run"),)) == Delivered("")
    assert script.asked == [("setMyCommands", {"commands": [{"command": "stop", "description": "End the run"}]})]


def test_without_a_token_there_is_no_channel(home: Path) -> None:
    with pytest.raises(ConfigError, match="no bot token"):
        TelegramChannel(settings_for("http://127.0.0.1:1", None))
