"""aiogram drives the fake: a client that others wrote finds in it the Telegram that it expects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    TelegramAPIError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiogram.types import (
    BotCommand,
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    MessageEntity,
    ReactionTypeEmoji,
)

from tests.telegram.server import TelegramServer

T = TypeVar("T")


@asynccontextmanager
async def bot_of(telegram: TelegramServer, token: str) -> AsyncIterator[Bot]:
    session = AiohttpSession(api=TelegramAPIServer.from_base(telegram.url))
    async with Bot(token, session=session) as bot:
        yield bot


def run(telegram: TelegramServer, use: Callable[[Bot], Awaitable[T]], token: str | None = None) -> T:
    """What a coroutine does with a bot."""

    async def use_it() -> T:
        async with bot_of(telegram, token or telegram.token) as bot:
            return await use(bot)

    return asyncio.run(use_it())


def test_it_polls_and_confirms(telegram: TelegramServer) -> None:
    async def use(bot: Bot) -> list[str | None]:
        assert (await bot.get_me()).username == "push_bot"
        telegram.say(7, "/start now")
        telegram.say(7, "in a topic", chat=-1001234567890, thread=42)
        first, second = await bot.get_updates(limit=2)
        assert first.message is not None
        assert first.message.entities is not None
        assert first.message.entities[0].extract_from(first.message.text or "") == "/start"
        assert second.message is not None
        assert second.message.is_topic_message
        poll = asyncio.create_task(bot.get_updates(offset=second.update_id + 1, timeout=50))
        await asyncio.to_thread(telegram.wait_for, lambda: len(telegram.requests("getUpdates")) == 2)
        telegram.say(7, "later")
        return [update.message.text for update in await poll if update.message]

    assert run(telegram, use) == ["later"]


def test_it_sends_edits_reacts_and_deletes(telegram: TelegramServer) -> None:
    said = telegram.say(7, "hello")["message"]["message_id"]
    keyboard = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="One", callback_data="q:1")]])

    async def use(bot: Bot) -> None:
        entities = [MessageEntity(type="bold", offset=0, length=2)]
        sent = await bot.send_message(7, "😀 pick", entities=entities, reply_markup=keyboard)
        assert sent.model_dump(include={"entities"})["entities"] == [entity.model_dump() for entity in entities]
        assert sent.reply_markup is not None
        assert sent.reply_markup.model_dump() == keyboard.model_dump()
        press = telegram.press(7, "q:1")["callback_query"]["id"]
        updates = await bot.get_updates()
        assert updates[-1].callback_query is not None
        assert updates[-1].callback_query.data == "q:1"
        assert await bot.answer_callback_query(press)
        assert await bot.edit_message_text("picked", chat_id=7, message_id=sent.message_id)
        assert await bot.set_message_reaction(7, said, [ReactionTypeEmoji(emoji="👀")])
        assert await bot.send_chat_action(7, "typing")
        other = await bot.send_message(7, "x")
        assert await bot.delete_message(7, other.message_id)
        commands = [BotCommand(command="new", description="Begin anew")]
        assert await bot.set_my_commands(commands)
        assert [command.command for command in await bot.get_my_commands()] == ["new"]

    run(telegram, use)
    assert [(sent.text, sent.deleted) for sent in telegram.sent(7)] == [("picked", False), ("x", True)]


def test_it_exchanges_files(telegram: TelegramServer) -> None:
    file_id = telegram.add_file(b"OggS there", "voice.oga")

    async def use(bot: Bot) -> bytes:
        sent = await bot.send_voice(7, BufferedInputFile(b"OggS\r\n\0back", "voice.ogg"), caption="c")
        assert sent.voice is not None
        assert telegram.content(sent.voice.file_id) == b"OggS\r\n\0back"
        photo = await bot.send_photo(7, sent.voice.file_id)
        assert photo.photo
        file = await bot.get_file(file_id)
        assert file.file_path is not None
        content = await bot.download_file(file.file_path)
        assert content is not None
        return content.read()

    assert run(telegram, use) == b"OggS there"


def test_it_tells_errors_apart(telegram: TelegramServer) -> None:
    """One bot for all of them: aiogram takes a quarter of a second to close."""
    errors: list[tuple[int, str, type[TelegramAPIError]]] = [
        (400, "Bad Request: message is too long", TelegramBadRequest),
        (401, "Unauthorized", TelegramUnauthorizedError),
        (403, "Forbidden: user is deactivated", TelegramForbiddenError),
        (404, "Not Found: method not found", TelegramNotFound),
        (409, "Conflict: terminated by other getUpdates request", TelegramConflictError),
        (500, "Internal Server Error", TelegramServerError),
    ]

    async def use(bot: Bot) -> None:
        for status, words, error in errors:
            telegram.fail("sendMessage", status, words)
            with pytest.raises(error, match=words):
                await bot.send_message(7, "x")

    run(telegram, use)


def test_it_learns_how_long_to_wait(telegram: TelegramServer) -> None:
    telegram.flood("sendMessage", 7)
    with pytest.raises(TelegramRetryAfter) as refused:
        run(telegram, lambda bot: bot.send_message(7, "x"))
    assert refused.value.retry_after == 7


def test_it_learns_where_a_group_went(telegram: TelegramServer) -> None:
    telegram.migrate(-4001, -1001234567890)
    with pytest.raises(TelegramMigrateToChat) as refused:
        run(telegram, lambda bot: bot.send_message(-4001, "x"))
    assert refused.value.migrate_to_chat_id == -1001234567890


def test_it_is_refused(telegram: TelegramServer) -> None:
    async def use(bot: Bot) -> None:
        for call, words in (
            (bot.send_message(7, " "), "message text is empty"),
            (bot.send_message(7, "x" * 4097), "message is too long"),
            (bot.send_message(8, "x"), "chat not found"),
            (bot.send_message(7, "x", message_thread_id=5), "message thread not found"),
            (bot.edit_message_text("x", chat_id=7, message_id=99), "message to edit not found"),
            (bot.answer_callback_query("never"), "query is too old"),
            (bot.get_file("never"), "wrong file_id"),
        ):
            with pytest.raises(TelegramBadRequest, match=words):
                await call

    run(telegram, use)


def test_two_of_them_are_a_conflict(telegram: TelegramServer) -> None:
    async def use(bot: Bot) -> int:
        older = asyncio.create_task(bot.get_updates(timeout=50))
        await asyncio.to_thread(telegram.wait_for, lambda: telegram.requests("getUpdates"))
        async with bot_of(telegram, telegram.token) as second:
            newer = asyncio.create_task(second.get_updates(timeout=50, offset=1))
            with pytest.raises(TelegramConflictError, match="only one bot instance"):
                await older
            telegram.say(7, "to the newer")
            return len(await newer)

    assert run(telegram, use) == 1


def test_a_lost_answer_is_no_answer(telegram: TelegramServer) -> None:
    telegram.disturb("sendMessage", "lose")
    with pytest.raises(TelegramNetworkError):
        run(telegram, lambda bot: bot.send_message(7, "x"))
    assert len(telegram.sent(7)) == 1


def test_a_wrong_token_is_refused(telegram: TelegramServer) -> None:
    with pytest.raises(TelegramUnauthorizedError):
        run(telegram, lambda bot: bot.get_me(), token="1:other")
