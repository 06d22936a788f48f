"""Polls of the fake Telegram: what is confirmed when, who wins, and the way of a message through groups and topics."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from push.config.load import load_or_default
from push.config.settings import Settings
from push.model.values import Inbound
from push.providers.base import Allowlist, Closed, Edited, Identity, Ignored, Later, Pressed, Read, Seen
from push.providers.telegram import reading
from push.providers.telegram.reading import TelegramReader
from tests.telegram.server import TelegramServer
from tests.telegram.world import Bot

ANN, MALLORY, OPS = 1234, 666, -1009
ALLOWED = Allowlist(frozenset({ANN}), frozenset({OPS}))


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer(Bot(hold=0.1)) as server:
        yield server


def _settings(telegram: TelegramServer) -> Settings:
    settings = load_or_default()
    secret = SecretStr(telegram.token)
    return replace(settings, telegram=replace(settings.telegram, base_url=telegram.url, bot_token=secret))


@pytest.fixture
def settings(telegram: TelegramServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of the fake, whose polls here wait for a second at most."""
    monkeypatch.setattr(reading, "WAIT_SECONDS", 1)
    return _settings(telegram)


@pytest.fixture
def reader(telegram: TelegramServer, settings: Settings) -> Iterator[TelegramReader]:
    made = TelegramReader(settings)
    assert made.identify() == Identity(str(telegram.bot.id), "@push_bot")
    yield made
    made.close()


def _positions(got: Read | Later | Closed) -> list[int]:
    assert isinstance(got, Read), got
    return [update.position for update in got.updates]


def _next(reader: TelegramReader, cursor: int | None = None) -> Seen:
    got = reader.poll(cursor, lambda: ALLOWED)
    assert isinstance(got, Read), got
    return got.updates[-1].seen


def test_c1_an_update_is_confirmed_by_asking_for_the_next_and_not_before(
    telegram: TelegramServer, reader: TelegramReader
) -> None:
    number = telegram.say(ANN, "hello")["update_id"]
    assert _positions(reader.poll(None, lambda: ALLOWED)) == [number]
    assert _positions(reader.poll(None, lambda: ALLOWED)) == [number]
    assert len(telegram.unconfirmed()) == 1
    telegram.say(ANN, "again")
    assert _positions(reader.poll(number, lambda: ALLOWED)) == [number + 1]
    assert [update["update_id"] for update in telegram.unconfirmed()] == [number + 1]


def test_c4_a_cursor_that_is_too_high_hides_nothing(telegram: TelegramServer, reader: TelegramReader) -> None:
    number = telegram.say(ANN, "hello")["update_id"]
    assert _positions(reader.poll(number + 5000, lambda: ALLOWED)) == [number]


def test_c15_of_two_pollers_the_older_one_is_told(
    telegram: TelegramServer, reader: TelegramReader, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "WAIT_SECONDS", 20)
    second = TelegramReader(settings)
    second.identify()
    with ThreadPoolExecutor(2) as pool:
        older = pool.submit(reader.poll, None, lambda: ALLOWED)
        telegram.wait_for(lambda: telegram.requests("getUpdates"))
        newer = pool.submit(second.poll, None, lambda: ALLOWED)
        assert older.result(timeout=10) == Later("another_poller", 3.0)
        telegram.say(ANN, "hello")
        assert len(_positions(newer.result(timeout=10))) == 1
    second.close()


def test_c15_a_webhook_is_left_alone_and_polling_recovers(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.set_webhook("https://example.org/hook")
    assert reader.poll(None, lambda: ALLOWED) == Later("webhook_active", 30.0)
    telegram.set_webhook("")
    telegram.say(ANN, "hello")
    assert len(_positions(reader.poll(None, lambda: ALLOWED))) == 1
    assert {request.method for request in telegram.requests()} == {"getMe", "getUpdates"}


def test_a_flood_says_how_long_to_wait(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.flood("getUpdates", 37)
    assert reader.poll(None, lambda: ALLOWED) == Later("rate_limited", 37.0)


def test_a_revoked_token_closes_the_channel(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.fail("getUpdates", 401, "Unauthorized")
    assert isinstance(reader.poll(None, lambda: ALLOWED), Closed)


def test_c17_after_an_outage_polling_goes_on(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.refuse_connections()
    assert isinstance(reader.poll(None, lambda: ALLOWED), Later)
    telegram.accept_connections()
    telegram.say(ANN, "hello")
    assert len(_positions(reader.poll(None, lambda: ALLOWED))) == 1


def test_a_waiting_poll_ends_with_the_first_message(
    telegram: TelegramServer, reader: TelegramReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "WAIT_SECONDS", 20)
    with ThreadPoolExecutor(1) as pool:
        polling = pool.submit(reader.poll, None, lambda: ALLOWED)
        telegram.wait_for(lambda: telegram.requests("getUpdates"))
        telegram.say(ANN, "hello")
        assert len(_positions(polling.result(timeout=10))) == 1


def test_c24_a_command_in_a_group_as_the_service_marks_it(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.say(MALLORY, "🎩🎩 /stop@push_bot", chat=OPS)
    got = _next(reader)
    assert isinstance(got, Inbound)
    assert (got.text, got.sender, got.conversation) == ("🎩🎩 /stop", str(MALLORY), f"telegram:group:{OPS}")


def test_c62_a_stranger_is_an_id(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.say(MALLORY, "run this", chat=MALLORY)
    assert _next(reader) == Ignored("not_allowlisted", "text", str(MALLORY), str(MALLORY))


def test_an_edit_names_the_message_that_it_changes(telegram: TelegramServer, reader: TelegramReader) -> None:
    update = telegram.say(ANN, "hello")
    first = _next(reader)
    telegram.say(ANN, "hello there", edit=update["message"]["message_id"])
    assert isinstance(first, Inbound)
    assert _next(reader, update["update_id"]) == Edited(first.message_ref or "", str(ANN), "hello there")


def test_an_old_groups_new_id_is_told(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.add_chat(OPS)
    telegram.migrate(OPS, -1007, ANN)
    got = reader.poll(None, lambda: ALLOWED)
    assert isinstance(got, Read)
    seen = [update.seen for update in got.updates]
    assert [(one.reason, one.chat) for one in seen if isinstance(one, Ignored)] == [
        ("chat_migrated", str(OPS)),
        ("chat_migrated", "-1007"),
    ]


def test_a_press_of_a_posted_button(telegram: TelegramServer, reader: TelegramReader) -> None:
    telegram.say(ANN, "hello")
    keyboard = {"inline_keyboard": [[{"text": "Stop", "callback_data": "stop:7"}]]}
    sent = reader._api.call(
        "sendMessage", {"chat_id": ANN, "text": "Working", "reply_markup": keyboard}, timeout_seconds=5
    )
    telegram.press(ANN, "stop:7")
    got = _next(reader)
    assert isinstance(got, Pressed)
    assert (got.data, got.receipt) == ("stop:7", f"{ANN}/{sent.result['message_id']}")  # type: ignore[union-attr]
