"""One call of the Bot API: what came back, what did not, and how long it may take."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpcore
import httpx
import pytest
from pydantic import SecretStr

from push import clock, telemetry
from push.errors import ConfigError
from push.providers.telegram import calls
from push.providers.telegram.calls import BotApi, Error, NoAnswer, NoConnection, Ok, Reply
from tests.unit.providers.telegram.scripted import TOKEN, Line, Script, answer, cut, raw, refusal, whole

CUT_JSON = b'HTTP/1.1 200 x\r\nContent-Length: 90\r\n\r\n{"ok": true, "result": {"mess'


def api_at(url: str, connections: int = 4) -> BotApi:
    return BotApi(url, SecretStr(TOKEN), connections=connections)


@pytest.fixture
def api(script: Script) -> Iterator[BotApi]:
    made = api_at(script.url)
    yield made
    made.close()


def call(api: BotApi, seconds: float = 5.0) -> Reply:
    return api.call("sendMessage", {"text": "hi"}, timeout_seconds=seconds)


def test_a_call_and_its_result(api: BotApi, script: Script) -> None:
    script.lines = [answer(200, {"ok": True, "result": [1, 2]})]
    assert api.call("getUpdates", {"offset": 3, "text": "Zoë 👍"}, timeout_seconds=5) == Ok([1, 2])
    assert script.asked == [("getUpdates", {"offset": 3, "text": "Zoë 👍"})]


def test_a_connection_is_used_again(api: BotApi, script: Script) -> None:
    assert [type(call(api)) for _ in range(3)] == [Ok, Ok, Ok]
    assert script.connections == 1


def test_a_connection_that_the_service_closed_meanwhile_is_not_used_again(api: BotApi, script: Script) -> None:
    script.lines = [cut(whole(200, b'{"ok": true, "result": 1}'))]
    assert call(api) == Ok(1)
    pool = api._connections.client._transport._pool  # type: ignore[attr-defined]
    wait_until(lambda: all(connection.has_expired() for connection in pool.connections))
    assert isinstance(call(api), Ok)
    assert script.connections == 2


@pytest.mark.parametrize(
    ("parameters", "header", "expected"),
    [
        ({"retry_after": 7}, (), 7.0),
        ({}, ("Retry-After: 9",), 9.0),
        ({"retry_after": 7}, ("Retry-After: 9",), 9.0),
        ({"retry_after": 7}, ("Retry-After: soon",), 7.0),
        ({"retry_after": True}, ("Retry-After: -4",), None),
        ({"retry_after": "7"}, ("Retry-After: inf",), None),
        ([], (), None),
    ],
)
def test_how_long_the_service_asks_to_wait(
    api: BotApi, script: Script, parameters: object, header: tuple[str, ...], expected: float | None
) -> None:
    body = {"ok": False, "error_code": 429, "description": "Too Many", "parameters": parameters}
    script.lines = [answer(429, body, header)]
    assert call(api) == Error(429, "Too Many", expected)


def test_a_date_to_wait_for(api: BotApi, script: Script) -> None:
    date = (clock.now() + timedelta(seconds=60)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    script.lines = [answer(429, "<html>", (f"Retry-After: {date}",))]
    reply = call(api)
    assert isinstance(reply, Error)
    assert reply.retry_after is not None
    assert 50 < reply.retry_after <= 60


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (answer(502, "<html>Bad Gateway</html>"), Error(502, "")),
        (answer(502, {"ok": True, "result": 1}), Error(502, "")),
        (answer(502, {"ok": False, "error_code": 429, "description": "x"}), Error(502, "x")),
        (answer(200, {"ok": False, "error_code": 400, "description": "x"}), Error(400, "x")),
        (answer(403, {"ok": False, "description": 5}), Error(403, "")),
        (answer(302, "", ("Location: /elsewhere",)), Error(302, "")),
        (answer(400, {"ok": False, "parameters": {"migrate_to_chat_id": -100}}), Error(400, "", None, -100)),
        (answer(200, "<html>a portal</html>"), NoAnswer("unreadable")),
        (answer(200, {"result": 1}), NoAnswer("unreadable")),
        (answer(200, "[" * 100_000), NoAnswer("unreadable")),
        (raw(whole(200, b"\xff\xfe\x00")), NoAnswer("unreadable")),
        (cut(CUT_JSON), NoAnswer("broken_answer")),
        (cut(CUT_JSON.replace(b"200", b"429").replace(b" x\r\n", b" x\r\nRetry-After: 3\r\n")), Error(429, "", 3.0)),
        (cut(), NoAnswer("broken_answer")),
        (cut(b"SSH-2.0-OpenSSH_9\r\n"), NoAnswer("broken_answer")),
    ],
)
def test_what_is_no_result(api: BotApi, script: Script, line: Line, expected: Reply) -> None:
    script.lines = [line]
    assert call(api) == expected
    assert isinstance(call(api), Ok)  # the connection is not left in disorder


def test_a_reset_may_have_been_executed(api: BotApi, script: Script) -> None:
    def reset(connection: socket.socket) -> bool:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        return False

    script.lines = [reset]
    assert call(api) == NoAnswer("connection_lost")


def test_an_answer_without_end_is_not_read_to_its_end(
    api: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "MAX_BODY", 1000)
    script.lines = [raw(whole(200, b'{"ok": true, "result": "' + b"x" * 100_000 + b'"}'))]
    assert call(api) == NoAnswer("unreadable")


@pytest.mark.parametrize("content", [whole(200, b"x" * 9000), b"HTTP/1.1 200 x\r\nX: " + b"y" * 9000])
def test_bytes_that_trickle_in_do_not_hold_the_caller(api: BotApi, script: Script, content: bytes) -> None:
    script.lines = [script.trickle(content)]
    begin = time.monotonic()
    assert call(api, 0.4) == NoAnswer("timeout")
    assert 0.3 < time.monotonic() - begin < 3


def test_a_stall_in_the_middle_gets_what_is_left_of_the_time(api: BotApi, script: Script) -> None:
    def late_and_then_silent(connection: socket.socket) -> bool:
        script.ended.wait(0.9)
        connection.sendall(b"HTTP/1.1 200 x\r\n")
        return script.stall(connection)

    script.lines = [late_and_then_silent]
    begin = time.monotonic()
    assert call(api, 1.0) == NoAnswer("timeout")
    assert time.monotonic() - begin < 1.7


def test_a_stalled_service_is_left_in_time(api: BotApi, script: Script) -> None:
    script.lines = [script.stall]
    begin = time.monotonic()
    assert call(api, 0.4) == NoAnswer("timeout")
    assert 0.3 < time.monotonic() - begin < 3


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    api = api_at(f"http://127.0.0.1:{port}")
    assert call(api) == NoConnection("connection_refused")
    api.close()


def test_a_name_that_nobody_knows(api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert call(api) == NoConnection("name_not_resolved")


def test_no_way_there(api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    assert call(api) == NoConnection("os_error_101")


def test_a_server_that_does_not_speak_tls(script: Script) -> None:
    script.greeting = b"220 ready\r\n"
    api = api_at(script.url.replace("http:", "https:"))
    assert call(api) == NoConnection("tls_failed")
    api.close()


def test_all_connections_are_taken(script: Script) -> None:
    api = api_at(script.url, connections=1)
    script.lines = [script.stall]
    with ThreadPoolExecutor(1) as other:
        stalled = other.submit(call, api, 30)
        wait_until(lambda: len(script.asked) == 1)
        assert call(api, 0.3) == NoConnection("no_free_connection")
        script.ended.set()
        assert isinstance(stalled.result(), NoAnswer)
    api.close()


def test_threads_get_their_own_answers(api: BotApi, script: Script) -> None:
    def echo(number: int) -> list[Reply]:
        return [api.call("x", {"n": number}, timeout_seconds=10) for _ in range(10)]

    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(echo, range(4)))
    assert all(isinstance(reply, Ok) for row in replies for reply in row)
    assert len(script.asked) == 40
    assert script.connections <= 4


def test_closing_ends_a_call_under_way(api: BotApi, script: Script) -> None:
    script.lines = [script.stall]
    with ThreadPoolExecutor(1) as other:
        polling = other.submit(call, api, 60)
        wait_until(lambda: len(script.asked) == 1)
        api.close()
        assert isinstance(polling.result(timeout=5), NoAnswer)
    assert call(api) == NoConnection("closed")


def test_a_half_of_a_character_stops_nobody(api: BotApi, script: Script) -> None:
    assert isinstance(api.call("sendMessage", {"text": "a\ud83db"}, timeout_seconds=5), Ok)
    assert script.asked[0][1] == {"text": "a?b"}


def test_what_cannot_be_asked_is_no_crash(api: BotApi) -> None:
    assert api.call("sendMessage", {"text": object()}, timeout_seconds=5) == NoAnswer("unexpected")


def test_a_proxy_of_the_environment_is_used(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", script.url)
    monkeypatch.setenv("https_proxy", script.url)
    script.lines = [answer(200, {"ok": True, "result": 1}), answer(403, "no"), script.trickle(b"HTTP/1.1 " * 99)]
    plain, secure = api_at("http://service.invalid"), api_at("https://service.invalid")
    assert call(plain) == Ok(1)
    assert call(secure) == NoConnection("proxy_refused")
    assert call(secure, 0.4) == NoAnswer("timeout")
    assert [target for target, _ in script.asked][1:] == ["service.invalid:443"] * 2
    plain.close()
    secure.close()


@pytest.mark.parametrize(
    "pasted",
    [
        f"Done! Congratulations on your new bot. Use this token to access the HTTP API:\n{TOKEN}\nKeep it",
        f"{TOKEN}\n",
        f" {TOKEN}",
        f"bot{TOKEN}",
        f"{TOKEN}/x",
        "123456789",
        "",
    ],
)
def test_c60_what_is_no_token_is_refused_and_not_shown(pasted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BotApi("http://127.0.0.1:1", SecretStr(pasted), connections=1)
    shown = f"{caught.value.message} {caught.value.why} {caught.value.hint}"
    assert "35 letters" in shown
    assert "AAE0dG" not in shown
    assert caught.value.exit_code == 3


def test_c60_no_log_or_reply_holds_the_token(
    api: BotApi, script: Script, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in telemetry._TALKATIVE:  # as `telemetry.configure` does
        caplog.set_level(logging.WARNING, name)

    def defect(*_: object, **__: object) -> None:
        raise RuntimeError(f"{script.url}/bot{TOKEN}/sendMessage")

    script.lines = [refusal("x"), cut(), cut(CUT_JSON), script.stall]
    replies = [call(api, 0.3) for _ in range(4)]
    monkeypatch.setattr(httpx.Client, "stream", defect)
    replies.append(call(api))
    api.close()
    replies.append(call(api))
    assert "RuntimeError" in caplog.text
    assert TOKEN not in caplog.text + repr(replies) + repr(api) + repr(api._connections)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_closing_ends_a_call_that_is_just_connecting(
    api: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not in the list of what is to be hung up: a long poll would go on for a minute."""
    connect = httpcore.SyncBackend.connect_tcp

    def slow(*given: Any) -> httpcore.NetworkStream:
        stream = connect(*given)
        api.close()
        return stream

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", slow)
    script.lines = [script.stall]
    assert isinstance(call(api, 3), NoConnection)
    assert script.asked == []
