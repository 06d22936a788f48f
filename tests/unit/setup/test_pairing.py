"""Waiting for the one-time code at the bot: what counts, that nothing is confirmed, and what can hold it up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from push import clock
from push.config import Settings
from push.config.load import settings_of
from push.errors import ConfigError, ConflictError
from push.setup import pairing
from push.setup.pairing import Claimed, Code, Crowded, Expired
from push.tasks import roles
from tests.telegram.server import TelegramServer

ANN = 1001


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer() as made:
        yield made


@pytest.fixture
def settings(home: Path, telegram: TelegramServer) -> Settings:
    text = (
        'channel = "telegram"\nassistant_root = "assistant"\n'
        f'[telegram]\nbase_url = "{telegram.url}"\nbot_token = "{telegram.token}"\n'
    )
    return settings_of(home / "config.toml", text.replace('"assistant"', f'"{home}-assistant"'))


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was slept: nobody waits here."""
    slept: list[float] = []
    monkeypatch.setattr("push.setup.pairing.time.sleep", slept.append)
    return slept


def quiet(_text: str) -> None:
    """Nobody listens."""


def test_codes_are_long_and_never_the_same() -> None:
    codes = {Code.new().text for _ in range(100)}
    assert len(codes) == 100
    assert all(re.fullmatch("[A-Za-z0-9_-]{22}", code) for code in codes)
    assert Code("abc", 0, 0.0).link("@my_bot") == "https://t.me/my_bot?start=abc"


def test_the_owner_is_found_among_what_waits_and_nothing_is_confirmed(
    telegram: TelegramServer, settings: Settings, naps: list[float]
) -> None:
    code = Code.new()
    telegram.say(7, "hello")
    telegram.say(7, "/start")
    telegram.say(7, "/start abc")
    telegram.say(ANN, f"/start {code.text}")
    telegram.say(7, "and?")
    assert pairing.wait(settings, code, quiet) == Claimed(ANN, f"Person {ANN}")
    assert len(telegram.unconfirmed()) == 5
    assert all("offset" not in request.parameters for request in telegram.requests("getUpdates"))


def test_it_does_not_spin_while_others_wait(telegram: TelegramServer, settings: Settings) -> None:
    code = Code.new()
    telegram.say(7, "hello")
    with ThreadPoolExecutor() as pool:
        found = pool.submit(pairing.wait, settings, code, quiet)
        telegram.wait_for(lambda: len(telegram.requests("getUpdates")) >= 2)
        telegram.say(ANN, f"/start {code.text}")
        assert found.result(30) == Claimed(ANN, f"Person {ANN}")
    asked = [request.monotonic for request in telegram.requests("getUpdates")]
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(asked))


def test_a_code_that_nobody_sends_is_worth_nothing(settings: Settings, naps: list[float]) -> None:
    assert pairing.wait(settings, replace(Code.new(), until=clock.monotonic() - 1), quiet) == Expired()
    assert 590 < Code.new().left() <= 600


def test_a_hundred_messages_hide_the_code(telegram: TelegramServer, settings: Settings, naps: list[float]) -> None:
    code = Code.new()
    for number in range(100):
        telegram.say(7, f"message {number}")
    telegram.say(ANN, f"/start {code.text}")
    assert pairing.wait(settings, code, quiet) == Crowded()


def test_a_webhook_and_another_poller_are_named(
    telegram: TelegramServer, settings: Settings, naps: list[float]
) -> None:
    telegram.set_webhook("https://example.org/secret")
    with pytest.raises(ConflictError, match="a webhook takes the bot's messages") as caught:
        pairing.wait(settings, Code.new(), quiet)
    assert caught.value.hint == "push doctor"
    telegram.set_webhook("")
    said: list[str] = []
    telegram.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request", times=3)
    with pytest.raises(ConflictError, match="another program reads the bot's messages"):
        pairing.wait(settings, Code.new(), said.append)
    assert said == ["Telegram: another poller; asking again in 3 s."]


def test_one_conflict_is_the_end_of_an_earlier_poll(
    telegram: TelegramServer, settings: Settings, naps: list[float]
) -> None:
    code = Code.new()
    telegram.say(ANN, f"/start {code.text}")
    telegram.fail("getUpdates", 409, "Conflict: terminated by other getUpdates request")
    assert pairing.wait(settings, code, quiet) == Claimed(ANN, f"Person {ANN}")


def test_the_pause_that_the_service_wants_is_kept(
    telegram: TelegramServer, settings: Settings, naps: list[float]
) -> None:
    code = Code.new()
    telegram.say(ANN, f"/start {code.text}")
    telegram.flood("getUpdates", retry_after=37)
    said: list[str] = []
    assert isinstance(pairing.wait(settings, code, said.append), Claimed)
    assert said == ["Telegram: rate limited; asking again in 37 s."]
    assert naps[0] == 37


def test_a_token_that_is_refused_names_the_repair(
    telegram: TelegramServer, settings: Settings, naps: list[float]
) -> None:
    telegram.fail("getUpdates", 401, "Unauthorized")
    with pytest.raises(ConfigError) as caught:
        pairing.wait(settings, Code.new(), quiet)
    assert caught.value.hint == "push init"
    assert telegram.token not in f"{caught.value.message}{caught.value.why}"


def test_the_role_is_held_and_given_back(settings: Settings) -> None:
    run = settings.home.run
    with pairing.reading_alone(settings):
        assert [(held.role, held.command) for held in roles.living(run)] == [("poll", "push init")]
        with pytest.raises(ConflictError):
            roles.take(run, "poll", "push run")
    assert not roles.living(run)
