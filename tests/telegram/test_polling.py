"""getUpdates: what blocks, what confirms, who wins."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

from tests.telegram import polling
from tests.telegram.conftest import HOLD, Api
from tests.telegram.server import TelegramServer


def ids(updates: list[dict[str, Any]]) -> list[int]:
    return [update["update_id"] for update in updates]


def asleep(telegram: TelegramServer, polls: int) -> None:
    """Wait until that many polls have arrived, the last of which waits."""
    telegram.wait_for(lambda: len(telegram.requests("getUpdates")) == polls)


def test_a_poll_waits_for_the_first_update(telegram: TelegramServer, api: Api) -> None:
    poll = api.later("getUpdates", timeout=50)
    asleep(telegram, 1)
    assert not poll.done()
    said = telegram.say(7, "hello")
    assert poll.result(9)["result"] == [said]


def test_a_poll_without_news_ends_with_its_timeout(api: Api) -> None:
    started = time.monotonic()
    assert api.call("getUpdates", timeout=1) == []
    assert time.monotonic() - started >= 1


def test_an_offset_confirms_what_is_below_it(telegram: TelegramServer, api: Api) -> None:
    first, second, third = (telegram.say(7, text)["update_id"] for text in "abc")
    assert ids(api.call("getUpdates")) == [first, second, third]
    assert ids(api.call("getUpdates", offset=second)) == [second, third]
    assert ids(telegram.unconfirmed()) == [second, third]
    assert api.call("getUpdates", offset=third + 1) == []
    assert telegram.unconfirmed() == []


def test_an_offset_ahead_of_the_queue_shows_the_earliest(telegram: TelegramServer, api: Api) -> None:
    said = telegram.say(7, "a")["update_id"]
    assert ids(api.call("getUpdates", offset=said + 2)) == [said]


def test_a_negative_offset_forgets_all_but_the_last(telegram: TelegramServer, api: Api) -> None:
    *_, last = (telegram.say(7, text)["update_id"] for text in "abc")
    assert ids(api.call("getUpdates", offset=-1)) == [last]
    assert ids(telegram.unconfirmed()) == [last]


@pytest.mark.parametrize(("limit", "shown"), [(2, 2), (0, 1), (1000, 100)])
def test_the_limit_is_clamped(telegram: TelegramServer, api: Api, limit: int, shown: int) -> None:
    for _ in range(101):
        telegram.say(7, "x")
    assert len(api.call("getUpdates", limit=limit)) == shown


@pytest.mark.parametrize("timeout", [999, -5])
def test_the_timeout_is_clamped(api: Api, monkeypatch: pytest.MonkeyPatch, timeout: int) -> None:
    monkeypatch.setattr(polling, "LONGEST", 0.1)
    assert api.call("getUpdates", timeout=timeout) == []


def test_what_is_allowed_is_remembered_and_spares_what_is_queued(telegram: TelegramServer, api: Api) -> None:
    reaction = {"message_reaction": {"chat": {"id": 7, "type": "private"}, "message_id": 1}}
    telegram.add_update(reaction)
    assert telegram.unconfirmed() == []  # not by default
    said = telegram.say(7, "queued before")["update_id"]
    api.call("getUpdates", allowed_updates=["message_reaction"])
    telegram.say(7, "not allowed now")
    reacted = telegram.add_update(reaction)["update_id"]
    assert ids(api.call("getUpdates", offset=said)) == [said, reacted]
    api.call("getUpdates", allowed_updates=[])
    again = telegram.say(7, "by default again")["update_id"]
    assert ids(api.call("getUpdates", offset=again)) == [again]


def test_kinds_that_nobody_knows_are_served(telegram: TelegramServer, api: Api) -> None:
    api.call("getUpdates", allowed_updates=["message"])
    new = telegram.add_update({"brand_new": {"x": 1}})
    assert api.call("getUpdates", offset=1) == [new]


def test_an_update_lives_a_day(telegram: TelegramServer, api: Api) -> None:
    telegram.say(7, "old")
    telegram.advance(86_401)
    new = telegram.say(7, "new")["update_id"]
    assert ids(api.call("getUpdates")) == [new]


def test_ids_may_start_anew_lower(telegram: TelegramServer, api: Api) -> None:
    high = telegram.say(7, "a")["update_id"]
    api.call("getUpdates", offset=high + 1)
    telegram.add_update({"update_id": 5, "message": telegram.say(7, "b")["message"]})
    assert telegram.say(7, "c")["update_id"] == 6
    assert ids(telegram.unconfirmed()) == [high + 1, 5, 6]


def test_the_older_of_two_polls_gets_the_conflict(telegram: TelegramServer, api: Api) -> None:
    older = api.later("getUpdates", timeout=50)
    asleep(telegram, 1)
    newer = api.later("getUpdates", timeout=50, offset=1)
    refused = older.result(9)
    assert (refused["error_code"], refused["description"]) == (409, f"Conflict: {polling.OTHER_POLLER}")
    said = telegram.say(7, "to the newer")
    assert newer.result(9)["result"] == [said]


def test_a_second_conflict_is_held(telegram: TelegramServer, api: Api) -> None:
    polls = []
    for n in range(3):
        polls.append(api.later("getUpdates", timeout=50, offset=n))
        asleep(telegram, n + 1)
    assert polls[0].result(9)["error_code"] == 409
    assert polls[1].result(9)["error_code"] == 409
    _, second, third = telegram.requests("getUpdates")
    assert second.done is not None
    assert second.done - third.monotonic >= HOLD
    telegram.say(7, "end")
    assert polls[2].result(9)["ok"]


def test_spinning_on_one_offset_is_slowed_down(telegram: TelegramServer, api: Api) -> None:
    api.call("getUpdates", offset=3)
    api.call("getUpdates", offset=3)
    _, second = telegram.requests("getUpdates")
    assert second.done is not None
    assert second.done - second.monotonic >= HOLD * 0.9
    telegram.say(7, "a")
    telegram.say(7, "b")
    assert len(api.call("getUpdates", offset=3)) == 1


def test_with_a_webhook_nobody_polls(telegram: TelegramServer, api: Api) -> None:
    poll = api.later("getUpdates", timeout=50)
    asleep(telegram, 1)
    telegram.set_webhook("https://example.org/hook")
    assert poll.result(9)["description"] == f"Conflict: {polling.WEBHOOK_SET}"
    assert api.call("getWebhookInfo")["url"] == "https://example.org/hook"
    assert api.refused("getUpdates") == (409, f"Conflict: {polling.WEBHOOK_ACTIVE}")
    telegram.say(7, "kept")
    api.call("deleteWebhook")
    [kept] = api.call("getUpdates")
    older = api.later("getUpdates", timeout=50, offset=kept["update_id"] + 1)
    asleep(telegram, 4)
    assert api.call("getUpdates") == []
    assert older.result(9)["description"] == f"Conflict: {polling.OTHER_POLLER}"


def test_stopping_ends_a_poll() -> None:
    started = time.monotonic()
    with TelegramServer() as telegram:
        host, port = telegram.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"GET /bot{telegram.token}/getUpdates?timeout=50 HTTP/1.1\r\n\r\n".encode())
            asleep(telegram, 1)
            telegram.stop()
    assert time.monotonic() - started < 40
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("fake")]
