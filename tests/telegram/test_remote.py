"""The fake in a process of its own is controlled like the one in this process."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from tests.telegram.conftest import Api
from tests.telegram.remote import FakeTelegram, separate
from tests.telegram.server import TelegramServer


def test_a_fake_in_another_process(connect: Callable[[FakeTelegram], Api]) -> None:
    with separate("--token", "42:other", "--topics") as telegram:
        assert telegram.token == "42:other"
        api = connect(telegram)
        assert api.call("getMe")["has_topics_enabled"]
        poll = api.later("getUpdates", timeout=50)
        telegram.wait_for(lambda: telegram.requests("getUpdates"))
        said = telegram.say(7, "hello", thread=5, caption="a field")
        assert poll.result(9)["result"] == [said]
        answer = api.later("sendMessage", chat_id=7, text="hi", message_thread_id=5)
        telegram.wait_for(lambda: telegram.sent(7))
        assert answer.result(9)["ok"]
        [sent] = telegram.sent(7)
        assert (sent.text, sent.thread) == ("hi", 5)
        telegram.flood("getMe", 9)
        assert api.refused("getMe")[0] == 429
        assert api.refused("getMe", nonsense=1)[0] == 400
        assert len(telegram.violations(tolerance=0.1)) == 1
        assert telegram.content(telegram.add_file(b"\0\xff")) == b"\0\xff"
        telegram.refuse_connections()
        with pytest.raises(httpx.ConnectError):
            api.client.post("getMe")
        telegram.accept_connections()
        assert api.call("getMe")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda fake: fake.press(7, "no such button"), LookupError),
        (lambda fake: fake.say(7, "x", edit=99), KeyError),
        (lambda fake: fake.violations(no_such_limit=1), TypeError),
    ],
)
def test_errors_come_through(
    telegram: TelegramServer, wrong: Callable[[FakeTelegram], object], error: type[Exception]
) -> None:
    fake = FakeTelegram(telegram.url)
    with pytest.raises(error):
        wrong(fake)
    fake.close()
    with pytest.raises(error):
        wrong(telegram)  # type: ignore[arg-type]
