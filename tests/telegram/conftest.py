"""What the tests of the fake share: one fake in this process, and a plain client of it.

Owns the fixtures; does not own the fake.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.telegram.server import TelegramServer
from tests.telegram.world import Bot

HOLD = 0.3  # seconds instead of Telegram's 3


@dataclass(frozen=True, slots=True)
class Api:
    """A bot of the plainest kind."""

    client: httpx.Client
    pool: ThreadPoolExecutor

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a call that succeeds."""
        body = self.ask(method, **parameters)
        assert body["ok"], body
        return body["result"]

    def refused(self, method: str, **parameters: Any) -> tuple[int, str]:
        """Status and description of a call that is refused."""
        body = self.ask(method, **parameters)
        assert not body["ok"], body
        return body["error_code"], body["description"]

    def ask(self, method: str, **parameters: Any) -> Any:
        """The body of an answer."""
        content = json.dumps(parameters)  # httpx's own would stumble over a lone surrogate, which is to be refused
        answer = self.client.post(method, content=content, headers={"Content-Type": "application/json"})
        body = answer.json()
        assert answer.status_code == body.get("error_code", 200)
        return body

    def later(self, method: str, **parameters: Any) -> Future[Any]:
        """The body of an answer that takes its time."""
        return self.pool.submit(self.ask, method, **parameters)


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    """A fake that knows chat 7, a person's."""
    with TelegramServer(Bot(hold=HOLD)) as server:
        server.add_chat(7)
        yield server


@pytest.fixture
def connect() -> Iterator[Callable[[TelegramServer], Api]]:
    """Makes clients, and closes them."""
    clients = []
    with ThreadPoolExecutor(4) as pool:

        def connect(server: TelegramServer) -> Api:
            client = httpx.Client(
                base_url=f"{server.url}/bot{server.token}/", timeout=10, verify=False
            )  # no TLS to set up
            clients.append(client)
            return Api(client, pool)

        yield connect
    for client in clients:
        client.close()


@pytest.fixture
def api(telegram: TelegramServer, connect: Callable[[TelegramServer], Api]) -> Api:
    """A client of the fake."""
    return connect(telegram)
