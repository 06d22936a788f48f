"""Limits, judged over what was recorded and enforced while it happens."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.telegram.conftest import Api
from tests.telegram.rates import violations
from tests.telegram.records import Limits, Request
from tests.telegram.server import TelegramServer
from tests.telegram.world import Bot

LIMITS = Limits()


def sent(at: float, chat: int = 7, text: str = "x") -> Request:
    return Request(int(at * 1000), "sendMessage", {"text": text}, chat, at, at, done=at, status=200, executed=True)


def flooded(at: float, seconds: int) -> Request:
    return Request(0, "sendMessage", {}, 7, at, at, done=at + 0.01, status=429, retry_after=seconds)


@pytest.mark.parametrize(("gap", "broken"), [(0.94, 1), (0.96, 0), (1.5, 0)])
def test_one_message_a_second_in_a_chat(gap: float, broken: int) -> None:
    assert len(violations([sent(5), sent(5 + gap)], LIMITS)) == broken
    assert violations([sent(5, 7), sent(5 + gap, 8)], LIMITS) == []


@pytest.mark.parametrize(("chat", "broken"), [(-100, 1), (100, 0)])
def test_twenty_a_minute_in_a_group(chat: int, broken: int) -> None:
    requests = [sent(5 + 2 * n, chat) for n in range(21)]
    assert len(violations(requests, LIMITS)) == broken
    assert violations([*requests[:20], sent(70, chat)], LIMITS) == []


def test_thirty_a_second_overall() -> None:
    requests = [sent(5 + n / 100, chat=n + 1) for n in range(31)]
    [broken] = violations(requests, LIMITS)
    assert "30 per 1 s" in broken
    assert violations(requests[:30], LIMITS) == []


def test_only_what_was_taken_counts() -> None:
    refused = sent(5)
    refused.executed, refused.status = False, 400
    assert violations([refused, sent(5.1)], LIMITS) == []


def test_a_429_is_heeded_by_the_whole_chat() -> None:
    action = Request(2, "sendChatAction", {}, 7, 6.5, 6.5)
    assert violations([flooded(5, 2), action], LIMITS) == [
        "request 2 (sendChatAction, chat 7): 0.510 s before retry_after is over"
    ]
    under_way = Request(3, "sendChatAction", {}, 7, 5.005, 5.0)
    elsewhere = Request(4, "sendChatAction", {}, 8, 6.5, 6.5)
    afterwards = sent(7.02)
    assert violations([flooded(5, 2), under_way, elsewhere, afterwards], LIMITS) == []


def test_a_429_without_a_chat_concerns_its_method() -> None:
    flood = Request(1, "getUpdates", {}, None, 5, 5, done=5, status=429, retry_after=1)
    again, other = Request(2, "getUpdates", {}, None, 5.5, 5.5), Request(3, "getMe", {}, None, 5.5, 5.5)
    assert len(violations([flood, again, other], LIMITS)) == 1


def test_texts_over_the_limit_are_seen() -> None:
    [broken] = violations([sent(5, text="😀" * 2049)], LIMITS)
    assert broken.endswith("text has 4098 UTF-16 units")


def test_the_fake_judges_what_it_recorded(telegram: TelegramServer, api: Api) -> None:
    telegram.flood("sendMessage", 30)
    for _ in range(3):
        api.ask("sendMessage", chat_id=7, text="x")
    assert ["retry_after" in sentence for sentence in telegram.violations()] == [True, True, False]
    assert len(telegram.violations(chat_period=0)) == 2
    telegram.reset()
    assert telegram.violations() == []
    assert telegram.sent() == []


def test_limits_are_enforced(connect: Callable[[TelegramServer], Api]) -> None:
    with TelegramServer(Bot(enforced=Limits(chat_period=30.0))) as telegram:
        telegram.add_chat(7)
        telegram.add_chat(8)
        api = connect(telegram)
        assert api.call("sendMessage", chat_id=7, text="x")
        assert api.call("sendMessage", chat_id=8, text="x")
        refused = api.ask("sendMessage", chat_id=7, text="y")
        assert refused["error_code"] == 429
        assert refused["parameters"]["retry_after"] == 30
        assert [message.text for message in telegram.sent(7)] == ["x"]
