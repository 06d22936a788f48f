"""Everything the fake Telegram knows, under one lock with one condition.

Owns the state and its requests; does not own methods, waiting polls or the wire.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.telegram.chats import Chats
from tests.telegram.parameters import Upload
from tests.telegram.rates import Pace
from tests.telegram.records import Fault, Limits, Request, Sent, bad
from tests.telegram.updates import Queue

TOKEN = "123456789:AAF-token_of_the_fake"
LARGEST_DOWNLOAD = 20 * 1024 * 1024  # bytes
FIRST_UPDATE = 500_000_001


@dataclass(frozen=True, slots=True)
class Bot:
    """Who the fake's only bot is. `hold` is for how many seconds hasty polls and repeated conflicts are held."""

    token: str = TOKEN
    username: str = "push_bot"
    has_topics_enabled: bool = False
    enforced: Limits | None = None  # a message over these meets a 429
    hold: float = 3.0

    @property
    def id(self) -> int:
        """The number before the colon."""
        return int(self.token.partition(":")[0])

    def shown(self) -> dict[str, Any]:
        """The User object in messages."""
        return {"id": self.id, "is_bot": True, "first_name": "Push", "username": self.username}


@dataclass(frozen=True, slots=True)
class File:
    """Something to download. `size` may claim more than the content has."""

    path: str
    content: bytes
    size: int


class World:
    """The state. Whoever reads or changes it holds `changed`; who changed it calls `touch`."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot
        self.changed = threading.Condition(threading.RLock())
        self.version = 0
        self.stopped = False
        self.ahead = 0.0  # seconds that Telegram's clock is ahead of ours
        self.chats = Chats(private_topics=bot.has_topics_enabled)
        self.queue = Queue(FIRST_UPDATE)
        self.requests: list[Request] = []
        self.sent: dict[tuple[int, int], Sent] = {}
        self.faults: list[Fault] = []
        self.files: dict[str, File] = {}
        self.commands: dict[str, list[dict[str, Any]]] = {}
        self.presses: dict[str, bool] = {}  # id -> may still be answered
        self.reactions: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self.webhook = ""
        self.pace = Pace(bot.enforced) if bot.enforced else None
        self._number = 0

    def now(self) -> float:
        """Telegram's time, in seconds since the epoch."""
        return time.time() + self.ahead

    def touch(self) -> None:
        """Wake everybody who waits for a change."""
        self.version += 1
        self.changed.notify_all()

    def wait(self, over: Callable[[], bool], seconds: float) -> None:
        """Give the lock away until something is so, the time is over, or the fake stops."""
        self.changed.wait_for(lambda: self.stopped or over(), seconds)

    def begin(self, method: str, parameters: dict[str, Any]) -> Request:
        """Record a request that has just arrived."""
        self._number += 1
        shown = {name: _shown(value) for name, value in parameters.items()}
        request = Request(self._number, method, shown, _chat(parameters), time.monotonic(), time.time())
        self.requests.append(request)
        self.touch()
        return request

    def end(self, request: Request, status: int | None, body: Any) -> None:
        """Record what is answered; None where nothing is."""
        request.status = status
        request.done = time.monotonic()
        if isinstance(body, dict):
            request.result = body.get("result")
            request.description = body.get("description", "")
            request.retry_after = body.get("parameters", {}).get("retry_after")
        self.touch()

    def fault(self, method: str, chat: int | None) -> Fault | None:
        """The scripted fault that meets this call, used up by it."""
        found = next((fault for fault in self.faults if fault.fits(method, chat)), None)
        if found is None:
            return None
        if found.times is not None:
            found.times -= 1
            if found.times == 0:
                self.faults.remove(found)
        return replace(found)

    def add_file(self, content: bytes, name: str, size: int | None = None) -> str:
        """Make a file downloadable; returns its file_id."""
        file_id = f"FILE{len(self.files) + 1}"
        self.files[file_id] = File(
            f"files/{len(self.files) + 1}_{name}", content, len(content) if size is None else size
        )
        return file_id

    def download(self, path: str) -> bytes | None:
        """The content behind a file_path."""
        return next((file.content for file in self.files.values() if file.path == path), None)

    def get_file(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The method getFile."""
        file_id = parameters["file_id"]
        file = self.files.get(file_id)
        if file is None:
            raise bad("wrong file_id or the file is temporarily unavailable")
        if file.size > LARGEST_DOWNLOAD:
            raise bad("file is too big")
        return {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": file.size, "file_path": file.path}


def _shown(value: Any) -> Any:
    """A parameter as JSON; of a file, its name and size."""
    return {"file_name": value.name, "size": len(value.content)} if isinstance(value, Upload) else value


def _chat(parameters: dict[str, Any]) -> int | None:
    value = parameters.get("chat_id")
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value)
    return value if isinstance(value, int) else None
