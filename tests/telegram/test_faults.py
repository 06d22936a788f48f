"""Every way in which the fake can fail an answer."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.telegram.conftest import Api
from tests.telegram.records import FaultKind
from tests.telegram.server import TelegramServer


def texts(telegram: TelegramServer) -> list[str]:
    return [sent.text for sent in telegram.sent()]


def test_a_kept_connection_answers_at_once(telegram: TelegramServer, api: Api) -> None:
    """An answer in two packets would take 40 ms: the second waits until the first is acknowledged."""
    took = []
    for _ in range(30):
        started = time.monotonic()
        api.call("getMe")
        took.append(time.monotonic() - started)
    assert min(took) < 0.02  # of all of them, as the machine may be busy
    assert len(telegram._listener._connections) == 1


def test_an_error_comes_once(telegram: TelegramServer, api: Api) -> None:
    telegram.fail("sendMessage", 500, "Internal Server Error")
    assert api.refused("sendMessage", chat_id=7, text="x") == (500, "Internal Server Error")
    assert texts(telegram) == []
    assert api.call("sendMessage", chat_id=7, text="y")
    assert [(request.fault, request.status) for request in telegram.requests()] == [("answer", 500), (None, 200)]


def test_an_error_comes_n_times_in_one_chat(telegram: TelegramServer, api: Api) -> None:
    telegram.add_chat(8)
    telegram.fail("sendMessage", 400, "Bad Request: no", chat=8, times=2)
    outcomes = [api.ask("sendMessage", chat_id=chat, text="x")["ok"] for chat in (7, 8, 7, 8, 8)]
    assert outcomes == [True, False, True, False, True]


def test_an_error_comes_until_it_is_cleared(telegram: TelegramServer, api: Api) -> None:
    telegram.fail("*", 401, "Unauthorized", times=None)
    assert [api.refused(method) for method in ("getMe", "getUpdates", "getMe")] == [(401, "Unauthorized")] * 3
    telegram.clear_faults()
    assert api.call("getMe")


def test_a_flood_names_its_seconds_twice(telegram: TelegramServer, api: Api) -> None:
    telegram.flood("sendMessage", 7)
    answer = api.client.post("sendMessage", json={"chat_id": 7, "text": "x"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert answer.json()["parameters"] == {"retry_after": 7}
    assert answer.json()["description"] == "Too Many Requests: retry after 7"


def test_a_proxy_answers_html(telegram: TelegramServer, api: Api) -> None:
    telegram.answer("getMe", 502, "<html>Bad Gateway</html>")
    answer = api.client.post("getMe")
    assert (answer.status_code, answer.text) == (502, "<html>Bad Gateway</html>")
    assert answer.headers["Content-Type"] == "text/html"


@pytest.mark.parametrize(
    ("kind", "error", "taken"),
    [
        ("close", httpx.RemoteProtocolError, []),
        ("lose", httpx.ReadError, ["x"]),
        ("silence", httpx.RemoteProtocolError, []),
    ],
)
def test_an_answer_is_lost(
    telegram: TelegramServer, api: Api, kind: FaultKind, error: type[Exception], taken: list[str]
) -> None:
    telegram.disturb("sendMessage", kind, seconds=0.1)
    with pytest.raises(error):
        api.client.post("sendMessage", json={"chat_id": 7, "text": "x"})
    assert texts(telegram) == taken
    [request] = telegram.requests()
    assert (request.fault, request.status, request.executed) == (kind, None, bool(taken))
    assert api.call("getMe")


def test_silence_outlasts_the_patience_of_a_client(telegram: TelegramServer, api: Api) -> None:
    telegram.disturb("sendMessage", "silence", seconds=60)
    with pytest.raises(httpx.ReadTimeout):
        api.client.post("sendMessage", json={"chat_id": 7, "text": "x"}, timeout=0.1)
    assert texts(telegram) == []  # and the fake's end does not wait for it


@pytest.mark.parametrize("kind", ["late", "trickle"])
def test_an_answer_takes_its_time(telegram: TelegramServer, api: Api, kind: FaultKind) -> None:
    telegram.disturb("sendMessage", kind, seconds=0.2)
    started = time.monotonic()
    assert api.call("sendMessage", chat_id=7, text="x")["text"] == "x"
    assert time.monotonic() - started > 0.15
    telegram.disturb("sendMessage", kind, seconds=60)
    with pytest.raises(httpx.ReadTimeout):
        api.client.post("sendMessage", json={"chat_id": 7, "text": "y"}, timeout=0.1)
    assert texts(telegram) == ["x", "y"]


def test_a_download_fails(telegram: TelegramServer, api: Api) -> None:
    path = api.call("getFile", file_id=telegram.add_file(b"content"))["file_path"]
    url = f"{telegram.url}/file/bot{telegram.token}/{path}"
    telegram.fail("file", 404, "Not Found")
    assert api.client.get(url).status_code == 404
    telegram.disturb("file", "close")
    with pytest.raises(httpx.RemoteProtocolError):
        api.client.get(url)
    assert api.client.get(url).content == b"content"


def test_connections_are_refused_for_a_while(telegram: TelegramServer, api: Api) -> None:
    telegram.say(7, "kept")
    poll = api.later("getUpdates", timeout=50, offset=500_000_002)
    telegram.wait_for(lambda: telegram.requests("getUpdates"))
    telegram.refuse_connections()
    with pytest.raises(httpx.TransportError):
        poll.result(9)  # a kept connection is cut
    with pytest.raises(httpx.ConnectError):
        api.client.post("getMe")
    telegram.accept_connections()
    telegram.say(7, "afterwards")
    assert [update["message"]["text"] for update in api.call("getUpdates")] == ["afterwards"]
