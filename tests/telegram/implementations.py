"""A Telegram double that others wrote: npm's telegram-test-api, as a process of its own.

Owns starting it and talking to its side for people; does not own what a test asserts. It knows no long poll, no
offsets, no errors and no files, so it is a second opinion on the plain way only.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.telegram.world import TOKEN

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / ".clis/node_modules/telegram-test-api"  # CI installs it, by tests/e2e/clis.txt

_SCRIPT = """
const TelegramServer = require(process.argv[1]);
const server = new TelegramServer({ port: Number(process.argv[2]), host: '127.0.0.1' });
process.stdin.resume().on('end', () => process.exit(0));
server.start().then(() => console.log('ready'), (error) => { console.error(error); process.exit(1); });
"""


@dataclass(frozen=True, slots=True)
class ForeignTelegram:
    """The running double. It takes any token; people and bots meet by it."""

    url: str
    token: str = TOKEN

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """POST to a path, such as /sendMessage of a person or /bot<token>/getMe of a bot."""
        request = Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def say(self, user: int, text: str) -> Any:
        """A person writes to the bot in private."""
        person = {"id": user, "is_bot": False, "first_name": f"Person {user}"}
        chat = {"id": user, "type": "private", "first_name": f"Person {user}"}
        body = {"botToken": self.token, "from": person, "chat": chat, "date": 0, "text": text}
        return self.ask("/sendMessage", body)

    def sent(self) -> list[dict[str, Any]]:
        """The parameters of every message of the bot so far."""
        history = self.ask("/getUpdatesHistory", {"token": self.token})["result"]
        return [entry["message"] for entry in history if "chat_id" in entry["message"]]


@contextmanager
def foreign_telegram() -> Iterator[ForeignTelegram]:
    """The double, running; skips the test where node or the package is absent."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH")
    if not PACKAGE.is_dir():
        pytest.skip("telegram-test-api is not in .clis (see tests/e2e/clis.txt)")
    with socket.socket() as probe:  # it tells no port that it was given by the system
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [node, "-e", _SCRIPT, str(PACKAGE), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip() == "ready"
            yield ForeignTelegram(f"http://127.0.0.1:{port}")
        finally:
            process.stdin.close()  # which ends it
            process.wait(10)
