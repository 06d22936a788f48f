"""Telegram as a channel that is polled: who we are, and what is new. Owns the requests and what their failures mean.

Does not own what an update is (`updates`), nor the cursor, nor how long a failure is waited out where the service
does not say.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from push.config.settings import Settings
from push.providers.base import Allowlist, Closed, Identity, Later, Read
from push.providers.telegram.addressing import Bot
from push.providers.telegram.calls import BotApi, Error, NoAnswer, NoConnection, Ok, Reply
from push.providers.telegram.fields import identifier, table, words
from push.providers.telegram.origins import CHANNEL
from push.providers.telegram.updates import NOWHERE, see_all

#: The server remembers the last list that it was given, from whoever: it is always sent.
ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")

WAIT_SECONDS = 25  # the server takes up to 50; a path that forgets quiet connections forgets them at 30 and more
ANSWER_SECONDS = 10.0  # beyond the wait: then nobody is there any more
BATCH = 100
POLLER_SECONDS = 3.0  # for that long the server holds further polls
WEBHOOK_SECONDS = 30.0  # a person has to act

log = logging.getLogger(__name__)


class TelegramReader:
    """Reads one bot's updates. Used by one thread, but for `close`."""

    name = CHANNEL

    def __init__(self, settings: Settings) -> None:
        """Raises ConfigError where there is no bot token, or what cannot be one."""
        self._settings = settings.telegram
        self._bot: Bot | None = None
        self._closing = threading.Lock()
        self._is_closed = False
        self._api = self._connect()

    def identify(self) -> Identity | Later | Closed:
        """Ask the service who we are. Never raises."""
        reply = self._call("getMe", {}, ANSWER_SECONDS)
        if not isinstance(reply, Ok):
            return self._failure(reply)
        me = table(reply.result)
        number, username = identifier(me.get("id")), words(me.get("username"))
        if number is None:
            return Later("malformed_answer")
        self._bot = Bot(number, username)
        return Identity(str(number), f"@{username}" if username else str(number))

    def poll(
        self, cursor: int | None, allowed: Callable[[], Allowlist], wait_seconds: int = WAIT_SECONDS
    ) -> Read | Later | Closed:
        """Wait up to `wait_seconds` for updates after `cursor`. Never raises, but what `allowed` raises.

        An update without an id cannot be confirmed: it is passed with those around it.
        """
        assert self._bot is not None, "identify() comes first"
        params: dict[str, object] = {"timeout": wait_seconds, "limit": BATCH, "allowed_updates": ALLOWED_UPDATES}
        if cursor is not None:
            params["offset"] = cursor + 1
        reply = self._call("getUpdates", params, wait_seconds + ANSWER_SECONDS)
        if not isinstance(reply, Ok):
            return self._failure(reply)
        if not isinstance(reply.result, list):
            return Later("malformed_answer")
        seen = see_all(reply.result, self._bot, allowed())
        updates = tuple(update for update in seen if update.position != NOWHERE)
        if len(updates) < len(seen):
            log.warning("%d updates without an id", len(seen) - len(updates))
        return Read(updates) if updates or not seen else Later("malformed_answer")

    def close(self) -> None:
        """Close the connections, for good. From another thread it ends a poll that waits."""
        with self._closing:
            self._is_closed = True
            self._api.close()

    def _failure(self, reply: Error | NoConnection | NoAnswer) -> Later | Closed:
        found = failure(reply)
        return replace(found, about=self._settings.place) if isinstance(found, Closed) else found

    def _call(self, method: str, params: dict[str, object], seconds: float) -> Reply:
        reply = self._api.call(method, params, timeout_seconds=seconds)
        if isinstance(reply, NoAnswer | NoConnection):
            self._reconnect()
        return reply

    def _reconnect(self) -> None:
        """After sleep, or where the other end went silent, nothing of the old connection is trusted."""
        with self._closing:
            if not self._is_closed:
                self._api.close()
                self._api = self._connect()

    def _connect(self) -> BotApi:
        return BotApi.of(self._settings, connections=1)


def failure(reply: Error | NoConnection | NoAnswer) -> Later | Closed:
    """What an answer that is none means for who reads: to ask again later, or that a person must act."""
    match reply:
        case NoConnection(reason) | NoAnswer(reason):
            return Later(reason)
        case Error(401 | 404 | 421, description) if description:  # without one it was a proxy's, not the service's
            return Closed("token_rejected", "push init")
        case Error(409, description):
            is_webhook = "webhook" in description.lower()
            return Later("webhook_active", WEBHOOK_SECONDS) if is_webhook else Later("another_poller", POLLER_SECONDS)
        case Error(429, _, retry_after):
            return Later("rate_limited", retry_after)
        case Error(status, _, retry_after):
            return Later(f"http_{status}", retry_after)
