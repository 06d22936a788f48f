"""Asking for updates: what is asked, what each answer and each silence means, and how a waiting poll ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from push.config.load import load_or_default
from push.config.settings import Settings
from push.errors import ConfigError
from push.model.values import Inbound
from push.providers.base import Closed, Identity, Ignored, Later, Read
from push.providers.telegram import reading
from push.providers.telegram.reading import TelegramReader
from tests.unit.providers.telegram.samples import ALLOWED, ME, said
from tests.unit.providers.telegram.scripted import TOKEN, Line, Script, answer, cut, raw, refusal

UPDATE = {"update_id": 900, "message": said("hello")}


def settings_for(url: str, token: str | None = TOKEN) -> Settings:
    settings = load_or_default()
    secret = None if token is None else SecretStr(token)
    return replace(settings, telegram=replace(settings.telegram, base_url=url, bot_token=secret))


def ok(result: object) -> Line:
    return answer(200, {"ok": True, "result": result})


@pytest.fixture
def reader(script: Script, home: Path) -> Iterator[TelegramReader]:
    """A reader that knows who it is."""
    made = TelegramReader(settings_for(script.url))
    script.lines = [ok(ME)]
    assert made.identify() == Identity("5", "@push_bot")
    script.asked.clear()
    yield made
    made.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(("cursor", "offset"), [(None, {}), (899, {"offset": 900}), (0, {"offset": 1})])
def test_c1_what_is_asked_is_all_after_the_cursor(
    reader: TelegramReader, script: Script, cursor: int | None, offset: dict[str, int]
) -> None:
    script.lines = [ok([UPDATE])]
    got = reader.poll(cursor, lambda: ALLOWED)
    assert isinstance(got, Read)
    assert [update.position for update in got.updates] == [900]
    assert isinstance(got.updates[0].seen, Inbound)
    kinds = ["message", "edited_message", "callback_query", "my_chat_member"]
    assert script.asked == [("getUpdates", {"timeout": 25, "limit": 100, "allowed_updates": kinds, **offset})]


def test_nothing_new_is_an_answer(reader: TelegramReader, script: Script) -> None:
    script.lines = [ok([])]
    assert reader.poll(1, lambda: ALLOWED) == Read(())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (refusal("Conflict: terminated by other getUpdates request; make sure …", 409), Later("another_poller", 3.0)),
        (refusal("Conflict: can't use getUpdates method while webhook is active", 409), Later("webhook_active", 30.0)),
        (refusal("Conflict: terminated by setWebhook request", 409), Later("webhook_active", 30.0)),
        (
            answer(429, {"ok": False, "error_code": 429, "description": "x", "parameters": {"retry_after": 7}}),
            Later("rate_limited", 7.0),
        ),
        (refusal("Internal Server Error", 500), Later("http_500")),
        (answer(502, "<html>Bad Gateway</html>"), Later("http_502")),
        (answer(503, "", ("Retry-After: 9",)), Later("http_503", 9.0)),
        (answer(404, "<html>a proxy's</html>"), Later("http_404")),
        (answer(401, "<html>a proxy's</html>"), Later("http_401")),
        (refusal("Forbidden", 403), Later("http_403")),
        (cut(), Later("broken_answer")),
        (raw(b"HTTP/1.1 200 x\r\nContent-Length: 4\r\n\r\n<ht>"), Later("unreadable")),
        (ok(None), Later("malformed_answer")),
        (ok({"update_id": 1}), Later("malformed_answer")),
    ],
)
def test_c15_what_cannot_be_read_now_is_asked_again_later(
    reader: TelegramReader, script: Script, line: Line, expected: Later
) -> None:
    script.lines = [line, ok([UPDATE]), line, ok(ME)]
    assert reader.poll(None, lambda: ALLOWED) == expected
    assert isinstance(reader.poll(None, lambda: ALLOWED), Read)
    assert reader.identify() == expected
    assert isinstance(reader.identify(), Identity)


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (401, "Unauthorized"),
        (401, "Unauthorized: invalid token specified"),
        (404, "Not Found"),
        (421, "Misdirected Request: unallowed token specified"),
    ],
)
def test_a_token_that_the_service_rejects_needs_a_person(
    reader: TelegramReader, script: Script, status: int, description: str
) -> None:
    script.lines = [refusal(description, status), refusal(description, status)]
    for got in (reader.poll(None, lambda: ALLOWED), reader.identify()):
        assert isinstance(got, Closed)
        assert got.reason == "token_rejected"
        assert got.hint == "push init"
        assert TOKEN not in repr(got)


@pytest.mark.parametrize("me", [None, [], {}, {"id": "5"}, {"id": True}])
def test_who_has_no_id_is_nobody(reader: TelegramReader, script: Script, me: object) -> None:
    script.lines = [ok(me)]
    assert reader.identify() == Later("malformed_answer")


def test_a_bot_without_a_name_is_called_by_its_id(reader: TelegramReader, script: Script) -> None:
    script.lines = [ok({"id": 5, "is_bot": True})]
    assert reader.identify() == Identity("5", "5")


def test_an_update_without_an_id_does_not_stop_the_others(reader: TelegramReader, script: Script) -> None:
    script.lines = [ok([{"message": said("x")}, UPDATE, 5, {"update_id": 901}]), ok([5])]
    got = reader.poll(None, lambda: ALLOWED)
    assert isinstance(got, Read)
    assert [update.position for update in got.updates] == [900, 901]
    assert isinstance(got.updates[1].seen, Ignored)
    assert reader.poll(None, lambda: ALLOWED) == Later("malformed_answer")  # alone it could never be confirmed


def test_c17_a_poll_that_is_never_answered_ends_and_the_next_has_a_new_connection(
    reader: TelegramReader, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ANSWER_SECONDS", 0.3)
    script.lines = [script.stall, ok([UPDATE])]
    before, started = reader._api, time.monotonic()
    assert reader.poll(None, lambda: ALLOWED, 0) == Later("timeout")
    assert time.monotonic() - started < 5
    assert reader._api is not before
    assert isinstance(reader.poll(None, lambda: ALLOWED, 0), Read)
    assert script.connections == 2


def test_c17_after_no_connection_everything_is_new_too(home: Path) -> None:
    reader = TelegramReader(settings_for("http://127.0.0.1:1"))
    before = reader._api
    assert reader.identify() == Later("connection_refused")
    assert reader._api is not before
    reader.close()


def test_closing_ends_a_poll_that_waits_and_nothing_is_opened_again(reader: TelegramReader, script: Script) -> None:
    script.lines = [script.stall]
    with ThreadPoolExecutor(1) as pool:
        polling = pool.submit(reader.poll, None, lambda: ALLOWED)
        wait_until(lambda: bool(script.asked))
        reader.close()
        assert isinstance(polling.result(timeout=5), Later)
    assert isinstance(reader.poll(None, lambda: ALLOWED), Later)
    assert script.connections == 1


def test_without_a_token_nothing_is_read(home: Path) -> None:
    with pytest.raises(ConfigError):
        TelegramReader(settings_for("http://127.0.0.1:1", None))
