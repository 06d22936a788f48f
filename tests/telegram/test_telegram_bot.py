"""python-telegram-bot drives the fake: a second client that others wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import pytest
import telegram as library
from telegram import error as errors

from tests.telegram.server import TelegramServer

T = TypeVar("T")


def run(telegram: TelegramServer, use: Callable[[library.Bot], Awaitable[T]], token: str | None = None) -> T:
    """What a coroutine does with a bot that has introduced itself."""

    async def use_it() -> T:
        base = f"{telegram.url}/bot"
        async with library.Bot(token or telegram.token, base, f"{telegram.url}/file/bot") as bot:
            return await use(bot)

    return asyncio.run(use_it())


def test_it_polls_and_confirms(telegram: TelegramServer) -> None:
    async def use(bot: library.Bot) -> list[str | None]:
        assert bot.username == "push_bot"
        telegram.say(7, "/start now")
        said = telegram.say(7, "reply", reply_to=1)["update_id"]
        first, second = await bot.get_updates(allowed_updates=["message"])
        assert first.message is not None
        assert first.message.parse_entities() == {first.message.entities[0]: "/start"}
        assert second.message is not None
        assert second.message.reply_to_message is not None
        poll = asyncio.create_task(bot.get_updates(offset=said + 1, timeout=50))
        await asyncio.to_thread(telegram.wait_for, lambda: len(telegram.requests("getUpdates")) == 2)
        telegram.say(7, "later")
        return [update.message.text for update in await poll if update.message]

    assert run(telegram, use) == ["later"]


def test_it_sends_edits_and_deletes(telegram: TelegramServer) -> None:
    keyboard = library.InlineKeyboardMarkup([[library.InlineKeyboardButton("One", callback_data="q:1")]])

    async def use(bot: library.Bot) -> None:
        entities = [library.MessageEntity("bold", 0, 2)]
        sent = await bot.send_message(7, "😀 pick", entities=entities, reply_markup=keyboard)
        assert sent.entities == tuple(entities)
        press = telegram.press(7, "q:1")["callback_query"]["id"]
        [update] = await bot.get_updates()
        assert update.callback_query is not None
        assert update.callback_query.data == "q:1"
        assert await bot.answer_callback_query(press, "taken")
        assert await bot.edit_message_text("picked", 7, sent.message_id)
        assert await bot.set_message_reaction(7, sent.message_id, "👀")
        assert await bot.send_chat_action(7, "typing")
        assert await bot.delete_message(7, (await bot.send_message(7, "x")).message_id)
        assert await bot.set_my_commands([("new", "Begin anew")])
        assert await bot.get_my_commands() == (library.BotCommand("new", "Begin anew"),)
        assert not (await bot.get_webhook_info()).url

    run(telegram, use)
    assert [(sent.text, sent.deleted) for sent in telegram.sent(7)] == [("picked", False), ("x", True)]


def test_it_exchanges_files(telegram: TelegramServer) -> None:
    file_id = telegram.add_file(b"OggS there", "voice.oga")

    async def use(bot: library.Bot) -> bytes:
        for kind in (bot.send_voice, bot.send_photo, bot.send_document):
            await kind(7, b"OggS\r\n\0back", caption="c")
        return bytes(await (await bot.get_file(file_id)).download_as_bytearray())

    assert run(telegram, use) == b"OggS there"
    assert [sent.kind for sent in telegram.sent(7)] == ["voice", "photo", "document"]
    assert {telegram.content(sent.file_id or "") for sent in telegram.sent(7)} == {b"OggS\r\n\0back"}


@pytest.mark.parametrize(
    ("status", "words", "error"),
    [
        (400, "Bad Request: message is too long", errors.BadRequest),
        (401, "Unauthorized", errors.InvalidToken),
        (403, "Forbidden: user is deactivated", errors.Forbidden),
        (409, "Conflict: terminated by other getUpdates request", errors.Conflict),
        (500, "Internal Server Error", errors.NetworkError),
    ],
)
def test_it_tells_errors_apart(
    telegram: TelegramServer, status: int, words: str, error: type[errors.TelegramError]
) -> None:
    telegram.fail("sendMessage", status, words)
    with pytest.raises(error):
        run(telegram, lambda bot: bot.send_message(7, "x"))


def test_it_learns_how_long_to_wait(telegram: TelegramServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")  # else the library warns about its own next version
    telegram.flood("sendMessage", 7)
    with pytest.raises(errors.RetryAfter) as refused:
        run(telegram, lambda bot: bot.send_message(7, "x"))
    assert refused.value.retry_after == timedelta(seconds=7)


def test_it_learns_where_a_group_went(telegram: TelegramServer) -> None:
    telegram.migrate(-4001, -1001234567890)
    with pytest.raises(errors.ChatMigrated) as refused:
        run(telegram, lambda bot: bot.send_message(-4001, "x"))
    assert refused.value.new_chat_id == -1001234567890


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda bot: bot.send_message(7, " "), "text is empty"),
        (lambda bot: bot.send_message(8, "x"), "Chat not found"),
        (lambda bot: bot.edit_message_text("x", 7, 99), "Message to edit not found"),
        (lambda bot: bot.answer_callback_query("never"), "Query is too old"),
    ],
)
def test_it_is_refused(telegram: TelegramServer, use: Callable[[library.Bot], Awaitable[object]], words: str) -> None:
    with pytest.raises(errors.BadRequest, match=words):
        run(telegram, use)


def test_a_lost_answer_is_no_answer(telegram: TelegramServer) -> None:
    telegram.disturb("sendMessage", "close")
    with pytest.raises(errors.NetworkError):
        run(telegram, lambda bot: bot.send_message(7, "x"))
    assert telegram.sent(7) == []


def test_a_wrong_token_is_refused(telegram: TelegramServer) -> None:
    with pytest.raises(errors.InvalidToken):
        run(telegram, lambda bot: bot.get_me(), token="1:other")
