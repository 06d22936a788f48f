"""What a test does with the fake: people's doings, faults, and looking at what the bot did.

Owns these operations in the fake's own process; does not own their effects, nor their way from another process
(remote.py). How to use it: tests/telegram/server.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from tests.telegram.people import People
from tests.telegram.polling import Polling
from tests.telegram.rates import violations
from tests.telegram.records import Fault, FaultKind, Limits, Request, Sent, error_body
from tests.telegram.wire import Listener
from tests.telegram.world import World

T = TypeVar("T")
_LONGEST_WAIT = 20.0  # seconds that one call for a change may take


class Controls:
    """The operations. Chats are named by id: positive ones are people, negative ones groups."""

    def __init__(self, world: World, polling: Polling, listener: Listener) -> None:
        self._world = world
        self._polling = polling
        self._listener = listener
        self._people = People(world)
        self._requests_before = self._sent_before = 0  # how many a reset has put out of sight

    # --- what people do ---------------------------------------------------------------------------------------

    def add_update(self, update: dict[str, Any]) -> dict[str, Any]:
        """Queue a raw update; it gets the next update_id unless it has one. Returns it as queued."""
        with self._world.changed:
            return self._people.add(update)

    def say(
        self,
        user: int,
        text: str | None = None,
        *,
        chat: int | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        quote: str | None = None,
        edit: int | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """A person writes, in private unless `chat` is named. `edit` is the message that changes its text.

        `fields` go into the message as they are: voice={...}, caption="...", forward_origin={...}. Returns the update.
        """
        place = {"chat": chat, "thread": thread, "reply_to": reply_to, "quote": quote, "edit": edit}
        with self._world.changed:
            return self._people.say(user, text, place, fields)

    def press(self, user: int, data: str, *, chat: int | None = None, message_id: int | None = None) -> dict[str, Any]:
        """A person presses the newest button with this callback_data. Returns the update; LookupError without one."""
        with self._world.changed:
            return self._people.press(user, data, user if chat is None else chat, message_id)

    def add_chat(self, chat: int, kind: str | None = None, *, name: str | None = None, forum: bool = False) -> None:
        """Make a chat known in which nobody wrote yet. `kind` is told by the id unless named."""
        with self._world.changed:
            self._world.chats.ensure(chat, kind, name).forum = forum

    def close_chat(self, chat: int, state: str = "blocked") -> None:
        """From now on messages to it are refused: blocked, deactivated, kicked or uninitiated."""
        with self._world.changed:
            self._people.close(chat, state)

    def open_chat(self, chat: int) -> None:
        """Undo close_chat."""
        with self._world.changed:
            self._people.close(chat, "open")

    def set_topic(self, chat: int, thread: int, state: str) -> None:
        """Let a topic be open, closed or deleted."""
        with self._world.changed:
            self._world.chats.ensure(chat).topics[thread] = state

    def migrate(self, old: int, new: int, user: int = 1) -> None:
        """Turn a group into a supergroup with a new id."""
        with self._world.changed:
            self._people.migrate(old, new, user)

    def expire_presses(self) -> None:
        """No press so far can be answered any more."""
        with self._world.changed:
            self._world.presses = dict.fromkeys(self._world.presses, False)

    def add_file(self, content: bytes, name: str = "file.bin", size: int | None = None) -> str:
        """Make a file downloadable; returns its file_id. `size` may claim more bytes than there are."""
        with self._world.changed:
            return self._world.add_file(content, name, size)

    # --- what goes wrong --------------------------------------------------------------------------------------

    def fail(
        self,
        method: str,
        status: int,
        description: str,
        *,
        chat: int | None = None,
        times: int | None = 1,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        """The next calls are answered with an error and not executed. `method` "*" is every one."""
        self._script(Fault(method, "answer", chat, times, status, error_body(status, description, parameters)))

    def flood(self, method: str, retry_after: int, *, chat: int | None = None, times: int | None = 1) -> None:
        """The next calls are answered with 429."""
        words = f"Too Many Requests: retry after {retry_after}"
        self.fail(method, 429, words, chat=chat, times=times, parameters={"retry_after": retry_after})

    def answer(self, method: str, status: int, body: Any, *, chat: int | None = None, times: int | None = 1) -> None:
        """The next calls are answered with this: a dict as JSON, a string as HTML."""
        self._script(Fault(method, "answer", chat, times, status, body))

    def disturb(
        self,
        method: str,
        kind: FaultKind,
        *,
        seconds: float = 0.0,
        chat: int | None = None,
        times: int | None = 1,
    ) -> None:
        """The next calls meet a fault of the wire; records.FaultKind says which there are ("file" is a download)."""
        self._script(Fault(method, kind, chat, times, seconds=seconds))

    def clear_faults(self) -> None:
        """Forget what is scripted."""
        with self._world.changed:
            self._world.faults.clear()

    def refuse_connections(self) -> None:
        """Cut every connection of bots, and refuse new ones."""
        self._listener.refuse()

    def accept_connections(self) -> None:
        """Listen again, on the same port."""
        self._listener.listen()

    def rotate(self, token: str) -> None:
        """The bot gets another token; the old one is known no more. Connections of bots are cut."""
        with self._world.changed:
            self._world.bot = replace(self._world.bot, token=token)
            self._world.touch()
        self._listener.refuse()
        self._listener.listen()

    def set_webhook(self, url: str) -> None:
        """Somebody sets a webhook ("" removes it)."""
        with self._world.changed:
            self._polling.set_webhook(url)

    def advance(self, seconds: float) -> None:
        """Telegram's clock goes forward: for what expires."""
        with self._world.changed:
            self._world.ahead += seconds
            self._world.touch()

    # --- what the bot did -------------------------------------------------------------------------------------

    def sent(self, chat: int | None = None) -> list[Sent]:
        """The messages that were taken, in order, as they are now; deleted ones too."""
        with self._world.changed:
            found = islice(self._world.sent.values(), self._sent_before, None)
            return [replace(sent) for sent in found if chat in {None, sent.chat}]

    def requests(self, method: str | None = None) -> list[Request]:
        """Every request in order of arrival, refused and unanswered ones too; downloads have the method "file"."""
        with self._world.changed:
            found = islice(self._world.requests, self._requests_before, None)
            return [replace(request) for request in found if method in {None, request.method}]

    def violations(self, **limits: float) -> list[str]:
        """Broken limits, as sentences; `limits` are fields of records.Limits that differ."""
        return violations(self.requests(), Limits(**limits))  # type: ignore[arg-type]

    def unconfirmed(self) -> list[dict[str, Any]]:
        """The updates that no offset has confirmed."""
        with self._world.changed:
            return [update for update, _ in self._world.queue.waiting]

    def reactions(self, chat: int, message_id: int) -> list[dict[str, Any]]:
        """The bot's reactions to a message."""
        with self._world.changed:
            return list(self._world.reactions.get((chat, message_id), []))

    def content(self, file_id: str) -> bytes:
        """What was uploaded or added."""
        with self._world.changed:
            return self._world.files[file_id].content

    def reset(self) -> None:
        """Show only requests and messages from now on; nothing else changes."""
        with self._world.changed:
            self._requests_before = len(self._world.requests)
            self._sent_before = len(self._world.sent)

    # --- waiting ----------------------------------------------------------------------------------------------

    def version(self) -> int:
        """A number that grows with every change."""
        with self._world.changed:
            return self._world.version

    def await_change(self, version: int, seconds: float) -> None:
        """Return once the version is another one, at the latest after so many seconds."""
        with self._world.changed:
            self._world.wait(lambda: self._world.version != version, seconds)

    def wait_for(self, look: Callable[[], T], seconds: float = 10.0) -> T:
        """The first true answer of `look`, which is asked again after every change; AssertionError if none came."""
        deadline = time.monotonic() + seconds
        while True:
            version = self.version()
            if found := look():
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                recent = [f"{r.method} {r.status} {r.description}" for r in self.requests()[-8:]]
                raise AssertionError(f"not within {seconds} s; the last requests: {recent}")
            self.await_change(version, min(left, _LONGEST_WAIT))

    def _script(self, fault: Fault) -> None:
        with self._world.changed:
            self._world.faults.append(fault)
